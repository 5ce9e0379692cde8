"""Injected faults are stored with their plant, apart from the reports of drivers."""

from typing import Any

import pytest
from msgspec.structs import replace

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.events import PlantAspect, PlantChanged
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.plants import Module, Topology
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import Battery, RemoteState, Report, State
from domogate.ports import StoredPlant, StoredState
from domogate.stores import SqlStore
from support.clocks import NOW
from support.stores import ANNA, BRUNO, HOUSE, LAMP, LAMP_IS_ON, PLUG, SMALL, OpenStore, an_id, record_changes

REMOTE = Module(an_id(80), an_id(81), "Remote", DeviceKind.REMOTE)
HUT = replace(HOUSE, id=an_id(70), internal_id=an_id(71), name="Hut", allowed=(), invited=())
FULL, EMPTY = RemoteState(battery=Battery.FULL, firmware=3), RemoteState(battery=Battery.VERY_LOW, firmware=3)
WITH_HUT = replace(SMALL, plants=(*SMALL.plants, EstatePlant(HUT, Topology(modules=(REMOTE,)), (FirstState(REMOTE.id, FULL),))))
OFFLINE = Injection(InjectedFault.OFFLINE, LAMP.id)
TERMS = Injection(InjectedFault.TERMS, until=NOW + 60)
LOW = Injection(InjectedFault.BATTERY, REMOTE.id, "very_low")


@pytest.fixture
async def estate(store: SqlStore) -> SqlStore:
    await store.import_estate(WITH_HUT, prune=False)
    return store


async def plant_in(store: SqlStore, plant_id: Id) -> StoredPlant:
    stored = await store.find_plant(plant_id)
    assert stored is not None
    return stored


async def report(store: SqlStore, state: State, at: float = NOW) -> None:
    await store.record([Report(HUT.id, REMOTE.id, at, state)])


class TestInjecting:
    async def test_they_are_part_of_the_plant_until_cleared(self, estate: SqlStore) -> None:
        assert await estate.inject(HOUSE.id, [OFFLINE, TERMS])
        assert (await plant_in(estate, HOUSE.id)).injections == (OFFLINE, TERMS)
        assert (await plant_in(estate, HUT.id)).injections == ()
        assert await estate.list_injections() == [(HOUSE.id, OFFLINE), (HOUSE.id, TERMS)]

    async def test_everybody_in_the_plant_may_see_something_else_then(self, estate: SqlStore) -> None:
        recorded = record_changes(estate)
        await estate.inject(HOUSE.id, [OFFLINE, TERMS])
        await estate.clear_injections(HOUSE.id)
        assert recorded.events == [PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id, BRUNO.id), aspect=PlantAspect.FAULTS)] * 2

    async def test_the_same_fault_again_replaces_it(self, estate: SqlStore) -> None:
        await estate.inject(HOUSE.id, [OFFLINE, TERMS])
        sooner, later = replace(TERMS, until=None), replace(OFFLINE, until=NOW + 9)
        await estate.inject(HOUSE.id, [TERMS, sooner])
        await estate.inject(HOUSE.id, [later])
        assert set((await plant_in(estate, HOUSE.id)).injections) == {sooner, later}

    async def test_a_plant_and_each_of_its_modules_have_their_own(self, estate: SqlStore) -> None:
        several = [OFFLINE, replace(OFFLINE, module_id=None), replace(OFFLINE, module_id=PLUG.id)]
        await estate.inject(HOUSE.id, several)
        assert (await plant_in(estate, HOUSE.id)).injections == tuple(several)

    async def test_no_such_plant_or_module_in_it_is_false_and_changes_nothing(self, estate: SqlStore) -> None:
        recorded = record_changes(estate)
        assert not await estate.inject(an_id(404), [TERMS])
        assert not await estate.inject(HOUSE.id, [TERMS, replace(OFFLINE, module_id=an_id(404))])
        assert not await estate.inject(HOUSE.id, [replace(OFFLINE, module_id=REMOTE.id)])
        assert await estate.list_injections() == []
        assert recorded.events == []


class TestClearing:
    @pytest.fixture
    async def troubled(self, estate: SqlStore) -> SqlStore:
        await estate.inject(HOUSE.id, [OFFLINE, TERMS, replace(OFFLINE, module_id=PLUG.id, until=NOW + 10)])
        await estate.inject(HUT.id, [LOW, replace(TERMS, until=NOW + 10)])
        return estate

    @pytest.mark.parametrize(
        ("matching", "gone"),
        [
            ({"plant_id": HOUSE.id}, 3),
            ({"plant_id": None}, 5),
            ({"plant_id": HOUSE.id, "module_id": LAMP.id}, 1),
            ({"plant_id": HUT.id, "module_id": LAMP.id}, 0),
            ({"plant_id": None, "module_id": PLUG.id}, 1),
            ({"plant_id": HOUSE.id, "fault": InjectedFault.OFFLINE}, 2),
            ({"plant_id": None, "fault": InjectedFault.TERMS}, 2),
            ({"plant_id": None, "ended_by": NOW + 10}, 2),
            ({"plant_id": None, "ended_by": NOW + 9.9}, 0),
            ({"plant_id": HUT.id, "ended_by": NOW + 99}, 1),
        ],
    )
    async def test_those_go_that_match_all_that_is_given(self, troubled: SqlStore, matching: dict[str, Any], gone: int) -> None:
        recorded = record_changes(troubled)
        assert await troubled.clear_injections(**matching) == gone
        assert len(await troubled.list_injections()) == 5 - gone
        assert bool(recorded.events) == bool(gone)
        assert await troubled.clear_injections(**matching) == 0


class TestCovering:
    async def test_the_state_before_is_kept_and_given_back_unconfirmed(self, estate: SqlStore) -> None:
        await report(estate, FULL)
        await estate.inject(HUT.id, [LOW])
        assert (await plant_in(estate, HUT.id)).injections == (replace(LOW, covers=FULL),)
        await report(estate, EMPTY)
        await estate.clear_injections(HUT.id)
        assert (await plant_in(estate, HUT.id)).states == {REMOTE.id: StoredState(FULL, True, 0.0)}

    async def test_injecting_again_still_knows_the_modules_own_state(self, estate: SqlStore) -> None:
        await estate.inject(HUT.id, [LOW])
        await report(estate, EMPTY)
        await estate.inject(HUT.id, [replace(LOW, value="low", covers=EMPTY)])
        assert (await plant_in(estate, HUT.id)).injections == (replace(LOW, value="low", covers=FULL),)

    async def test_what_another_fault_covers_is_given_back_with_the_last(self, estate: SqlStore) -> None:
        failing = replace(LOW, fault=InjectedFault.FAILURE)
        await estate.inject(HUT.id, [LOW])
        await report(estate, EMPTY)
        await estate.inject(HUT.id, [failing])
        await estate.clear_injections(HUT.id, fault=InjectedFault.BATTERY)
        assert (await plant_in(estate, HUT.id)).states == {REMOTE.id: StoredState(EMPTY, True, NOW)}
        await estate.clear_injections(HUT.id)
        assert (await plant_in(estate, HUT.id)).states == {REMOTE.id: StoredState(FULL, True, 0.0)}

    async def test_other_faults_and_modules_without_a_state_cover_nothing(self, estate: SqlStore) -> None:
        battery = Injection(InjectedFault.BATTERY, PLUG.id, "low")
        await estate.inject(HOUSE.id, [OFFLINE, battery])
        assert (await plant_in(estate, HOUSE.id)).injections == (OFFLINE, battery)


class TestEstates:
    async def test_an_exported_estate_knows_nothing_of_them(self, estate: SqlStore) -> None:
        exported = await estate.export_estate()
        await estate.inject(HUT.id, [LOW])
        await estate.inject(HOUSE.id, [OFFLINE])
        await report(estate, EMPTY)
        absence = Absence(AbsenceReason.INJECTED, NOW)
        await estate.record([Report(HOUSE.id, LAMP.id, NOW, LAMP_IS_ON, reachable=False, absence=absence)])
        assert await estate.export_estate() == exported

    async def test_importing_leaves_them_and_takes_those_of_what_is_gone(self, estate: SqlStore) -> None:
        await estate.inject(HUT.id, [LOW])
        await estate.inject(HOUSE.id, [OFFLINE])
        await estate.import_estate(WITH_HUT, prune=True)
        assert len(await estate.list_injections()) == 2
        await estate.import_estate(SMALL, prune=True)
        assert await estate.list_injections() == [(HOUSE.id, OFFLINE)]

    async def test_one_goes_where_its_module_goes(self, estate: SqlStore) -> None:
        await estate.inject(HUT.id, [LOW])
        filled_store, hut = WITH_HUT.plants
        moved = (
            replace(filled_store, topology=replace(filled_store.topology, modules=(*filled_store.topology.modules, REMOTE))),
            EstatePlant(hut.plant, Topology()),
        )
        await estate.import_estate(replace(WITH_HUT, plants=moved), prune=True)
        assert await estate.list_injections() == [(HOUSE.id, replace(LOW, covers=FULL))]

    async def test_a_module_that_became_another_kind_is_rid_of_them(self, estate: SqlStore) -> None:
        await estate.inject(HUT.id, [LOW])
        gateway = EstatePlant(HUT, Topology(modules=(replace(REMOTE, kind=DeviceKind.GATEWAY),)))
        await estate.import_estate(Estate(plants=(gateway,)), prune=False)
        assert await estate.list_injections() == []

    async def test_another_process_sees_them(self, open_store: OpenStore, database_url: str) -> None:
        one, other = await open_store(database_url), await open_store(database_url)
        await one.import_estate(WITH_HUT, prune=False)
        await one.inject(HUT.id, [LOW])
        assert (await plant_in(other, HUT.id)).injections == (replace(LOW, covers=FULL),)
