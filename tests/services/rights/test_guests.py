"""A guest sees the places of their limits, in their period, and nothing else of the plant."""

from math import inf

import msgspec
import pytest

from domogate.domain.commands import SceneStep, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import NotYourPlant
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.limits import Limits
from domogate.domain.people import Scope, Standing
from domogate.domain.plants import Ambient, Floor, Member, Module, Plant, SceneDetail, Topology
from domogate.ports import StoredPlant
from domogate.services.plants.read_model import PlantView
from domogate.services.rights.access import Access, get_access, list_own_plants
from domogate.services.rights.grants import GrantHolder
from domogate.services.rights.guests import view_for_guest
from support.clocks import NOW
from support.stores import ANNA, BRUNO, CARLA, HOUSE, an_id

EVERY_SCOPE = frozenset[str](Scope)


def a_module(number: int, kind: DeviceKind = DeviceKind.LIGHT) -> Module:
    return Module(an_id(number), an_id(number + 1000), f"Module {number}", kind)


def a_scene(number: int, *module_ids: Id) -> Module:
    steps = tuple(SceneStep(module_id, SetLight(on=True)) for module_id in module_ids)
    return msgspec.structs.replace(a_module(number, DeviceKind.SCENE), detail=SceneDetail(steps))


LAMP, PLUG, DESK, PORCH = (a_module(number) for number in (201, 202, 203, 204))
ROOM_203 = Ambient(an_id(211), an_id(212), "203", modules=(LAMP, PLUG, a_scene(221, LAMP.id), a_scene(222, LAMP.id, DESK.id)))
ROOM_204 = Ambient(an_id(213), an_id(214), "204", modules=(DESK, a_scene(223, LAMP.id)))
UPPER = Floor(an_id(215), an_id(216), "Upper", (ROOM_203, ROOM_204))
CELLAR = Floor(an_id(217), an_id(218), "Cellar", ())
GARDEN = Ambient(an_id(219), an_id(220), "Garden", modules=(PORCH,))
COMMON = (a_scene(224, LAMP.id, PLUG.id), a_scene(225, PORCH.id), a_scene(226), a_module(205, DeviceKind.GATEWAY))
HOTEL = Topology((UPPER, CELLAR), (GARDEN,), COMMON)


def plant_with(limits: Limits | None) -> Plant:
    return msgspec.structs.replace(HOUSE, allowed=(Member(CARLA.id, CARLA.email), Member(BRUNO.id, BRUNO.email, limits)))


def hotel_with(limits: Limits | None) -> PlantView:
    return PlantView(StoredPlant(plant_with(limits), HOTEL, {}, 1))


def access_with(limits: Limits | None, now: float = NOW) -> Access:
    return get_access(GrantHolder(BRUNO.id, EVERY_SCOPE, Standing.GOOD), HOUSE.id, hotel_with(limits), now)


def shown(limits: Limits) -> tuple[list[str], list[str], set[int]]:
    """The names of the floors and ambients, and the numbers of the modules, that a guest with these limits sees."""
    view = access_with(limits).plant
    numbers = {int(module_id[-4:], 16) for module_id in view.modules}
    assert numbers == {int(module.id[-4:], 16) for module in view.topology.every_module()}
    ambients = [ambient.name for ambient in view.topology.every_ambient()]
    assert list(view.ambients) == [ambient.id for ambient in view.topology.every_ambient()]
    return [floor.name for floor in view.topology.floors], ambients, numbers


class TestPlaces:
    def test_an_ambient_comes_with_its_modules_and_the_scenes_whose_steps_are_in_it(self) -> None:
        """Also a scene in no ambient (224); not the scenes with a step outside (222, 225) or in another ambient (223)."""
        assert shown(Limits(ambients=(ROOM_203.id,))) == (["Upper"], ["203"], {201, 202, 221, 224})

    def test_a_floor_comes_with_all_its_ambients(self) -> None:
        names = ["Upper"], ["203", "204"]
        assert shown(Limits(floors=(UPPER.id,))) == (*names, {201, 202, 203, 221, 222, 223, 224})

    def test_a_module_comes_with_its_ambient_but_not_with_its_neighbours(self) -> None:
        assert shown(Limits(modules=(PLUG.id,))) == (["Upper"], ["203"], {202})

    def test_a_module_in_no_ambient_can_be_named(self) -> None:
        assert shown(Limits(modules=(an_id(205),))) == ([], [], {205})

    def test_a_named_scene_with_a_step_outside_is_not_shown(self) -> None:
        assert shown(Limits(modules=(an_id(222), an_id(226)))) == ([], [], {226})

    def test_an_empty_floor_is_shown_if_it_is_named(self) -> None:
        assert shown(Limits(floors=(CELLAR.id,))) == (["Cellar"], [], set())

    def test_several_places_add_up(self) -> None:
        limits = Limits(ambients=(GARDEN.id,), modules=(DESK.id,))
        assert shown(limits) == (["Upper"], ["204", "Garden"], {203, 204, 225})

    def test_a_place_that_does_not_exist_any_more_shows_nothing(self) -> None:
        assert shown(Limits(ambients=(an_id(404),))) == ([], [], set())

    def test_without_places_all_of_the_plant_is_shown(self) -> None:
        access = access_with(Limits(valid_until=NOW + 5))
        assert (access.plant.topology, access.until) == (HOTEL, NOW + 5)

    def test_the_scopes_still_count(self) -> None:
        plant = hotel_with(Limits(ambients=(ROOM_203.id,)))
        for scopes, seen in ((EVERY_SCOPE, True), (frozenset[str]({Scope.PLUG_READ}), False)):
            access = get_access(GrantHolder(BRUNO.id, scopes, Standing.GOOD), HOUSE.id, plant, NOW)
            assert (access.may_see(LAMP.id), access.may_see(DESK.id)) == (seen, False)


class TestViews:
    def test_share_the_states_of_the_whole_plant(self) -> None:
        whole = hotel_with(Limits(ambients=(ROOM_203.id,)))
        view = get_access(GrantHolder(BRUNO.id, EVERY_SCOPE, Standing.GOOD), HOUSE.id, whole, NOW).plant
        assert view.modules[LAMP.id] is whole.modules[LAMP.id]

    def test_name_no_other_people(self) -> None:
        view = access_with(Limits(ambients=(ROOM_203.id,))).plant
        assert (view.plant.allowed, view.plant.invited) == ((), ())

    def test_show_the_injected_faults_of_the_plant_and_of_their_own_modules(self) -> None:
        on_plant = Injection(InjectedFault.INTERNAL)
        on_lamp, on_desk = (Injection(InjectedFault.OFFLINE, module.id) for module in (LAMP, DESK))
        stored = StoredPlant(plant_with(Limits(ambients=(ROOM_203.id,))), HOTEL, {}, 1, (on_plant, on_lamp, on_desk))
        view = get_access(GrantHolder(BRUNO.id, EVERY_SCOPE, Standing.GOOD), HOUSE.id, PlantView(stored), NOW).plant
        assert view.injections == (on_plant, on_lamp)

    def test_are_dropped_when_they_weigh_more_than_twice_the_plant_and_a_hundred(self) -> None:
        modules = tuple(a_module(number) for number in range(300, 310))
        plant = PlantView(StoredPlant(HOUSE, Topology(modules=modules), {}, 1))
        empty = [Limits(modules=(an_id(number),)) for number in range(400, 550)]  # each view weighs 1
        for limits in empty:
            view_for_guest(plant, limits)
        assert list(plant.views_of_guests) == [limits.places for limits in empty[-120:]]
        view_for_guest(plant, Limits(modules=tuple(module.id for module in modules)))  # it weighs 11
        assert len(plant.views_of_guests) == 120 - 11 + 1

    def test_are_kept_for_the_next_request_but_not_without_bound(self) -> None:
        modules = tuple(a_module(number) for number in range(300, 700))
        guests = [an_id(number) for number in range(800, 1200)]
        allowed = tuple(
            Member(guest, f"{guest}@example.com", Limits(modules=tuple(module.id for module in modules[number:][:100])))
            for number, guest in enumerate(guests)
        )
        plant = PlantView(StoredPlant(msgspec.structs.replace(HOUSE, allowed=allowed), Topology(modules=modules), {}, 1))

        def see(guest: Id) -> PlantView:
            return get_access(GrantHolder(guest, EVERY_SCOPE, Standing.GOOD), HOUSE.id, plant, NOW).plant

        assert see(guests[0]) is see(guests[0])
        for guest in guests:
            see(guest)
        assert see(guests[-1]) is see(guests[-1])
        kept = sum(len(view.modules) for view in plant.views_of_guests.values())
        assert 0 < kept <= 2 * len(modules) + 100


class TestPeriod:
    LIMITS = Limits(valid_from=NOW, valid_until=NOW + 100)

    @pytest.mark.parametrize("now", [NOW - 1, NOW + 100, NOW + 101])
    def test_outside_of_it_a_guest_has_no_rights(self, now: float) -> None:
        with pytest.raises(NotYourPlant):
            access_with(self.LIMITS, now)
        assert list_own_plants([plant_with(self.LIMITS)], BRUNO.id, None, now).plants == []

    @pytest.mark.parametrize("now", [NOW, NOW + 99])
    def test_within_it_rights_last_until_its_end(self, now: float) -> None:
        assert access_with(self.LIMITS, now).until == NOW + 100
        assert list_own_plants([plant_with(self.LIMITS)], BRUNO.id, None, now).until == NOW + 100

    def test_before_it_the_list_changes_at_its_begin(self) -> None:
        assert list_own_plants([plant_with(self.LIMITS)], BRUNO.id, None, NOW - 5).until == NOW

    def test_an_open_end_lasts(self) -> None:
        assert access_with(Limits(valid_from=NOW - 5)).until == inf


class TestLists:
    def test_a_guest_sees_no_other_members_and_no_invitations(self) -> None:
        (seen,) = list_own_plants([plant_with(Limits(ambients=(ROOM_203.id,)))], BRUNO.id, None, NOW).plants
        assert ([member.user_id for member in seen.allowed], seen.invited) == ([BRUNO.id], ())

    def test_other_members_see_everybody(self) -> None:
        plant = plant_with(Limits(ambients=(ROOM_203.id,)))
        for user in (ANNA, CARLA):
            assert list_own_plants([plant], user.id, None, NOW).plants == [plant]

    def test_differ_in_their_key_when_they_differ_in_their_plants(self) -> None:
        one = plant_with(Limits(valid_until=NOW + 10))
        two = msgspec.structs.replace(plant_with(Limits(valid_from=NOW + 10)), id=an_id(80))
        before, after = (list_own_plants([one, two], BRUNO.id, None, now) for now in (NOW, NOW + 10))
        assert len(before.plants) == len(after.plants) == 1
        assert before.left_out != after.left_out
