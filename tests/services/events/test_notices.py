"""Which changes are sent to applications, and as which kinds of events."""

from typing import Any

import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.events import Change, GrantRevoked, PlantAspect, PlantChanged, StateChanged, UserChanged
from domogate.domain.notices import Notice, NoticeKind
from domogate.domain.plants import Module, Plant, Topology
from domogate.domain.states import LightState
from domogate.ports import StoredPlant
from domogate.services.events.notices import find_notice
from domogate.services.plants.read_model import PlantView
from support.clocks import NOW
from support.stores import ANNA, HOUSE, HOUSE_TOPOLOGY, LAMP, PLUG, an_id


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
    def test_other_changes_are_not_notices(self, event: Any) -> None:
        assert find_notice(Change(7, NOW, event), view_of()) is None

    def test_a_change_of_a_deleted_module_is_not_a_notice(self) -> None:
        assert find_notice(state_of(PLUG), view_of(topology=Topology())) is None
