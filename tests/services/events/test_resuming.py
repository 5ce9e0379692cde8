"""A client that reconnects gets every missed event once. If it was away too long, it gets `reset` and the present states."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.people import Scope
from domogate.domain.plants import Plant
from domogate.services.events import stream as streams
from domogate.services.events.filters import EventFilter
from support.examples import examples
from support.stream_setup import Credentials, Listener, StreamSetup, a_module, open_stream_setup, until

pytestmark = pytest.mark.slow


@pytest.fixture
async def setup() -> AsyncIterator[StreamSetup]:
    async with open_stream_setup() as opened:
        yield opened


class TwoPlants:
    """One person, two plants, a lamp in each."""

    def __init__(self, setup: StreamSetup) -> None:
        self.setup = setup
        self.lamps = [a_module(DeviceKind.LIGHT), a_module(DeviceKind.LIGHT)]
        self.plants: list[Plant] = []

    async def build(self) -> "TwoPlants":
        self.anna = await self.setup.add_user("Anna")
        self.plants = [await self.setup.add_plant(self.anna, lamp) for lamp in self.lamps]
        self.credentials: Credentials = await self.setup.grant_access(self.anna)
        return self

    async def switch(self, plant: int = 0, times: int = 1) -> None:
        for number in range(times):
            await self.setup.report(self.plants[plant], self.lamps[plant], on=number % 2 == 0)


@pytest.fixture
async def home(setup: StreamSetup) -> TwoPlants:
    return await TwoPlants(setup).build()


class TestAClientThatReconnects:
    async def test_gets_the_missed_events_and_goes_on(self, setup: StreamSetup, home: TwoPlants) -> None:
        first = await setup.listen(home.credentials)
        await home.switch(times=3)
        await setup.quiet()
        first.stream.close()
        await home.switch(0, times=2)
        await home.switch(1, times=2)
        again = await setup.listen(home.credentials, last_event_id=first.last_id)
        missed = len(again.notices)
        await home.switch()
        await setup.quiet()
        assert (missed, len(again.notices)) == (4, 5)
        assert first.ids + again.ids == sorted({*first.ids, *again.ids})
        ready = next(received for received in again.received if received.event == "ready")
        assert ready.id == again.ids[3]

    async def test_is_not_told_the_present_that_they_asked_for_when_they_first_came(
        self, setup: StreamSetup, home: TwoPlants
    ) -> None:
        """A browser sends the same URL again, with the id."""
        first = await setup.listen(home.credentials, EventFilter(present=True))
        again = await setup.listen(home.credentials, EventFilter(present=True), first.last_id)
        assert [received.event for received in again.received] == ["ready"]

    async def test_with_another_filter_gets_the_events_of_that_filter(self, setup: StreamSetup, home: TwoPlants) -> None:
        await home.switch(0)
        await home.switch(1)
        listener = await setup.listen(home.credentials, EventFilter(plants=frozenset({home.plants[1].id})), b"0")
        assert {received.data["data"]["plantId"] for received in listener.notices} == {home.plants[1].id}

    async def test_gets_events_by_its_current_rights(self, setup: StreamSetup, home: TwoPlants) -> None:
        await home.switch(0)
        plugs_only = await setup.grant_access(home.anna, [Scope.PLUG_READ])
        assert (await setup.listen(plugs_only, last_event_id=b"0")).notices == []
        stranger = await setup.grant_access(await setup.add_user("Carla"))
        assert (await setup.listen(stranger, last_event_id=b"0")).notices == []

    async def test_after_many_pages_has_heard_all(
        self, setup: StreamSetup, home: TwoPlants, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "PAGE", 3)
        witness = await setup.listen(home.credentials)
        start = witness.last_id
        await asyncio.gather(home.switch(0, 10), home.switch(1, 10))
        await setup.quiet()
        again = await setup.listen(home.credentials, last_event_id=start)
        assert again.ids == witness.ids
        assert len(again.ids) == 20

    async def test_gets_each_event_once_while_new_ones_come(
        self, setup: StreamSetup, home: TwoPlants, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "PAGE", 3)
        witness = await setup.listen(home.credentials)
        start = witness.last_id
        await home.switch(0, 10)
        comers: list[Listener] = []

        async def come() -> None:
            comers.extend([await setup.listen(home.credentials, last_event_id=start) for _ in range(8)])

        await asyncio.gather(home.switch(0, 30), home.switch(1, 30), come())
        await setup.quiet()
        for comer in comers:
            assert comer.ids == witness.ids

    async def test_gets_nothing_more_of_a_plant_that_it_lost_meanwhile(
        self, setup: StreamSetup, home: TwoPlants, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The right is withdrawn after a page was read and before it is given out."""
        bruno = await setup.add_user("Bruno")
        await setup.store.allow_user(home.plants[0].id, bruno.id)
        await home.switch(0, 5)
        original = setup.store.list_changes_of

        async def read_and_lose(plant_ids: frozenset[Id], after: int, limit: int) -> object:
            page = await original(plant_ids, after, limit)
            await setup.store.withdraw_user(home.plants[0].id, bruno.id)
            return page

        monkeypatch.setattr(setup.store, "list_changes_of", read_and_lose)
        listener = await setup.listen(await setup.grant_access(bruno), last_event_id=b"0")
        await until(lambda: listener.ended, "the end")
        assert (listener.notices, listener.end_code) == ([], "plant")

    async def test_gets_events_of_a_plant_that_it_gained_meanwhile(
        self, setup: StreamSetup, home: TwoPlants, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bruno = await setup.add_user("Bruno")
        original, given = setup.store.list_changes_of, False

        async def read_and_gain(plant_ids: frozenset[Id], after: int, limit: int) -> object:
            nonlocal given
            page = await original(plant_ids, after, limit)
            if not given:
                given = True
                await setup.store.allow_user(home.plants[0].id, bruno.id)
                await home.switch(0)
            return page

        start = await setup.store.newest_cursor()
        monkeypatch.setattr(setup.store, "list_changes_of", read_and_gain)
        listener = await setup.listen(await setup.grant_access(bruno), last_event_id=b"%d" % start)
        await setup.quiet()
        assert [received.event for received in listener.notices] == ["people", "state"]


class TestWhoCannotBeToldWhatWasMissed:
    async def expect_reset(self, setup: StreamSetup, home: TwoPlants, last_event_id: bytes, code: str) -> Listener:
        listener = await setup.listen(home.credentials, last_event_id=last_event_id)
        assert [received.event for received in listener.received] == ["reset", "present", "present", "ready"]
        assert [received.id for received in listener.received[:3]] == [None, None, None]
        assert listener.received[0].data["code"] == code
        await home.switch()
        await setup.quiet()
        assert len(listener.notices) == 1
        return listener

    async def test_because_it_is_no_cursor(self, setup: StreamSetup, home: TwoPlants) -> None:
        for sent in (b"abc", b"-1", b"1.5", b"9" * 19, "١٢".encode(), b"0x10", b"1 2"):
            await self.expect_reset(setup, home, sent, "unknown")

    async def test_because_it_is_of_a_future_that_was_undone(self, setup: StreamSetup, home: TwoPlants) -> None:
        newest = await setup.store.newest_cursor()
        await self.expect_reset(setup, home, b"%d" % (newest + 1), "unknown")

    async def test_because_it_is_not_kept_any_more(self, setup: StreamSetup, home: TwoPlants) -> None:
        first = await setup.store.newest_cursor()
        await home.switch(0, 3)
        setup.clock.at += 100.0
        await home.switch(0)
        await setup.store.prune_changes(setup.clock.now() - 50.0)
        oldest, _ = await setup.store.feed_span()
        assert oldest == first + 4
        await self.expect_reset(setup, home, b"%d" % (oldest - 2), "too old")

    async def test_but_just_can_if_the_next_is_the_oldest_that_is_kept(self, setup: StreamSetup, home: TwoPlants) -> None:
        await home.switch(0, 3)
        setup.clock.at += 100.0
        await home.switch(0)
        await setup.store.prune_changes(setup.clock.now() - 50.0)
        oldest, _ = await setup.store.feed_span()
        listener = await setup.listen(home.credentials, last_event_id=b"%d" % (oldest - 1))
        assert [received.event for received in listener.received] == ["state", "ready"]

    async def test_because_it_was_forgotten_under_their_hands(
        self, setup: StreamSetup, home: TwoPlants, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "PAGE", 2)
        start = await setup.store.newest_cursor()
        await home.switch(0, 9)
        setup.clock.at += 100.0
        original, reads = setup.store.list_changes_of, 0

        async def read_and_forget(plant_ids: frozenset[Id], after: int, limit: int) -> object:
            nonlocal reads
            reads += 1
            if reads == 2:
                await setup.store.prune_changes(setup.clock.now() - 50.0)
            return await original(plant_ids, after, limit)

        monkeypatch.setattr(setup.store, "list_changes_of", read_and_forget)
        listener = await setup.listen(home.credentials, last_event_id=b"%d" % start)
        assert [received.event for received in listener.received] == ["state", "state", "reset", "present", "present", "ready"]
        assert listener.received[2].data["code"] == "too old"

    async def test_is_told_nothing_of_the_present_that_is_withdrawn_meanwhile(
        self, setup: StreamSetup, home: TwoPlants, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "PRESENT_AT_ONCE", 1)
        listener = await setup.listen(home.credentials, last_event_id=b"none", ready=False)
        await until(lambda: len(listener.received) >= 1, "the reset")
        await setup.store.revoke_grant(home.credentials.grant.id, setup.clock.now())
        await until(lambda: listener.ended or listener.received[-1].event == "ready", "the end")
        await until(lambda: listener.ended, "the end")
        assert listener.end_code == "token"


class TestNobodyAtAll:
    async def test_an_empty_header_is_none(self, setup: StreamSetup, home: TwoPlants) -> None:
        assert [received.event for received in (await setup.listen(home.credentials, last_event_id=b"")).received] == ["ready"]


@pytest.fixture(scope="module")
def shared_setup() -> Iterator[tuple[asyncio.Runner, StreamSetup, TwoPlants]]:
    """One setup for all examples. Each example looks only at later changes."""
    with asyncio.Runner() as runner:
        opened = open_stream_setup()
        setup = runner.run(opened.__aenter__())
        home = runner.run(TwoPlants(setup).build())
        yield runner, setup, home
        runner.run(opened.__aexit__(None, None, None))


@settings(max_examples=examples(15))
@given(
    happenings=st.lists(st.tuples(st.integers(0, 1), st.integers(1, 4)), min_size=1, max_size=8),
    cuts=st.lists(st.integers(1, 12), max_size=6),
    page=st.integers(1, 5),
)
def test_cut_off_anywhere_and_as_often_as_one_likes_nothing_is_missed_and_nothing_heard_twice(
    shared_setup: tuple[asyncio.Runner, StreamSetup, TwoPlants], happenings: list[tuple[int, int]], cuts: list[int], page: int
) -> None:
    """`cuts`: after how many events each connection is lost."""
    runner, setup, home = shared_setup

    async def run() -> None:
        witness = await setup.listen(home.credentials)
        last, received = witness.last_id, list[int]()
        happening = asyncio.create_task(_happen())
        for cut in cuts:
            listener = await setup.listen(home.credentials, last_event_id=last, ready=False)

            def lose(listener: Listener = listener, cut: int = cut) -> bool:
                if len(listener.ids) >= cut or (happening.done() and setup.is_quiet()):
                    listener.stream.close()
                return listener.ended

            await until(lose, "a cut")
            received += listener.ids
            last = listener.last_id or last
        await happening
        listener = await setup.listen(home.credentials, last_event_id=last)
        await setup.quiet()
        received += listener.ids
        assert received == witness.ids
        for each in (witness, listener):
            each.stream.close()
        await setup.quiet()
        setup.listeners.clear()

    async def _happen() -> None:
        for plant, times in happenings:
            await home.switch(plant, times)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "PAGE", page)
        runner.run(run())
