"""The plants of the read model, if states are reported and plants change while a plant is read from the store."""

import asyncio
from collections.abc import Callable
from typing import Any

from domogate.domain.events import Change, PlantChanged, StateChanged
from domogate.domain.ids import Id
from domogate.domain.states import LightState
from domogate.ports import StoredPlant, StoredState
from domogate.services.plants.read_model import PlantView, ReadModel
from support.clocks import NOW
from support.stores import HOUSE, HOUSE_TOPOLOGY, LAMP


def reported(cursor: int, level: int) -> Change:
    state = LightState(on=True, level=level)
    return Change(cursor, NOW, StateChanged(plant_id=HOUSE.id, module_id=LAMP.id, at=NOW, state=state, reachable=True))


def plant_changed(cursor: int) -> Change:
    return Change(cursor, NOW, PlantChanged(plant_id=HOUSE.id, user_ids=()))


class SlowStore:
    """A store with one plant. `meanwhile` runs after the store has read the plant, and before the read model gets it."""

    def __init__(self, cursor: int) -> None:
        self.cursor, self.level = cursor, 0
        self.meanwhile: Callable[[], None] = lambda: None
        self.reads = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def find_plant(self, _plant_id: Id) -> StoredPlant:
        self.reads += 1
        state = StoredState(LightState(on=True, level=self.level), True, NOW)
        found = StoredPlant(HOUSE, HOUSE_TOPOLOGY, {LAMP.id: state}, self.cursor)
        self.meanwhile()
        await self.may_answer.wait()
        return found

    async def find_spare_parts(self, _unit: str) -> None: ...


def opened(store: SlowStore) -> ReadModel:
    of: Any = store
    return ReadModel(of, max_modules=100)


def level_of(plant: PlantView | None) -> int | None:
    assert plant is not None
    state = plant.modules[LAMP.id].state
    assert isinstance(state, LightState)
    return state.level


class TestStatesWhileAPlantIsRead:
    async def test_they_are_in_the_plant_and_the_plant_is_read_once(self) -> None:
        store = SlowStore(cursor=10)
        read_model = opened(store)
        store.meanwhile = lambda: read_model.apply([reported(11, 50), reported(12, 60)])
        assert level_of(await read_model.get_plant(HOUSE.id)) == 60
        assert level_of(read_model.find_plant(HOUSE.id)) == 60
        assert store.reads == 1

    async def test_a_state_that_the_store_has_read_already_does_not_come_back(self) -> None:
        store = SlowStore(cursor=12)
        store.level = 60
        read_model = opened(store)
        store.meanwhile = lambda: read_model.apply([reported(11, 50)])
        assert level_of(await read_model.get_plant(HOUSE.id)) == 60

    async def test_they_are_not_lost_if_an_earlier_change_of_the_plant_is_on_the_same_page(self) -> None:
        store = SlowStore(cursor=10)
        read_model = opened(store)
        store.meanwhile = lambda: read_model.apply([plant_changed(10), reported(11, 50)])
        assert level_of(await read_model.get_plant(HOUSE.id)) == 50
        assert level_of(read_model.find_plant(HOUSE.id)) == 50

    async def test_they_are_not_lost_if_the_plant_changes_and_is_read_again(self) -> None:
        store = SlowStore(cursor=10)
        read_model = opened(store)

        def change() -> None:
            store.meanwhile = lambda: read_model.apply([reported(13, 70)])
            store.cursor, store.level = 12, 50
            read_model.apply([reported(11, 50), plant_changed(12)])

        store.meanwhile = change
        assert level_of(await read_model.get_plant(HOUSE.id)) == 70
        assert store.reads == 2

    async def test_two_reads_of_a_plant_at_the_same_time_both_get_them(self) -> None:
        """A caller that comes during the last attempt of a read begins its own read."""
        store, attempts = SlowStore(cursor=10), 5
        read_model = opened(store)

        def change() -> None:
            if store.reads < attempts:
                read_model.apply([plant_changed(10 + store.reads)])
            else:
                store.may_answer.clear()

        store.meanwhile = change
        reading = []
        for reads in (attempts, attempts + 1):
            reading.append(asyncio.create_task(read_model.get_plant(HOUSE.id)))
            while store.reads < reads:
                await asyncio.sleep(0)
        read_model.apply([reported(20, 50)])
        store.may_answer.set()
        assert [level_of(plant) for plant in await asyncio.gather(*reading)] == [50, 50]
