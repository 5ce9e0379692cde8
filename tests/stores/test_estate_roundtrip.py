"""Export, then import into an empty store: the same plants, people, states and spare parts."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings

from domogate.domain.estate import Estate
from domogate.ports import StoredState
from domogate.stores import SqlStore
from support.clocks import ManualClock
from support.examples import examples
from support.stores import SMALL, OpenStore, estates


async def everything(store: SqlStore, estate: Estate) -> object:
    """Everything that can be read of an estate, except for the times of storing."""
    plants = {}
    for each in estate.plants:
        stored = await store.find_plant(each.plant.id)
        assert stored is not None
        plants[each.plant.id] = (stored.plant, stored.topology, stored.states)
    return (
        plants,
        {user.id: (await store.list_plants_of(user.id))[0] for user in estate.users},
        await store.list_users(),
        await store.list_clients(),
        await store.list_subscriptions(),
        [await store.find_spare_parts(each.unit) for each in estate.spare_parts],
    )


class TestRoundTrip:
    async def test_the_small_house_comes_back(self, filled_store: SqlStore, open_store: OpenStore) -> None:
        exported = await filled_store.export_estate()
        assert exported == SMALL
        told = await everything(filled_store, SMALL)
        await filled_store.import_estate(Estate(), prune=True)
        await filled_store.import_estate(exported, prune=False)
        assert await everything(filled_store, SMALL) == told

    @pytest.mark.slow
    @settings(max_examples=examples(3), deadline=None, suppress_health_check=list(HealthCheck))
    @given(estate=estates())
    def test_any_estate_comes_back(self, database_url: str, estate: Estate) -> None:
        asyncio.run(self._check(database_url, estate))

    @staticmethod
    async def _check(database_url: str, estate: Estate) -> None:
        store = SqlStore(database_url, clock=ManualClock(), gateway=False)
        await store.start()
        try:
            await store.import_estate(Estate(), prune=True)
            await store.import_estate(estate, prune=True)
            for each in estate.plants:
                stored = await store.find_plant(each.plant.id)
                assert stored is not None
                assert (stored.plant, stored.topology) == (each.plant, each.topology)
                assert stored.states == {
                    first.module_id: StoredState(first.state, first.reachable, 0.0) for first in each.states
                }
            told = await everything(store, estate)
            exported = await store.export_estate()
            assert sorted(exported.plants, key=lambda each: each.plant.id) == sorted(
                estate.plants, key=lambda each: each.plant.id
            )
            again = await store.import_estate(exported, prune=True)
            assert not any((*again.added.values(), *again.updated.values(), *again.removed.values()))
            await store.import_estate(Estate(), prune=True)
            await store.import_estate(exported, prune=False)
            assert await everything(store, estate) == told
        finally:
            await store.stop()
