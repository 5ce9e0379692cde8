"""The part of a plant that a person may see: exactly the data that an operation of a family shows to this person."""

from math import inf

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.events import PlantChanged, StateChanged
from domogate.domain.faults import NoSuchPlant, NotYourPlant, PasswordToRenew, TermsToAccept
from domogate.domain.ids import Id
from domogate.domain.limits import Limits
from domogate.domain.notices import Notice, NoticeKind
from domogate.domain.people import HOME_SCOPE, Scope, Standing, User
from domogate.domain.plants import Member, Module, Plant, PlantStatus, Topology
from domogate.families import FAMILIES
from domogate.ports import StoredPlant
from domogate.services.plants.read_model import PlantView
from domogate.services.rights.access import (
    PLANT_SCOPES,
    READ_SCOPE,
    Access,
    check_standing,
    get_access,
    list_own_plants,
    may_invite,
    may_manage,
    may_remove,
)
from domogate.services.rights.grants import GrantHolder
from support.clocks import NOW
from support.stores import ANNA, BRUNO, CARLA, HOUSE, HOUSE_TOPOLOGY, LAMP, PLUG, an_id

EVERY_SCOPE = frozenset[str](Scope)


def view_of(plant: Plant = HOUSE, topology: Topology = HOUSE_TOPOLOGY) -> PlantView:
    return PlantView(StoredPlant(plant, topology, {}, 1))


def with_limits(limits: Limits) -> Plant:
    """The house with Bruno as a guest."""
    return msgspec.structs.replace(HOUSE, allowed=(Member(BRUNO.id, BRUNO.email, limits),))


def access_of(user: User, plant: PlantView | None, scopes: frozenset[str] = EVERY_SCOPE, now: float = NOW) -> Access:
    return get_access(GrantHolder(user.id, scopes, Standing.GOOD), HOUSE.id, plant, now)


class TestPlantsOfAGrant:
    """The person chose some plants for the application (Decision 0079)."""

    def test_a_plant_that_was_not_chosen_is_like_a_plant_of_other_people(self) -> None:
        said = []
        for user, plants in ((ANNA, frozenset({an_id(80)})), (ANNA, frozenset[Id]()), (CARLA, None)):
            with pytest.raises(NotYourPlant) as refused:
                get_access(GrantHolder(user.id, EVERY_SCOPE, Standing.GOOD, plants), HOUSE.id, view_of(), NOW)
            said.append(refused.value.message)
        assert len(set(said)) == 1

    def test_a_chosen_plant_is_seen_as_without_a_choice(self) -> None:
        plant = view_of()
        chosen = GrantHolder(ANNA.id, EVERY_SCOPE, Standing.GOOD, frozenset({HOUSE.id}))
        assert get_access(chosen, HOUSE.id, plant, NOW) == access_of(ANNA, plant)

    def test_a_choice_does_not_give_rights(self) -> None:
        chosen = GrantHolder(CARLA.id, EVERY_SCOPE, Standing.GOOD, frozenset({HOUSE.id}))
        with pytest.raises(NotYourPlant):
            get_access(chosen, HOUSE.id, view_of(), NOW)

    def test_a_removed_plant_that_was_not_chosen_is_still_no_plant(self) -> None:
        removed = view_of(msgspec.structs.replace(HOUSE, status=PlantStatus.REMOVED))
        with pytest.raises(NoSuchPlant):
            get_access(GrantHolder(ANNA.id, EVERY_SCOPE, Standing.GOOD, frozenset()), HOUSE.id, removed, NOW)

    def test_lists_have_only_chosen_plants_and_differ_in_their_key(self) -> None:
        other = msgspec.structs.replace(HOUSE, id=an_id(80))
        lists = [list_own_plants([HOUSE, other], ANNA.id, plants, NOW) for plants in (None, frozenset({other.id}), frozenset())]
        assert [[plant.id for plant in one.plants] for one in lists] == [[HOUSE.id, other.id], [other.id], []]
        assert len({one.left_out for one in lists}) == 3


class TestScopes:
    def test_are_those_of_the_operations_that_read_such_a_module(self) -> None:
        """Written by hand from the contract: E2, E4, E8 and E12 name one module; E16 and E18 list all modules of a plant."""
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
        assert listing | {HOME_SCOPE} == PLANT_SCOPES

    @pytest.mark.parametrize("kind", list(DeviceKind))
    def test_a_module_is_shown_by_its_own_scope_only(self, kind: DeviceKind) -> None:
        module = Module(an_id(90), an_id(91), "One", kind)
        plant = view_of(topology=Topology(modules=(module,)))
        if kind not in READ_SCOPE:
            assert not access_of(ANNA, plant).may_see(module.id)
            assert access_of(ANNA, plant, frozenset({HOME_SCOPE})).may_see(module.id)
            return
        own = frozenset({READ_SCOPE[kind]})
        assert access_of(ANNA, plant, own).may_see(module.id)
        assert not access_of(ANNA, plant, EVERY_SCOPE - own).may_see(module.id)

    def test_a_module_of_another_plant_is_not_shown(self) -> None:
        assert not access_of(ANNA, view_of(topology=Topology(modules=(LAMP,)))).may_see(PLUG.id)

    def test_the_facts_of_a_site_are_shown_by_safety_as_well(self) -> None:
        house, site = view_of(), view_of(msgspec.structs.replace(HOUSE, emergency_lighting=True))
        safety, light = frozenset({Scope.SAFETY_READ}), frozenset({Scope.LIGHT_READ})
        assert not access_of(ANNA, house, safety).may_see(None)
        assert access_of(ANNA, site, safety).may_see(None)
        assert not access_of(ANNA, site, light).may_see(None)


class TestPeople:
    def test_owner_and_allowed_users_have_rights_and_nobody_else(self) -> None:
        plant = view_of()
        assert access_of(ANNA, plant).plant is plant
        assert access_of(BRUNO, plant).until == inf
        with pytest.raises(NotYourPlant):
            access_of(CARLA, plant)

    @pytest.mark.parametrize("user", [ANNA, CARLA])
    def test_a_plant_that_does_not_exist_is_reported_before_missing_rights(self, user: User) -> None:
        removed = view_of(msgspec.structs.replace(HOUSE, status=PlantStatus.REMOVED))
        for plant in (None, removed):
            with pytest.raises(NoSuchPlant):
                access_of(user, plant)

    def test_rights_end_when_their_time_has_passed(self) -> None:
        plant = view_of(with_limits(Limits(valid_until=NOW + 10)))
        assert access_of(BRUNO, plant, now=NOW + 9).until == NOW + 10
        with pytest.raises(NotYourPlant):
            access_of(BRUNO, plant, now=NOW + 10)

    def test_removed_plants_are_listed_only_for_as_long_as_asked(self) -> None:
        removed = msgspec.structs.replace(HOUSE, id=Id(an_id(80)), status=PlantStatus.REMOVED, removed_at=NOW)
        assert list_own_plants([HOUSE, removed], ANNA.id, None, NOW).plants == [HOUSE]
        assert list_own_plants([HOUSE, removed], ANNA.id, None, NOW, removed_since=NOW).plants == [HOUSE, removed]
        assert list_own_plants([HOUSE, removed], ANNA.id, None, NOW, removed_since=NOW + 1).plants == [HOUSE]
        undated = msgspec.structs.replace(removed, removed_at=None)
        assert list_own_plants([undated], ANNA.id, None, NOW, removed_since=0.5).plants == []

    @pytest.mark.parametrize(
        ("standing", "fault"),
        [
            (Standing.PASSWORD_EXPIRED, PasswordToRenew),
            (Standing.TERMS_EXPIRED, TermsToAccept),
            (Standing.BOTH_EXPIRED, PasswordToRenew),
        ],
    )
    def test_the_password_is_asked_for_before_the_terms(self, standing: Standing, fault: type[Exception]) -> None:
        check_standing(Standing.GOOD)
        with pytest.raises(fault):
            check_standing(standing)

    def test_only_active_operators_manage_and_only_they_and_the_owner_remove(self) -> None:
        operator = msgspec.structs.replace(CARLA, operator=True, password_hash="hash")
        invited = msgspec.structs.replace(operator, password_hash=None)
        assert [may_manage(user) for user in (operator, invited, ANNA, None)] == [True, False, False, False]
        assert [may_remove(user, HOUSE) for user in (operator, invited, ANNA, BRUNO, None)] == [True, False, True, False, False]

    def test_only_the_active_owner_invites_and_only_to_an_active_plant(self) -> None:
        operator = msgspec.structs.replace(CARLA, operator=True, password_hash="hash")
        inactive = msgspec.structs.replace(ANNA, password_hash=None)
        users = (ANNA, inactive, BRUNO, operator, None)
        assert [may_invite(user, HOUSE) for user in users] == [True, False, False, False, False]
        assert not may_invite(ANNA, msgspec.structs.replace(HOUSE, status=PlantStatus.REMOVED))


class TestEvents:
    def access(self, *, joined: int = 0, limits: Limits | None = None, scopes: frozenset[str] = EVERY_SCOPE) -> Access:
        plant = with_limits(limits) if limits else HOUSE
        stored = StoredPlant(plant, HOUSE_TOPOLOGY, {}, 1, joined={BRUNO.id: joined} if joined else {})
        return access_of(BRUNO, PlantView(stored), scopes)

    def notice(self, cursor: int = 5, at: float = NOW, module_id: Id | None = LAMP.id) -> Notice:
        if module_id is None:
            return Notice(cursor, at, PlantChanged(plant_id=HOUSE.id, user_ids=()), (NoticeKind.PLANT,))
        changed = StateChanged(plant_id=HOUSE.id, module_id=module_id, state=None, reachable=True, at=at)
        return Notice(cursor, at, changed, (NoticeKind.STATE,))

    def test_from_before_the_membership_are_not_sent(self) -> None:
        access = self.access(joined=5)
        assert (access.joined, access.begun, access.until) == (5, 0.0, inf)
        assert [access.may_get(self.notice(cursor)) for cursor in (4, 5, 6)] == [False, False, True]
        assert self.access().may_get(self.notice(1))

    def test_from_before_the_period_of_a_guest_are_not_sent(self) -> None:
        access = self.access(joined=2, limits=Limits(valid_from=NOW - 10, valid_until=NOW + 10))
        assert (access.joined, access.begun, access.until) == (2, NOW - 10, NOW + 10)
        assert [access.may_get(self.notice(at=at)) for at in (NOW - 10.5, NOW - 10, NOW)] == [False, True, True]

    def test_of_a_guest_without_a_begin_are_sent_from_any_time(self) -> None:
        access = self.access(limits=Limits(valid_until=NOW + 10))
        assert access.begun == 0.0
        assert access.may_get(self.notice(at=0.0))

    def test_that_the_scopes_do_not_show_are_not_sent(self) -> None:
        access = self.access(scopes=frozenset({Scope.PLUG_READ}))
        assert not access.may_get(self.notice())
        assert access.may_get(self.notice(module_id=PLUG.id))
        assert not access.may_get(self.notice(module_id=None))
        assert not access.may_get(self.notice(module_id=an_id(404)))

    def test_about_people_are_sent_to_a_guest_only_if_they_are_about_the_guest(self) -> None:
        guest, member = self.access(limits=Limits(valid_until=NOW + 10)), self.access()
        assert (guest.guest_id, member.guest_id) == (BRUNO.id, None)
        for people, is_sent in (((BRUNO.id,), True), ((CARLA.id, BRUNO.id), True), ((CARLA.id,), False), ((), False)):
            changed = PlantChanged(plant_id=HOUSE.id, user_ids=(), members=people)
            notice = Notice(5, NOW, changed, (NoticeKind.PEOPLE,))
            assert (guest.may_get(notice), member.may_get(notice)) == (is_sent, True)
        assert guest.may_get(self.notice(module_id=None))
