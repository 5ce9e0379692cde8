"""When listeners stop hearing: what is taken away, time that is up, a drain, and those who are too slow."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.people import Scope, Standing
from domogate.domain.plants import PlantStatus, Topology
from domogate.identity.rotation import rotate_keys
from domogate.services.events.filters import EventFilter
from domogate.services.events.hub import Unavailable
from support.listening import Credentials, House, Listener, Salon, a_module, open_salon, until


@pytest.fixture
async def salon() -> AsyncIterator[Salon]:
    async with open_salon() as opened:
        yield opened


@pytest.fixture
async def house(salon: Salon) -> House:
    return await House(salon).build()


async def _withdraw(salon: Salon, house: House, _: Credentials) -> None:
    await salon.store.withdraw_user(house.plant.id, house.bruno.id)


async def _remove_plant(salon: Salon, house: House, _: Credentials) -> None:
    await salon.store.set_plant_status(house.plant.id, PlantStatus.REMOVED, salon.clock.now())


async def _revoke_grant(salon: Salon, _: House, credentials: Credentials) -> None:
    await salon.store.revoke_grant(credentials.grant.id, salon.clock.now())


async def _revoke_key(salon: Salon, _: House, credentials: Credentials) -> None:
    await salon.store.revoke_subscription(credentials.subscription_id, salon.clock.now())


async def _delete_user(salon: Salon, house: House, _: Credentials) -> None:
    await salon.store.delete_user(house.bruno.id)


async def _delete_client(salon: Salon, _: House, credentials: Credentials) -> None:
    await salon.store.delete_client(credentials.client.id)


async def _password_due(salon: Salon, house: House, _: Credentials) -> None:
    await salon.store.save_user(msgspec.structs.replace(house.bruno, standing=Standing.BOTH_EXPIRED))


async def _terms_due(salon: Salon, house: House, _: Credentials) -> None:
    await salon.store.save_user(msgspec.structs.replace(house.bruno, standing=Standing.TERMS_EXPIRED))


Ending = Callable[[Salon, House, Credentials], Awaitable[None]]

ENDINGS: dict[Ending, str] = {
    _withdraw: "plant",
    _remove_plant: "plant",
    _revoke_grant: "token",
    _revoke_key: "key",
    _delete_user: "token",
    _delete_client: "token",
    _password_due: "password",
    _terms_due: "terms",
}


@pytest.mark.parametrize(("take_away", "code"), ENDINGS.items(), ids=[ending.__name__[1:] for ending in ENDINGS])
class TestWhatIsTakenAway:
    async def listen(self, salon: Salon, house: House) -> list[Listener]:
        """To all plants of the person, and to the one alone."""
        wishes = EventFilter(), EventFilter(plants=frozenset({house.plant.id}))
        return [await salon.listen(house.of_bruno, event_filter) for event_filter in wishes]

    async def test_ends_the_stream_at_once_and_says_why(self, salon: Salon, house: House, take_away: Ending, code: str) -> None:
        listeners, witness = await self.listen(salon, house), await salon.listen(house.of_anna)
        await take_away(salon, house, house.of_bruno)
        await until(lambda: all(listener.ended for listener in listeners), "the end")
        for listener in listeners:
            assert listener.end_code == code
            assert listener.heard[-1].data["detail"].endswith(".")
            assert listener.told == []
        await house.switch()
        await salon.quiet()
        assert [listener.told for listener in listeners] == [[], []]
        assert witness.ended is (code == "plant" and take_away is _remove_plant)

    async def test_takes_with_it_what_was_waiting_to_be_taken(
        self, salon: Salon, house: House, take_away: Ending, code: str
    ) -> None:
        listeners = await self.listen(salon, house)
        await salon.quiet()
        for listener in listeners:
            listener.reading.clear()
        await house.switch(2)  # the first is what a reader was about to be given
        await until(lambda: all(len(listener.told) == 1 for listener in listeners), "the readers to have stopped")
        await house.switch(5)
        await take_away(salon, house, house.of_bruno)
        for listener in listeners:
            listener.reading.set()
        await until(lambda: all(listener.ended for listener in listeners), "the end")
        assert [(len(listener.told), listener.end_code) for listener in listeners] == [(1, code)] * 2


class TestWhatWaits:
    async def test_is_looked_at_again_when_the_plant_changed(self, salon: Salon) -> None:
        """Told as what it was, a module that is of another kind by now would be beyond the token's scopes."""
        anna, lamp = await salon.add_user("Anna"), a_module(DeviceKind.LIGHT)
        plant = await salon.add_plant(anna, lamp)
        listener = await salon.listen(await salon.let_in(anna, [Scope.LIGHT_READ, Scope.TOPOLOGY_READ]))
        await salon.quiet()
        listener.reading.clear()
        await salon.report(plant, lamp)
        await until(lambda: len(listener.told) == 1, "the reader to have stopped")
        await salon.report(plant, lamp, on=False)
        changed = msgspec.structs.replace(lamp, kind=DeviceKind.PLUG)
        await salon.store.import_estate(Estate(plants=(EstatePlant(plant, Topology(modules=(changed,))),)), prune=False)
        listener.reading.set()
        await salon.quiet()
        assert [heard.event for heard in listener.told] == ["state", "plant"]


class TestTime:
    async def test_ends_a_stream_with_its_token(self) -> None:
        await self._expect("token", lifetime=60.0)

    async def test_ends_a_stream_with_its_key(self) -> None:
        await self._expect("key", key_life=60.0)

    async def _expect(self, code: str, **lives: float) -> None:
        async with open_salon(heartbeat=0.02) as salon:
            house = await House(salon).build()
            listener = await salon.listen(await salon.let_in(house.anna, **lives))
            salon.clock.at += 59.0
            await house.switch()
            await until(lambda: len(listener.told) == 1, "an event")
            salon.clock.at += 1.0
            await until(lambda: listener.ended, "the end")
            assert listener.end_code == code

    async def test_that_is_up_is_noticed_before_anything_is_told(self, salon: Salon, house: House) -> None:
        listener = await salon.listen(await salon.let_in(house.anna, lifetime=60.0))
        salon.clock.at += 60.0
        await house.switch()
        await until(lambda: listener.ended, "the end")
        assert (listener.end_code, listener.told) == ("token", [])

    async def test_rights_for_a_period_end_the_stream_when_it_is_over(self, salon: Salon, house: House) -> None:
        view = await salon.read_model.get_plant(house.plant.id)
        assert view is not None
        view.members[house.bruno.id] = salon.clock.now() + 10
        listener = await salon.listen(house.of_bruno, EventFilter(plants=frozenset({house.plant.id})))
        salon.clock.at += 9
        await house.switch()
        await salon.quiet()
        assert len(listener.told) == 1
        salon.clock.at += 1
        await house.switch()
        await until(lambda: listener.ended, "the end")
        assert (listener.end_code, len(listener.told)) == ("plant", 1)

    async def test_is_watched_by_a_timer_not_by_heartbeats(self, salon: Salon, house: House) -> None:
        """The clock of this one goes on by itself, from the moment at which somebody listens."""
        salon.hub._tasks[1].cancel()  # the heartbeats
        credentials = await salon.let_in(house.anna, key_life=60.0)
        almost = salon.clock.at = salon.clock.at + 59.9
        listener, begun = await salon.listen(credentials), time.monotonic()
        salon.clock.now = lambda: almost + time.monotonic() - begun  # type: ignore[method-assign]  # a stand-in
        await until(lambda: listener.ended, "the end")
        assert listener.end_code == "key"

    async def test_that_passes_without_news_is_filled_with_comments(self) -> None:
        async with open_salon(heartbeat=0.02) as salon:
            house = await House(salon).build()
            listener = await salon.listen(house.of_anna)
            await until(lambda: listener.raw.endswith(b"\n\n:\n\n:\n\n"), "two heartbeats")
            assert listener.told == []


class TestAPersonsPlants:
    async def test_that_they_gain_are_heard_of_at_once(self, salon: Salon, house: House) -> None:
        carla = await salon.add_user("Carla")
        listener = await salon.listen(await salon.let_in(carla))
        await salon.store.allow_user(house.plant.id, carla.id)
        await house.switch()
        await salon.quiet()
        assert [heard.event for heard in listener.told] == ["people", "state"]
        assert not listener.ended

    async def test_that_they_lose_end_the_stream_and_the_rest_is_told_to_who_comes_again(
        self, salon: Salon, house: House
    ) -> None:
        lamp = a_module(DeviceKind.LIGHT)
        own = await salon.add_plant(house.bruno, lamp)
        listener = await salon.listen(house.of_bruno)
        await house.switch()
        await salon.report(own, lamp)
        await salon.quiet()
        await salon.store.withdraw_user(house.plant.id, house.bruno.id)
        await until(lambda: listener.ended, "the end")
        await house.switch()
        await salon.report(own, lamp, on=False)
        again = await salon.listen(house.of_bruno, last_event_id=listener.last_id)
        assert [heard.data["data"]["plantId"] for heard in again.told] == [own.id]

    async def test_that_are_lost_and_given_back_before_anyone_looked_are_told_on(self, salon: Salon, house: House) -> None:
        listener = await salon.listen(house.of_bruno)
        await asyncio.gather(
            salon.store.withdraw_user(house.plant.id, house.bruno.id), salon.store.allow_user(house.plant.id, house.bruno.id)
        )
        await house.switch()
        await until(lambda: listener.ended or len(listener.told) == 3, "two changes of people, and the lamp")

    async def test_are_not_in_doubt_because_a_fault_is_injected(self, salon: Salon, house: House) -> None:
        listener = await salon.listen(house.of_anna)
        before = listener.stream._rights_version
        await salon.store.inject(house.plant.id, [])
        await salon.quiet()
        assert (listener.told, listener.stream._rights_version) == ([], before)

    async def test_outlive_a_rotation_of_signing_keys(self, salon: Salon, house: House) -> None:
        listener = await salon.listen(house.of_anna)
        await rotate_keys(salon.store, salon.clock)
        await house.switch()
        await salon.quiet()
        assert len(listener.told) == 1

    async def test_end_with_the_trust_in_the_key_that_signed_their_token(self, salon: Salon, house: House) -> None:
        listener = await salon.listen(house.of_anna)
        await rotate_keys(salon.store, salon.clock, now=True)
        await until(lambda: listener.ended, "the end")
        assert listener.end_code == "token"


class TestADrain:
    async def test_ends_every_stream_and_opens_none(self, salon: Salon, house: House) -> None:
        listeners = [await salon.listen(house.of_anna), await salon.listen(house.of_bruno)]
        salon.hub.drain()
        await until(lambda: all(listener.ended for listener in listeners), "the end")
        assert {listener.end_code for listener in listeners} == {"draining"}
        with pytest.raises(Unavailable):
            await salon.hub.open(await salon.call(house.of_anna), EventFilter())
        assert salon.hub.open_streams == 0


class TestAListenerThatIsTooSlow:
    async def test_is_cut_off_with_what_waited_for_it_and_misses_nothing_when_it_comes_again(self) -> None:
        async with open_salon(queue_events=10) as salon:
            house = await House(salon).build()
            slow, quick = await salon.listen(house.of_anna), await salon.listen(house.of_anna)
            slow.reading.clear()
            await house.switch(40)
            await salon.quiet()
            assert slow.stream._queue == []
            slow.reading.set()
            await until(lambda: slow.ended, "the end")
            assert slow.end_code == "slow"
            assert len(quick.told) == 40
            again = await salon.listen(house.of_anna, last_event_id=slow.last_id)
            assert slow.ids + again.ids == quick.ids

    async def test_is_bounded_in_bytes_too(self) -> None:
        async with open_salon(queue_bytes=2_000) as salon:
            house = await House(salon).build()
            slow = await salon.listen(house.of_anna)
            slow.reading.clear()
            await house.switch(10)
            await salon.quiet()
            slow.reading.set()
            await until(lambda: slow.ended, "the end")
            assert slow.end_code == "slow"
