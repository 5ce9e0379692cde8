"""Gateways that start with another setting `signing_algorithm` than the gateways before them."""

import asyncio
from pathlib import Path

import pytest

from domogate.domain.faults import TokenRefused
from domogate.identity.loaded_keys import new_signing_key
from domogate.identity.rotation import PUBLISHED_AHEAD, change_algorithm, list_key_places, rotate_keys
from domogate.identity.signing import KeyRing
from domogate.ports import KeyState
from domogate.stores import SqlStore, sqlite_url
from support.clocks import ManualClock
from support.identity import MemoryStore, new_identity

pytestmark = pytest.mark.slow  # to make RSA keys takes long

DAY = 86_400.0


async def start(store: MemoryStore, algorithm: str) -> KeyRing:
    ring = KeyRing(store, store.clock, algorithm=algorithm)
    store.listen(ring.apply)
    await ring.start()
    return ring


async def states_of(store: MemoryStore) -> list[tuple[str, KeyState]]:
    return [(place.algorithm, place.state) for place in await list_key_places(store, store.clock)]


async def current_of(store: MemoryStore) -> list[str]:
    """The algorithms of the keys that sign now."""
    return [algorithm for algorithm, state in await states_of(store) if state is KeyState.CURRENT]


class TestAChange:
    async def test_is_a_planned_rotation_that_retires_the_old_key(self) -> None:
        identity = await new_identity()
        store, before = identity.store, await identity.mint()
        await start(store, "RS256")
        assert await states_of(store) == [("ES256", KeyState.CURRENT), ("RS256", KeyState.NEXT)]
        store.clock.advance(PUBLISHED_AHEAD - 1)
        assert (await identity.keyring.find_current()).algorithm == "ES256"
        last = await identity.mint()
        store.clock.advance(1)
        assert await states_of(store) == [("ES256", KeyState.RETIRED), ("RS256", KeyState.CURRENT)]
        assert (await identity.keyring.find_current()).algorithm == "RS256"
        for token in (before, last):
            await identity.verify(token)
        store.clock.advance(DAY)
        assert [key["alg"] for key in (await identity.signer.jwks())["keys"]] == ["RS256"]
        with pytest.raises(TokenRefused):
            await identity.verify(last)

    async def test_further_starts_with_the_same_setting_change_nothing(self) -> None:
        store = MemoryStore(ManualClock())
        for algorithm in ("ES256", "RS256"):
            await start(store, algorithm)
        changed = list(store.signing_keys)
        for seconds in (0, 1, PUBLISHED_AHEAD, 2 * DAY):
            store.clock.advance(seconds)
            await start(store, "RS256")
            assert store.signing_keys == changed

    async def test_of_several_gateways_at_once_adds_one_key(self, tmp_path: Path) -> None:
        clock = ManualClock()
        stores = [SqlStore(sqlite_url(tmp_path / "domogate.sqlite3"), clock=clock, poll=0.01) for _ in range(3)]
        for store in stores:
            await store.start()
        await KeyRing(stores[0], clock).start()
        clock.advance(DAY)
        await asyncio.gather(*(KeyRing(store, clock, algorithm="RS256").start() for store in stores))
        places = await list_key_places(stores[0], clock)
        assert [(place.algorithm, place.state) for place in places] == [("ES256", KeyState.CURRENT), ("RS256", KeyState.NEXT)]
        for store in stores:
            await store.stop()

    async def test_also_retires_a_key_that_an_earlier_version_left_current(self) -> None:
        store = MemoryStore(ManualClock())
        store.signing_keys += [new_signing_key(algorithm, store.clock.now() - DAY) for algorithm in ("ES256", "RS256")]
        ring = await start(store, "ES256")
        assert sorted(await states_of(store)) == [("ES256", KeyState.CURRENT), ("RS256", KeyState.RETIRED)]
        assert (await ring.find_current()).algorithm == "ES256"
        assert len(await ring.list_keys()) == 2

    async def test_leaves_a_planned_rotation_of_the_same_algorithm_as_it_is(self) -> None:
        identity = await new_identity()
        for ahead in (1000.0, 500.0):  # the second replaces the first
            await rotate_keys(identity.store, identity.clock, ahead=ahead)
        planned = list(identity.store.signing_keys)
        await start(identity.store, "ES256")
        assert identity.store.signing_keys == planned


class TestGatewaysWithDifferentSettings:
    @pytest.mark.parametrize("last", ["ES256", "RS256"])
    async def test_that_start_in_turns_add_no_key_and_the_last_one_decides(self, last: str) -> None:
        store = MemoryStore(ManualClock())
        await change_algorithm(store, store.clock, "ES256")
        store.clock.advance(DAY)
        for algorithm in ["RS256", "ES256"] * 5 + [last]:
            await change_algorithm(store, store.clock, algorithm)
            store.clock.advance(10)
            assert await current_of(store) == ["ES256"]
        assert len(store.signing_keys) == 2
        store.clock.advance(PUBLISHED_AHEAD)
        assert await current_of(store) == [last]

    async def test_add_at_most_one_key_in_the_time_of_a_change(self) -> None:
        store = MemoryStore(ManualClock())
        await change_algorithm(store, store.clock, "ES256")
        before = store.clock.now()
        for number in range(30):
            await change_algorithm(store, store.clock, ("RS256", "ES256")[number % 2])
            store.clock.advance(100)
            assert len(await current_of(store)) == 1
        assert len(store.signing_keys) <= 2 + (store.clock.now() - before) / PUBLISHED_AHEAD

    async def test_a_gateway_that_starts_during_a_change_back_ends_it(self) -> None:
        store = MemoryStore(ManualClock())
        for algorithm in ("ES256", "RS256"):
            await change_algorithm(store, store.clock, algorithm)
        store.clock.advance(PUBLISHED_AHEAD + 100)
        await change_algorithm(store, store.clock, "ES256")  # An old gateway starts again with the old setting.
        store.clock.advance(100)
        await change_algorithm(store, store.clock, "RS256")  # This gateway gets the new setting later.
        store.clock.advance(PUBLISHED_AHEAD)
        assert await current_of(store) == ["RS256"]
        assert len(store.signing_keys) == 3
