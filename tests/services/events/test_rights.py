"""Who may be told of what: what some operation would show them, and nothing else."""

from typing import Any

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.events import Change, GrantRevoked, PlantAspect, PlantChanged, StateChanged, UserChanged
from domogate.domain.notices import Notice, NoticeKind
from domogate.domain.people import Scope
from domogate.domain.plants import Module, Plant, PlantStatus, Topology
from domogate.domain.states import LightState
from domogate.families import FAMILIES
from domogate.ports import StoredPlant
from domogate.services.events.rights import PLANT_SCOPES, READ_SCOPE, find_notice, may_see
from domogate.services.plants.read_model import PlantView
from support.stores import ANNA, BRUNO, CARLA, HOUSE, HOUSE_TOPOLOGY, LAMP, NOW, PLUG, an_id

EVERY_SCOPE = frozenset(Scope)


def view_of(plant: Plant = HOUSE, topology: Topology = HOUSE_TOPOLOGY) -> PlantView:
    return PlantView(StoredPlant(plant, topology, {}, 1))


def state_of(module: Module, **more: Any) -> Change:
    event = StateChanged(
        plant_id=HOUSE.id, module_id=module.id, **{"state": LightState(on=True), "reachable": True, "at": NOW, **more}
    )
    return Change(7, NOW, event)


def notice_of(change: Change, plant: PlantView) -> Notice:
    notice = find_notice(change, plant)
    assert notice is not None
    return notice


class TestScopes:
    def test_are_those_of_the_operations_that_read_such_a_module(self) -> None:
        """By hand from the contract: E2, E4, E8, E12 name one module; E16 and E18 list all of a plant's."""
        reading = {
            kind: operation.scopes
            for family in FAMILIES
            for operation in family.operations
            if operation.method == "GET" and operation.id in ("E2", "E4", "E8", "E12")
            for kind in operation.kinds
        }
        by_id = {operation.id: operation for family in FAMILIES for operation in family.operations}
        reading[DeviceKind.MULTISOCKET] = by_id["E16"].scopes
        reading[DeviceKind.EMERGENCY_CONTROLLER] = reading[DeviceKind.EMERGENCY_UNIT] = by_id["E18"].scopes
        assert {kind: (scope,) for kind, scope in READ_SCOPE.items()} == reading

    def test_of_plants_are_those_of_the_operations_that_list_them(self) -> None:
        listing = {
            scope
            for family in FAMILIES
            for operation in family.operations
            if operation.method == "GET" and operation.path == "plants"
            for scope in operation.scopes
        }
        assert listing == PLANT_SCOPES

    @pytest.mark.parametrize("kind", list(DeviceKind))
    def test_no_other_than_its_own_lets_anybody_hear_of_a_module(self, kind: DeviceKind) -> None:
        module = Module(an_id(90), an_id(91), "One", kind)
        plant = view_of(topology=Topology(modules=(module,)))
        notice = find_notice(state_of(module), plant)
        if kind not in READ_SCOPE:
            assert notice is None
            return
        assert notice is not None
        assert may_see(ANNA.id, {READ_SCOPE[kind]}, plant, notice)
        assert not may_see(ANNA.id, EVERY_SCOPE - {READ_SCOPE[kind]}, plant, notice)

    def test_sites_are_heard_of_by_safety_as_well(self) -> None:
        changed = Change(7, NOW, PlantChanged(plant_id=HOUSE.id, user_ids=()))
        house, site = view_of(), view_of(msgspec.structs.replace(HOUSE, emergency_lighting=True))
        assert not may_see(ANNA.id, {Scope.SAFETY_READ}, house, notice_of(changed, house))
        assert may_see(ANNA.id, {Scope.SAFETY_READ}, site, notice_of(changed, site))
        assert not may_see(ANNA.id, {Scope.LIGHT_READ}, site, notice_of(changed, site))


class TestPeople:
    def test_owner_and_allowed_hear_and_nobody_else(self) -> None:
        plant = view_of()
        notice = notice_of(state_of(LAMP), plant)
        assert may_see(ANNA.id, EVERY_SCOPE, plant, notice)
        assert may_see(BRUNO.id, EVERY_SCOPE, plant, notice)
        assert not may_see(CARLA.id, EVERY_SCOPE, plant, notice)

    def test_of_a_removed_plant_nobody_hears(self) -> None:
        plant = view_of(msgspec.structs.replace(HOUSE, status=PlantStatus.REMOVED))
        assert not may_see(ANNA.id, EVERY_SCOPE, plant, notice_of(state_of(LAMP), plant))


class TestNotices:
    def test_a_module_that_turned_up_is_told_to_those_who_want_states_too(self) -> None:
        assert notice_of(state_of(LAMP), view_of()).kinds == (NoticeKind.STATE,)
        assert notice_of(state_of(LAMP, turned=True), view_of()).kinds == (NoticeKind.REACHABILITY, NoticeKind.STATE)

    def test_emergency_lights_are_safety(self) -> None:
        unit = Module(an_id(90), an_id(91), "Exit", DeviceKind.EMERGENCY_UNIT)
        plant = view_of(topology=Topology(modules=(unit,)))
        assert notice_of(state_of(unit, turned=True), plant).kinds == (NoticeKind.REACHABILITY, NoticeKind.SAFETY)

    @pytest.mark.parametrize(
        ("aspect", "kinds"), [(PlantAspect.FACTS, (NoticeKind.PLANT,)), (PlantAspect.PEOPLE, (NoticeKind.PEOPLE,))]
    )
    def test_of_plants_tell_people_from_facts(self, aspect: PlantAspect, kinds: tuple[NoticeKind, ...]) -> None:
        change = Change(7, NOW, PlantChanged(plant_id=HOUSE.id, user_ids=(), aspect=aspect))
        assert notice_of(change, view_of()).kinds == kinds

    @pytest.mark.parametrize(
        "event",
        [
            PlantChanged(plant_id=HOUSE.id, user_ids=(), aspect=PlantAspect.FAULTS),
            UserChanged(user_id=ANNA.id),
            GrantRevoked(grant_id=an_id(5)),
        ],
    )
    def test_what_concerns_no_application_is_none(self, event: Any) -> None:
        assert find_notice(Change(7, NOW, event), view_of()) is None

    def test_nor_is_a_module_that_is_gone(self) -> None:
        assert find_notice(state_of(PLUG), view_of(topology=Topology())) is None
