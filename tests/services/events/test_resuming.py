"""Who was away misses nothing and hears nothing twice; who was away for too long is told so, and then the present."""

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
from support.listening import Credentials, Listener, Salon, a_module, open_salon, until

pytestmark = pytest.mark.slow


@pytest.fixture
async def salon() -> AsyncIterator[Salon]:
    async with open_salon() as opened:
        yield opened


class Home:
    """One person, two plants, a lamp in each."""

    def __init__(self, salon: Salon) -> None:
        self.salon = salon
        self.lamps = [a_module(DeviceKind.LIGHT), a_module(DeviceKind.LIGHT)]
        self.plants: list[Plant] = []

    async def build(self) -> "Home":
        self.anna = await self.salon.add_user("Anna")
        self.plants = [await self.salon.add_plant(self.anna, lamp) for lamp in self.lamps]
        self.credentials: Credentials = await self.salon.let_in(self.anna)
        return self

    async def switch(self, plant: int = 0, times: int = 1) -> None:
        for number in range(times):
            await self.salon.report(self.plants[plant], self.lamps[plant], on=number % 2 == 0)


@pytest.fixture
async def home(salon: Salon) -> Home:
    return await Home(salon).build()


class TestWhoComesAgain:
    async def test_hears_what_was_missed_and_goes_on(self, salon: Salon, home: Home) -> None:
        first = await salon.listen(home.credentials)
        await home.switch(times=3)
        await salon.quiet()
        first.stream.close()
        await home.switch(0, times=2)
        await home.switch(1, times=2)
        again = await salon.listen(home.credentials, last_event_id=first.last_id)
        missed = len(again.told)
        await home.switch()
        await salon.quiet()
        assert (missed, len(again.told)) == (4, 5)
        assert first.ids + again.ids == sorted({*first.ids, *again.ids})
        ready = next(heard for heard in again.heard if heard.event == "ready")
        assert ready.id == again.ids[3]

    async def test_is_not_told_the_present_that_they_asked_for_when_they_first_came(self, salon: Salon, home: Home) -> None:
        """A browser sends the same URL again, with the id."""
        first = await salon.listen(home.credentials, EventFilter(present=True))
        again = await salon.listen(home.credentials, EventFilter(present=True), first.last_id)
        assert [heard.event for heard in again.heard] == ["ready"]

    async def test_with_another_wish_hears_what_fits_that(self, salon: Salon, home: Home) -> None:
        await home.switch(0)
        await home.switch(1)
        listener = await salon.listen(home.credentials, EventFilter(plants=frozenset({home.plants[1].id})), b"0")
        assert {heard.data["data"]["plantId"] for heard in listener.told} == {home.plants[1].id}

    async def test_hears_by_the_rights_of_now(self, salon: Salon, home: Home) -> None:
        await home.switch(0)
        plugs_only = await salon.let_in(home.anna, [Scope.PLUG_READ])
        assert (await salon.listen(plugs_only, last_event_id=b"0")).told == []
        stranger = await salon.let_in(await salon.add_user("Carla"))
        assert (await salon.listen(stranger, last_event_id=b"0")).told == []

    async def test_after_many_pages_has_heard_all(self, salon: Salon, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(streams, "PAGE", 3)
        witness = await salon.listen(home.credentials)
        start = witness.last_id
        await asyncio.gather(home.switch(0, 10), home.switch(1, 10))
        await salon.quiet()
        again = await salon.listen(home.credentials, last_event_id=start)
        assert again.ids == witness.ids
        assert len(again.ids) == 20

    async def test_while_things_happen_hears_each_once(self, salon: Salon, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(streams, "PAGE", 3)
        witness = await salon.listen(home.credentials)
        start = witness.last_id
        await home.switch(0, 10)
        comers: list[Listener] = []

        async def come() -> None:
            comers.extend([await salon.listen(home.credentials, last_event_id=start) for _ in range(8)])

        await asyncio.gather(home.switch(0, 30), home.switch(1, 30), come())
        await salon.quiet()
        for comer in comers:
            assert comer.ids == witness.ids

    async def test_loses_a_plant_meanwhile_hears_nothing_more_of_it(
        self, salon: Salon, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The right is withdrawn between the page that is read and the page that is told."""
        bruno = await salon.add_user("Bruno")
        await salon.store.allow_user(home.plants[0].id, bruno.id)
        await home.switch(0, 5)
        original = salon.store.list_changes_of

        async def read_and_lose(plant_ids: frozenset[Id], after: int, limit: int) -> object:
            page = await original(plant_ids, after, limit)
            await salon.store.withdraw_user(home.plants[0].id, bruno.id)
            return page

        monkeypatch.setattr(salon.store, "list_changes_of", read_and_lose)
        listener = await salon.listen(await salon.let_in(bruno), last_event_id=b"0")
        await until(lambda: listener.ended, "the end")
        assert (listener.told, listener.end_code) == ([], "plant")

    async def test_gains_a_plant_meanwhile_hears_of_it(self, salon: Salon, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        bruno = await salon.add_user("Bruno")
        original, given = salon.store.list_changes_of, False

        async def read_and_gain(plant_ids: frozenset[Id], after: int, limit: int) -> object:
            nonlocal given
            page = await original(plant_ids, after, limit)
            if not given:
                given = True
                await salon.store.allow_user(home.plants[0].id, bruno.id)
                await home.switch(0)
            return page

        start = await salon.store.newest_cursor()
        monkeypatch.setattr(salon.store, "list_changes_of", read_and_gain)
        listener = await salon.listen(await salon.let_in(bruno), last_event_id=b"%d" % start)
        await salon.quiet()
        assert [heard.event for heard in listener.told] == ["people", "state"]


class TestWhoCannotBeToldWhatWasMissed:
    async def expect_reset(self, salon: Salon, home: Home, last_event_id: bytes, code: str) -> Listener:
        listener = await salon.listen(home.credentials, last_event_id=last_event_id)
        assert [heard.event for heard in listener.heard] == ["reset", "present", "present", "ready"]
        assert [heard.id for heard in listener.heard[:3]] == [None, None, None]
        assert listener.heard[0].data["code"] == code
        await home.switch()
        await salon.quiet()
        assert len(listener.told) == 1
        return listener

    async def test_because_it_is_no_cursor(self, salon: Salon, home: Home) -> None:
        for sent in (b"abc", b"-1", b"1.5", b"9" * 19, "١٢".encode(), b"0x10", b"1 2"):
            await self.expect_reset(salon, home, sent, "unknown")

    async def test_because_it_is_of_a_future_that_was_undone(self, salon: Salon, home: Home) -> None:
        newest = await salon.store.newest_cursor()
        await self.expect_reset(salon, home, b"%d" % (newest + 1), "unknown")

    async def test_because_it_is_not_kept_any_more(self, salon: Salon, home: Home) -> None:
        first = await salon.store.newest_cursor()
        await home.switch(0, 3)
        salon.clock.at += 100.0
        await home.switch(0)
        await salon.store.prune_changes(salon.clock.now() - 50.0)
        oldest, _ = await salon.store.feed_span()
        assert oldest == first + 4
        await self.expect_reset(salon, home, b"%d" % (oldest - 2), "too old")

    async def test_but_just_can_if_the_next_is_the_oldest_that_is_kept(self, salon: Salon, home: Home) -> None:
        await home.switch(0, 3)
        salon.clock.at += 100.0
        await home.switch(0)
        await salon.store.prune_changes(salon.clock.now() - 50.0)
        oldest, _ = await salon.store.feed_span()
        listener = await salon.listen(home.credentials, last_event_id=b"%d" % (oldest - 1))
        assert [heard.event for heard in listener.heard] == ["state", "ready"]

    async def test_because_it_was_forgotten_under_their_hands(
        self, salon: Salon, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "PAGE", 2)
        start = await salon.store.newest_cursor()
        await home.switch(0, 9)
        salon.clock.at += 100.0
        original, reads = salon.store.list_changes_of, 0

        async def read_and_forget(plant_ids: frozenset[Id], after: int, limit: int) -> object:
            nonlocal reads
            reads += 1
            if reads == 2:
                await salon.store.prune_changes(salon.clock.now() - 50.0)
            return await original(plant_ids, after, limit)

        monkeypatch.setattr(salon.store, "list_changes_of", read_and_forget)
        listener = await salon.listen(home.credentials, last_event_id=b"%d" % start)
        assert [heard.event for heard in listener.heard] == ["state", "state", "reset", "present", "present", "ready"]
        assert listener.heard[2].data["code"] == "too old"

    async def test_is_told_nothing_of_the_present_that_is_withdrawn_meanwhile(
        self, salon: Salon, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "PRESENT_AT_ONCE", 1)
        listener = await salon.listen(home.credentials, last_event_id=b"none", ready=False)
        await until(lambda: len(listener.heard) >= 1, "the reset")
        await salon.store.revoke_grant(home.credentials.grant.id, salon.clock.now())
        await until(lambda: listener.ended or listener.heard[-1].event == "ready", "the end")
        await until(lambda: listener.ended, "the end")
        assert listener.end_code == "token"


class TestNobodyAtAll:
    async def test_an_empty_header_is_none(self, salon: Salon, home: Home) -> None:
        assert [heard.event for heard in (await salon.listen(home.credentials, last_event_id=b"")).heard] == ["ready"]


@pytest.fixture(scope="module")
def lounge() -> "Iterator[tuple[asyncio.Runner, Salon, Home]]":
    """One for all examples: each looks only at what came after it began."""
    with asyncio.Runner() as runner:
        opened = open_salon()
        salon = runner.run(opened.__aenter__())
        home = runner.run(Home(salon).build())
        yield runner, salon, home
        runner.run(opened.__aexit__(None, None, None))


@settings(max_examples=examples(15))
@given(
    happenings=st.lists(st.tuples(st.integers(0, 1), st.integers(1, 4)), min_size=1, max_size=8),
    cuts=st.lists(st.integers(1, 12), max_size=6),
    page=st.integers(1, 5),
)
def test_cut_off_anywhere_and_as_often_as_one_likes_nothing_is_missed_and_nothing_heard_twice(
    lounge: tuple[asyncio.Runner, Salon, Home], happenings: list[tuple[int, int]], cuts: list[int], page: int
) -> None:
    """`cuts`: after how many events each connection is lost, while more happens."""
    runner, salon, home = lounge

    async def run() -> None:
        witness = await salon.listen(home.credentials)
        last, heard = witness.last_id, list[int]()
        happening = asyncio.create_task(_happen())
        for cut in cuts:
            listener = await salon.listen(home.credentials, last_event_id=last, ready=False)

            def lose(listener: Listener = listener, cut: int = cut) -> bool:
                if len(listener.ids) >= cut or (happening.done() and salon._is_quiet()):
                    listener.stream.close()
                return listener.ended

            await until(lose, "a cut")
            heard += listener.ids
            last = listener.last_id or last
        await happening
        listener = await salon.listen(home.credentials, last_event_id=last)
        await salon.quiet()
        heard += listener.ids
        assert heard == witness.ids
        for each in (witness, listener):
            each.stream.close()
        await salon.quiet()
        salon.listeners.clear()

    async def _happen() -> None:
        for plant, times in happenings:
            await home.switch(plant, times)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "PAGE", page)
        runner.run(run())
