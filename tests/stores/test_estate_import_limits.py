"""An import removes only what it may, changes all or nothing, and keeps the people of plants."""

import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, FirstState
from domogate.domain.events import (
    GrantRevoked,
    SparePartsChanged,
)
from domogate.domain.people import User
from domogate.domain.plants import Ambient, Invitation, Member, Module, Topology, UnitDetail
from domogate.domain.safety import SpareParts
from domogate.domain.states import LightState, PlugState, Reading, Report, Unit
from domogate.stores import SqlStore
from domogate.stores.cursors import MOST_EVENTS
from domogate.stores.opening import find_sqlite_file
from support.clocks import NOW
from support.examples import is_long
from support.house_estate import SMALL_COUNTS, SMALL_EVENTS, ZERO, change, house_in, with_house
from support.stores import (
    ANNA,
    BATTERY,
    BRUNO,
    CARLA,
    GRANT,
    GROUND,
    HALL,
    HOUSE,
    HOUSE_TOPOLOGY,
    KITCHEN,
    LAMP,
    LAMP_IS_ON,
    PLUG,
    SCENE,
    SMALL,
    an_id,
    record_changes,
)


class TestPrune:
    async def test_without_it_nothing_goes(self, filled_store: SqlStore) -> None:
        before = await filled_store.export_estate()
        summary = await filled_store.import_estate(Estate(), prune=False)
        assert summary.removed == ZERO
        assert await filled_store.export_estate() == before

    async def test_with_it_everything_that_is_not_in_the_estate_goes(self, filled_store: SqlStore) -> None:
        await filled_store.add_grant(GRANT)
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=True))])
        recorded = record_changes(filled_store)
        summary = await filled_store.import_estate(Estate(), prune=True)
        assert summary.removed == SMALL_COUNTS
        assert await filled_store.export_estate() == Estate()
        assert set(recorded.events) == {GrantRevoked(grant_id=GRANT.id), *SMALL_EVENTS}

    async def test_rooms_modules_and_people_that_are_gone_from_a_plant_go(self, filled_store: SqlStore) -> None:
        smaller = with_house(change(HOUSE, allowed=(), invited=()), Topology(ambients=(change(HALL, modules=(LAMP,)),)))
        summary = await filled_store.import_estate(smaller, prune=True)
        assert summary.removed == {**ZERO, "floors": 1, "ambients": 1, "modules": 2}
        stored = await house_in(filled_store)
        assert stored.topology == smaller.plants[0].topology
        assert (stored.plant.allowed, stored.plant.invited) == ((), ())
        assert (await filled_store.list_plants_of(BRUNO.id))[0] == ()

    async def test_an_email_may_pass_from_a_pruned_user_to_a_new_one(self, filled_store: SqlStore) -> None:
        new = User(an_id(80), "Dora@example.com", password_hash="x")
        taken_over = change(CARLA, id=an_id(81), name="Another Carla")
        estate = with_house(change(HOUSE, allowed=(), invited=()))
        await filled_store.save_user(change(CARLA, email="dora@example.com"))
        await filled_store.import_estate(change(estate, users=(ANNA, new, taken_over)), prune=True)
        assert {user.email for user in await filled_store.list_users()} == {ANNA.email, "Dora@example.com", CARLA.email}


class TestSpareParts:
    async def test_a_reference_that_becomes_known_is_told(self, filled_store: SqlStore) -> None:
        unit = Module(an_id(63), an_id(64), "Unit", DeviceKind.EMERGENCY_UNIT, detail=UnitDetail("0633"))
        recorded = record_changes(filled_store)
        await filled_store.import_estate(with_house(HOUSE, change(HOUSE_TOPOLOGY, modules=(SCENE, unit))), prune=False)
        assert SparePartsChanged(unit="0633") in recorded.events
        await filled_store.import_estate(change(SMALL, spare_parts=(SpareParts(BATTERY.unit),)), prune=True)
        assert recorded.events[-2:] == [SparePartsChanged(unit=BATTERY.unit), SparePartsChanged(unit="0633")]
        assert await filled_store.find_spare_parts(BATTERY.unit) == SpareParts(BATTERY.unit)
        assert await filled_store.find_spare_parts("0633") is None


def broken_estates() -> dict[str, Estate]:
    stranger = Member(an_id(404), "stranger@example.com")
    return {
        "two users": change(SMALL, users=(ANNA, BRUNO, change(CARLA, email="ANNA@EXAMPLE.com"))),
        "two modules": with_house(HOUSE, change(HOUSE_TOPOLOGY, modules=(SCENE, LAMP))),
        "two plants": change(SMALL, plants=SMALL.plants * 2),
        "there is no user stranger": with_house(change(HOUSE, owner=stranger)),
        "no user stranger@example.com": with_house(change(HOUSE, allowed=(stranger,))),
        "which is not in it": with_house(HOUSE, HOUSE_TOPOLOGY, FirstState(an_id(404), LAMP_IS_ON)),
    }


class TestAllOrNothing:
    @pytest.mark.parametrize("complaint", broken_estates())
    async def test_a_broken_estate_changes_nothing(self, filled_store: SqlStore, complaint: str) -> None:
        before = await filled_store.export_estate()
        recorded = record_changes(filled_store)
        new = User(an_id(80), "new@example.com")
        broken = broken_estates()[complaint]
        with pytest.raises(ValueError, match=complaint):
            await filled_store.import_estate(change(broken, users=(*broken.users, new)), prune=True)
        assert await filled_store.export_estate() == before
        assert recorded.events == []

    async def test_pruning_an_owner_without_the_plant_is_refused(self, filled_store: SqlStore) -> None:
        with pytest.raises(ValueError, match="no user Anna"):
            await filled_store.import_estate(change(SMALL, users=(BRUNO, CARLA)), prune=True)


class TestPeopleOfPlants:
    async def test_an_invited_person_whom_the_file_makes_a_member_is_not_invited_any_more(self, filled_store: SqlStore) -> None:
        member = Member(CARLA.id, CARLA.email)
        await filled_store.import_estate(with_house(change(HOUSE, allowed=(member,), invited=())), prune=False)
        plant = (await house_in(filled_store)).plant
        assert (plant.allowed, plant.invited) == ((member, *HOUSE.allowed), ())

    async def test_without_pruning_nobody_else_loses_access(self, filled_store: SqlStore) -> None:
        await filled_store.withdraw_user(HOUSE.id, BRUNO.id)
        await filled_store.allow_user(HOUSE.id, CARLA.id)
        await filled_store.invite(HOUSE.id, "dora@example.com")
        await filled_store.import_estate(with_house(change(HOUSE, invited=(Invitation("Emil@example.com"),))), prune=False)
        plant = (await house_in(filled_store)).plant
        assert [member.user_id for member in plant.allowed] == [BRUNO.id, CARLA.id]
        assert plant.invited == (Invitation("Emil@example.com"), Invitation("dora@example.com"))

    async def test_a_user_imported_as_active_takes_up_invitations_of_plants_outside_the_estate(
        self, filled_store: SqlStore
    ) -> None:
        await filled_store.import_estate(Estate(users=(change(CARLA, password_hash="set"),)), prune=False)
        assert (await filled_store.list_plants_of(CARLA.id))[0] != ()

    async def test_a_room_of_another_plant_keeps_its_modules_when_only_it_is_named(self, filled_store: SqlStore) -> None:
        renamed = Ambient(KITCHEN.id, KITCHEN.internal_id, "Cuisine", "kitchen")
        topology = Topology(floors=(change(GROUND, ambients=(renamed,)),))
        await filled_store.import_estate(with_house(HOUSE, topology), prune=False)
        stored = (await house_in(filled_store)).topology
        assert stored.floors[0].ambients[0] == change(renamed, modules=(PLUG, LAMP))


class TestAModuleThatIsNoLongerSimulated:
    async def test_loses_its_invented_state_and_readings(self, store: SqlStore) -> None:
        await store.import_estate(SMALL, prune=False)
        power = Reading(60.0, Unit.WATT, NOW)
        for module, state in ((LAMP, LAMP_IS_ON), (PLUG, PlugState(on=True))):
            await store.record([Report(HOUSE.id, module.id, NOW, state, readings=(("power", power),))])
        room = change(KITCHEN, modules=(PLUG, change(LAMP, driver="mqtt")))
        topology = change(HOUSE_TOPOLOGY, floors=(change(GROUND, ambients=(room,)),))
        # The file is an export, with the invented state.
        await store.import_estate(with_house(HOUSE, topology, FirstState(LAMP.id, LAMP_IS_ON)), prune=False)
        stored = await store.find_plant(HOUSE.id)
        assert stored is not None
        assert stored.states.keys() == {PLUG.id}
        assert await store.list_readings(LAMP.id, 0.0, NOW + 1, 10) == []
        assert await store.list_readings(PLUG.id, 0.0, NOW + 1, 10) == [("power", power)]


class TestManyUsers:
    @pytest.mark.slow
    async def test_more_than_a_transaction_has_cursors_are_imported(self, store: SqlStore, database_url: str) -> None:
        """A transaction on SQLite has as many cursors as it needs, so only the long runs import so many users into it."""
        recorded = record_changes(store)
        many = 2_000 if find_sqlite_file(database_url) and not is_long() else MOST_EVENTS + 1
        users = tuple(User(an_id(1 << 32 | number), f"user{number}@example.com") for number in range(many))
        summary = await store.import_in_parts(Estate(users=users), [])
        assert summary.added["users"] == len(users)
        await store.save_user(ANNA)
        assert recorded.cursors == sorted(set(recorded.cursors))
        assert len(recorded.cursors) == len(users) + 1
