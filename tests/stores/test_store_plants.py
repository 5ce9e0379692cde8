"""Plants: the snapshot of one plant, lists, and changes."""

import asyncio
from itertools import cycle

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.events import PlantChanged
from domogate.domain.plants import ControllerDetail, Module, Plant, PlantStatus, Topology
from domogate.domain.states import LightState, Report
from domogate.ports import StoredState
from domogate.stores import SqlStore
from support.clocks import NOW
from support.stores import (
    ANNA,
    BRUNO,
    CARLA,
    HOUSE,
    HOUSE_TOPOLOGY,
    LAMP,
    LAMP_IS_ON,
    PLUG,
    SCENE,
    SMALL,
    an_id,
    level_in,
    record_changes,
)

CONTROLLER = Module(an_id(61), an_id(62), "Controller", DeviceKind.EMERGENCY_CONTROLLER, detail=ControllerDetail("R", "S", 2))


def another_plant(number: int, name: str, *modules: Module, **fields: object) -> EstatePlant:
    plant = msgspec.structs.replace(HOUSE, id=an_id(number), name=name, allowed=(), invited=(), **fields)
    return EstatePlant(plant, Topology(modules=modules))


async def plant_now(store: SqlStore) -> Plant:
    stored = await store.find_plant(HOUSE.id)
    assert stored is not None
    return stored.plant


class TestFindPlant:
    async def test_everything_of_it_comes_back(self, filled_store: SqlStore) -> None:
        stored = await filled_store.find_plant(HOUSE.id)
        assert stored is not None
        assert stored.plant == HOUSE
        assert stored.topology == HOUSE_TOPOLOGY
        assert stored.states == {LAMP.id: StoredState(LAMP_IS_ON, True, 0.0)}
        assert stored.cursor == await filled_store.newest_cursor()

    async def test_none_for_an_unknown_id(self, filled_store: SqlStore) -> None:
        assert await filled_store.find_plant(an_id(404)) is None

    async def test_no_change_up_to_its_cursor_is_missing_and_none_after_it_is_in_it(self, filled_store: SqlStore) -> None:
        levels: dict[int, int] = {}
        filled_store.listen(lambda changes: levels.update({change.cursor: level_in(change.event) for change in changes}))

        written, stop = asyncio.Event(), asyncio.Event()

        async def write() -> None:
            for level in cycle(range(101)):
                await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=True, level=level))])
                written.set()
                if stop.is_set():
                    return

        writing = asyncio.create_task(write())
        await written.wait()
        seen = []
        for _ in range(20):
            stored = await filled_store.find_plant(HOUSE.id)
            assert stored is not None
            seen.append((stored.cursor, level_in(stored.states[LAMP.id])))
        stop.set()
        await writing
        assert [level for _, level in seen] == [levels[cursor] for cursor, _ in seen]


class TestListPlantsOf:
    async def test_owner_and_allowed_users_see_it_and_the_invited_do_not(self, filled_store: SqlStore) -> None:
        cursor = await filled_store.newest_cursor()
        assert await filled_store.list_plants_of(ANNA.id) == ((HOUSE,), cursor)
        assert await filled_store.list_plants_of(BRUNO.id) == ((HOUSE,), cursor)
        assert await filled_store.list_plants_of(CARLA.id) == ((), cursor)
        assert await filled_store.list_plants_of(an_id(404)) == ((), cursor)

    async def test_it_is_ordered_by_name_then_id_and_shows_removed_plants(self, filled_store: SqlStore) -> None:
        more = (another_plant(73, "Zeta"), another_plant(72, "Alfa"), another_plant(71, "Alfa"))
        await filled_store.import_estate(Estate(plants=more), prune=False)
        await filled_store.set_plant_status(an_id(73), PlantStatus.REMOVED, NOW)
        found, _ = await filled_store.list_plants_of(ANNA.id)
        assert [plant.id for plant in found] == [an_id(71), an_id(72), HOUSE.id, an_id(73)]
        assert [plant.id for plant in found if plant.status is PlantStatus.REMOVED] == [an_id(73)]

    async def test_a_site_is_marked_or_holds_a_controller(self, filled_store: SqlStore) -> None:
        more = (
            another_plant(71, "A", emergency_lighting=True),
            another_plant(72, "B", CONTROLLER),
            another_plant(73, "C"),
        )
        await filled_store.import_estate(Estate(plants=more), prune=False)
        found, _ = await filled_store.list_plants_of(ANNA.id)
        assert [plant.name for plant in found if plant.emergency_lighting] == ["A", "B"]
        for plant in found:
            stored = await filled_store.find_plant(plant.id)
            assert stored is not None
            assert stored.plant == plant


class TestListPlantIds:
    async def test_active_plants_with_a_module_of_the_driver_in_order(self, filled_store: SqlStore) -> None:
        lamps = [msgspec.structs.replace(LAMP, id=an_id(100 + n)) for n in range(3)]
        more = tuple(another_plant(70 + n, "P", lamp) for n, lamp in enumerate(lamps))
        await filled_store.import_estate(Estate(plants=more), prune=False)
        await filled_store.set_plant_status(an_id(71), PlantStatus.REMOVED, NOW)
        assert await filled_store.list_plant_ids("simulator", 10) == (HOUSE.id, an_id(70), an_id(72))
        assert await filled_store.list_plant_ids("simulator", 2) == (HOUSE.id, an_id(70))
        assert await filled_store.list_plant_ids("mqtt", 10) == (HOUSE.id,)
        assert await filled_store.list_plant_ids("none", 10) == ()


class TestSetPlantStatus:
    async def test_removed_with_its_time_and_back(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        await filled_store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, NOW)
        plant = await plant_now(filled_store)
        assert (plant.status, plant.removed_at) == (PlantStatus.REMOVED, NOW)
        await filled_store.set_plant_status(HOUSE.id, PlantStatus.ACTIVE, NOW + 1)
        assert await plant_now(filled_store) == HOUSE
        assert recorded.events == [PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id, BRUNO.id))] * 2

    async def test_an_unknown_plant_is_refused(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        with pytest.raises(ValueError, match="no plant"):
            await filled_store.set_plant_status(an_id(404), PlantStatus.REMOVED, NOW)
        assert recorded.events == []


class TestSetModuleOptions:
    async def test_the_last_state_becomes_unconfirmed(self, filled_store: SqlStore) -> None:
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=False))])
        recorded = record_changes(filled_store)
        assert await filled_store.set_module_options(LAMP.id, {"slow": 3, "b": [1, None]})
        stored = await filled_store.find_plant(HOUSE.id)
        assert stored is not None
        module = next(each for each in stored.topology.every_module() if each.id == LAMP.id)
        assert module.options == {"slow": 3, "b": [1, None]}
        assert stored.states[LAMP.id] == StoredState(LightState(on=False), True, 0.0)
        assert recorded.events == [PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id, BRUNO.id))]

    async def test_false_for_an_unknown_module(self, filled_store: SqlStore) -> None:
        assert not await filled_store.set_module_options(an_id(404), {})


class TestOrder:
    async def test_the_declared_order_is_kept(self, filled_store: SqlStore) -> None:
        stored = await filled_store.find_plant(HOUSE.id)
        assert stored is not None
        assert [module.id for module in stored.topology.every_module()] == [PLUG.id, LAMP.id, SCENE.id]
        turned = msgspec.structs.replace(
            HOUSE_TOPOLOGY,
            floors=tuple(
                msgspec.structs.replace(
                    floor,
                    ambients=tuple(
                        msgspec.structs.replace(ambient, modules=ambient.modules[::-1]) for ambient in floor.ambients
                    ),
                )
                for floor in HOUSE_TOPOLOGY.floors
            ),
        )
        await filled_store.import_estate(msgspec.structs.replace(SMALL, plants=(EstatePlant(HOUSE, turned),)), prune=False)
        stored = await filled_store.find_plant(HOUSE.id)
        assert stored is not None
        assert stored.topology == turned
