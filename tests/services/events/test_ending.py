"""The end of streams: withdrawn rights, expired credentials, a drain, and slow clients."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.events import Change, ChangesLost
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.limits import Limits
from domogate.domain.people import Scope, Standing
from domogate.domain.plants import PlantStatus, Topology
from domogate.identity.rotation import rotate_keys
from domogate.services.events import hub as hubs
from domogate.services.events.filters import EventFilter
from domogate.services.events.hub import Unavailable
from domogate.services.events.stream import Stream
from support.stream_setup import Credentials, Listener, SharedHome, StreamSetup, a_module, open_stream_setup, until

pytestmark = pytest.mark.slow


async def _withdraw(setup: StreamSetup, home: SharedHome, _: Credentials) -> None:
    await setup.store.withdraw_user(home.plant.id, home.bruno.id)


async def _remove_plant(setup: StreamSetup, home: SharedHome, _: Credentials) -> None:
    await setup.store.set_plant_status(home.plant.id, PlantStatus.REMOVED, setup.clock.now())


async def _revoke_grant(setup: StreamSetup, _: SharedHome, credentials: Credentials) -> None:
    await setup.store.revoke_grant(credentials.grant.id, setup.clock.now())


async def _revoke_key(setup: StreamSetup, _: SharedHome, credentials: Credentials) -> None:
    await setup.store.revoke_subscription(credentials.subscription_id, setup.clock.now())


async def _delete_user(setup: StreamSetup, home: SharedHome, _: Credentials) -> None:
    await setup.store.delete_user(home.bruno.id)


async def _delete_client(setup: StreamSetup, _: SharedHome, credentials: Credentials) -> None:
    await setup.store.delete_client(credentials.client.id)


async def _password_due(setup: StreamSetup, home: SharedHome, _: Credentials) -> None:
    await setup.store.save_user(msgspec.structs.replace(home.bruno, standing=Standing.BOTH_EXPIRED))


async def _terms_due(setup: StreamSetup, home: SharedHome, _: Credentials) -> None:
    await setup.store.save_user(msgspec.structs.replace(home.bruno, standing=Standing.TERMS_EXPIRED))


async def _reduce_client(setup: StreamSetup, _: SharedHome, credentials: Credentials) -> None:
    await setup.store.save_client(msgspec.structs.replace(credentials.client, scopes=("topology.read", "plug.read")))


Ending = Callable[[StreamSetup, SharedHome, Credentials], Awaitable[None]]

ENDINGS: dict[Ending, str] = {
    _withdraw: "plant",
    _remove_plant: "plant",
    _revoke_grant: "token",
    _revoke_key: "key",
    _delete_user: "token",
    _delete_client: "token",
    _reduce_client: "token",
    _password_due: "password",
    _terms_due: "terms",
}


@pytest.mark.parametrize(("take_away", "code"), ENDINGS.items(), ids=[ending.__name__[1:] for ending in ENDINGS])
class TestWhatIsTakenAway:
    async def listen(self, setup: StreamSetup, home: SharedHome) -> list[Listener]:
        """One stream for all plants of the person, and one for this plant."""
        filters = EventFilter(), EventFilter(plants=frozenset({home.plant.id}))
        return [await setup.listen(home.of_bruno, event_filter) for event_filter in filters]

    async def test_ends_the_stream_at_once_and_says_why(
        self, setup: StreamSetup, home: SharedHome, take_away: Ending, code: str
    ) -> None:
        listeners, witness = await self.listen(setup, home), await setup.listen(home.of_anna)
        await take_away(setup, home, home.of_bruno)
        await until(lambda: all(listener.ended for listener in listeners), "the end")
        for listener in listeners:
            assert listener.end_code == code
            assert listener.received[-1].data["detail"].endswith(".")
            assert listener.notices == []
        await home.switch()
        await setup.quiet()
        assert [listener.notices for listener in listeners] == [[], []]
        assert witness.ended is (code == "plant" and take_away is _remove_plant)

    async def test_takes_with_it_what_was_waiting_to_be_taken(
        self, setup: StreamSetup, home: SharedHome, take_away: Ending, code: str
    ) -> None:
        listeners = await self.listen(setup, home)
        await setup.quiet()
        for listener in listeners:
            listener.reading.clear()
        await home.switch(5)
        await until(lambda: all(listener.stream.waiting == 5 for listener in listeners), "the events to wait")
        await take_away(setup, home, home.of_bruno)
        for listener in listeners:
            listener.reading.set()
        await until(lambda: all(listener.ended for listener in listeners), "the end")
        assert [(len(listener.notices), listener.end_code) for listener in listeners] == [(0, code)] * 2


class TestWhatWaits:
    async def test_is_looked_at_again_when_the_plant_changed(self, setup: StreamSetup) -> None:
        """The module has another kind now, which the scopes of the token do not show."""
        anna, lamp = await setup.add_user("Anna"), a_module(DeviceKind.LIGHT)
        plant = await setup.add_plant(anna, lamp)
        listener = await setup.listen(await setup.grant_access(anna, [Scope.LIGHT_READ, Scope.TOPOLOGY_READ]))
        await setup.quiet()
        listener.reading.clear()
        await setup.report(plant, lamp)
        await until(lambda: listener.stream.waiting == 1, "the event to wait")
        changed = msgspec.structs.replace(lamp, kind=DeviceKind.PLUG)
        await setup.store.import_estate(Estate(plants=(EstatePlant(plant, Topology(modules=(changed,))),)), prune=False)
        listener.reading.set()
        await setup.quiet()
        assert [received.event for received in listener.notices] == ["plant"]


class TestTime:
    async def test_ends_a_stream_with_its_token(self) -> None:
        await self._expect("token", lifetime=60.0)

    async def test_ends_a_stream_with_its_key(self) -> None:
        await self._expect("key", key_life=60.0)

    async def _expect(self, code: str, *, lifetime: float | None = None, key_life: float | None = None) -> None:
        async with open_stream_setup(heartbeat=0.02) as setup:
            home = await SharedHome(setup).build()
            listener = await setup.listen(await setup.grant_access(home.anna, lifetime=lifetime, key_life=key_life))
            setup.clock.at += 59.0
            await home.switch()
            await until(lambda: len(listener.notices) == 1, "an event")
            setup.clock.at += 1.0
            await until(lambda: listener.ended, "the end")
            assert listener.end_code == code

    async def test_that_is_up_is_noticed_before_anything_is_told(self, setup: StreamSetup, home: SharedHome) -> None:
        listener = await setup.listen(await setup.grant_access(home.anna, lifetime=60.0))
        setup.clock.at += 60.0
        await home.switch()
        await until(lambda: listener.ended, "the end")
        assert (listener.end_code, listener.notices) == ("token", [])

    async def test_rights_for_a_period_end_the_stream_when_it_is_over(self, setup: StreamSetup, home: SharedHome) -> None:
        limits = Limits(valid_until=setup.clock.now() + 10)
        assert await setup.store.set_member_limits(home.plant.id, home.bruno.id, limits)
        listener = await setup.listen(home.of_bruno, EventFilter(plants=frozenset({home.plant.id})))
        setup.clock.at += 9
        await home.switch()
        await setup.quiet()
        assert len(listener.notices) == 1
        setup.clock.at += 1
        await home.switch()
        await until(lambda: listener.ended, "the end")
        assert (listener.end_code, len(listener.notices)) == ("plant", 1)

    async def test_is_watched_by_a_timer_not_by_heartbeats(
        self, setup: StreamSetup, home: SharedHome, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The clock of this test runs by itself from the time when the stream opens."""
        (heartbeats,) = (task for task in asyncio.all_tasks() if task.get_name() == "heartbeats of event streams")
        heartbeats.cancel()
        credentials = await setup.grant_access(home.anna, key_life=60.0)
        almost = setup.clock.at = setup.clock.at + 59.9
        listener, begun = await setup.listen(credentials), time.monotonic()
        monkeypatch.setattr(setup.clock, "now", lambda: almost + time.monotonic() - begun)
        await until(lambda: listener.ended, "the end")
        assert listener.end_code == "key"

    async def test_that_passes_without_news_is_filled_with_comments(self) -> None:
        async with open_stream_setup(heartbeat=0.02) as setup:
            home = await SharedHome(setup).build()
            listener = await setup.listen(home.of_anna)
            await until(lambda: listener.raw.endswith(b"\n\n:\n\n:\n\n"), "two heartbeats")
            assert listener.notices == []

    async def test_of_many_streams_is_checked_in_several_turns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        turn, turns = 0, list[int]()
        original = Stream.send_heartbeat

        def note_turn(stream: Stream) -> None:
            turns.append(turn)
            original(stream)

        monkeypatch.setattr(hubs, "CHECKED_AT_ONCE", 1)
        monkeypatch.setattr(Stream, "send_heartbeat", note_turn)
        async with open_stream_setup(heartbeat=0.02) as setup:
            home = await SharedHome(setup).build()
            for _ in range(3):
                await setup.listen(home.of_anna)
            while len(turns) < 12:
                turn += 1
                await asyncio.sleep(0)
        assert len(set(turns)) == len(turns)


class TestAPersonsPlants:
    async def test_that_they_gain_are_heard_of_at_once(self, setup: StreamSetup, home: SharedHome) -> None:
        carla = await setup.add_user("Carla")
        listener = await setup.listen(await setup.grant_access(carla))
        await setup.store.allow_user(home.plant.id, carla.id)
        await home.switch()
        await setup.quiet()
        assert [received.event for received in listener.notices] == ["people", "state"]
        assert not listener.ended

    async def test_that_they_lose_end_the_stream_and_a_new_stream_gets_the_rest(
        self, setup: StreamSetup, home: SharedHome
    ) -> None:
        lamp = a_module(DeviceKind.LIGHT)
        own = await setup.add_plant(home.bruno, lamp)
        listener = await setup.listen(home.of_bruno)
        await home.switch()
        await setup.report(own, lamp)
        await setup.quiet()
        await setup.store.withdraw_user(home.plant.id, home.bruno.id)
        await until(lambda: listener.ended, "the end")
        await home.switch()
        await setup.report(own, lamp, on=False)
        again = await setup.listen(home.of_bruno, last_event_id=listener.last_id)
        assert [received.data["data"]["plantId"] for received in again.notices] == [own.id]

    async def test_that_are_lost_and_given_back_before_anyone_looked_are_told_on(
        self, setup: StreamSetup, home: SharedHome
    ) -> None:
        listener = await setup.listen(home.of_bruno)
        await asyncio.gather(
            setup.store.withdraw_user(home.plant.id, home.bruno.id), setup.store.allow_user(home.plant.id, home.bruno.id)
        )
        await home.switch()
        await until(lambda: listener.ended or len(listener.notices) == 2, "the second change of people, and the lamp")

    async def test_are_not_in_doubt_because_a_fault_is_injected(self, setup: StreamSetup, home: SharedHome) -> None:
        listener = await setup.listen(home.of_anna)
        await setup.quiet()
        idle: list[bool] = []
        setup.store.listen(lambda _: idle.append(listener.stream.idle))  # after the hub: a check would be due now
        assert await setup.store.inject(home.plant.id, [Injection(InjectedFault.OFFLINE, home.lamp.id)])
        await setup.quiet()
        assert (listener.notices, idle) == ([], [True])

    async def test_outlive_a_rotation_of_signing_keys(self, setup: StreamSetup, home: SharedHome) -> None:
        listener = await setup.listen(home.of_anna)
        await rotate_keys(setup.store, setup.clock)
        await home.switch()
        await setup.quiet()
        assert len(listener.notices) == 1

    async def test_end_with_the_trust_in_the_key_that_signed_their_token(self, setup: StreamSetup, home: SharedHome) -> None:
        listener = await setup.listen(home.of_anna)
        await rotate_keys(setup.store, setup.clock, now=True)
        await until(lambda: listener.ended, "the end")
        assert listener.end_code == "token"


class TestADrain:
    async def test_ends_every_stream_and_opens_none(self, setup: StreamSetup, home: SharedHome) -> None:
        listeners = [await setup.listen(home.of_anna), await setup.listen(home.of_bruno)]
        setup.hub.drain()
        await until(lambda: all(listener.ended for listener in listeners), "the end")
        assert {listener.end_code for listener in listeners} == {"draining"}
        with pytest.raises(Unavailable):
            await setup.hub.open(await setup.call(home.of_anna), EventFilter())
        assert setup.hub.open_streams == 0


class TestAListenerThatIsTooSlow:
    async def test_is_cut_off_with_what_waited_for_it_and_misses_nothing_when_it_comes_again(self) -> None:
        async with open_stream_setup(queue_events=10) as setup:
            home = await SharedHome(setup).build()
            slow, quick = await setup.listen(home.of_anna), await setup.listen(home.of_anna)
            slow.reading.clear()
            await home.switch(40)
            await setup.quiet()
            assert slow.stream.waiting == 0
            slow.reading.set()
            await until(lambda: slow.ended, "the end")
            assert slow.end_code == "slow"
            assert len(quick.notices) == 40
            again = await setup.listen(home.of_anna, last_event_id=slow.last_id)
            assert slow.ids + again.ids == quick.ids

    async def test_is_bounded_in_bytes_too(self) -> None:
        async with open_stream_setup(queue_bytes=2_000) as setup:
            home = await SharedHome(setup).build()
            slow = await setup.listen(home.of_anna)
            slow.reading.clear()
            await home.switch(10)
            await setup.quiet()
            slow.reading.set()
            await until(lambda: slow.ended, "the end")
            assert slow.end_code == "slow"


class TestChangesThatAreLost:
    async def test_end_the_stream_so_that_its_client_asks_again(self, setup: StreamSetup, home: SharedHome) -> None:
        credentials = await setup.grant_access(home.bruno)
        listener = await setup.listen(credentials)
        cursor = await setup.store.newest_cursor() + 100
        setup.hub.apply([Change(cursor, setup.clock.now(), ChangesLost())])
        await until(lambda: listener.ended, "the end of the stream")
        assert listener.end_code == "interrupted"
        again = await setup.listen(credentials)
        assert again.last_id == b"%d" % cursor
