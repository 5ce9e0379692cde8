"""An import adds and updates, keeps what people and devices changed, and removes only with `prune`."""

from typing import Any

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.events import (
    ClientChanged,
    GrantRevoked,
    PlantChanged,
    SparePartsChanged,
    SubscriptionChanged,
    UserChanged,
)
from domogate.domain.people import User
from domogate.domain.plants import Ambient, Invitation, Member, Module, PlantStatus, Topology, UnitDetail
from domogate.domain.safety import SpareParts
from domogate.domain.states import LightState, PlugState, Reading, Report, Unit
from domogate.ports import StoredPlant, StoredState
from domogate.stores import SqlStore
from support.clocks import NOW, ManualClock
from support.stores import (
    ANNA,
    APP,
    BATTERY,
    BRUNO,
    CARLA,
    GRANT,
    GROUND,
    HALL,
    HOUSE,
    HOUSE_TOPOLOGY,
    KEY,
    KITCHEN,
    LAMP,
    LAMP_IS_ON,
    PLUG,
    SCENE,
    SMALL,
    ChangeRecorder,
    a_code,
    a_grant,
    a_refresh_token,
    a_session,
    an_id,
)

change: Any = msgspec.structs.replace
ZERO = {"users": 0, "clients": 0, "subscriptions": 0, "plants": 0, "floors": 0, "ambients": 0, "modules": 0, "spare parts": 0}


def with_house(plant: object = HOUSE, topology: Topology = HOUSE_TOPOLOGY, *states: FirstState) -> Estate:
    estate: Estate = change(SMALL, plants=(change(SMALL.plants[0], plant=plant, topology=topology, states=states),))
    return estate


async def house_in(store: SqlStore) -> StoredPlant:
    stored = await store.find_plant(HOUSE.id)
    assert stored is not None
    return stored


class TestFirstImport:
    async def test_it_counts_what_it_added_and_tells_everybody(self, store: SqlStore) -> None:
        recorded = ChangeRecorder()
        store.listen(recorded)
        summary = await store.import_estate(SMALL, prune=False)
        added = {"users": 3, "clients": 1, "subscriptions": 1, "plants": 1, "floors": 1, "ambients": 2, "modules": 3}
        assert (summary.added, summary.updated, summary.removed) == ({**added, "spare parts": 1}, ZERO, ZERO)
        assert recorded.events == [
            UserChanged(user_id=ANNA.id),
            UserChanged(user_id=BRUNO.id),
            UserChanged(user_id=CARLA.id),
            ClientChanged(client_id=APP.id),
            SubscriptionChanged(key_hash=KEY.key_hash),
            PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id, BRUNO.id)),
            SparePartsChanged(unit=BATTERY.unit),
        ]

    async def test_an_invitation_to_an_active_user_is_a_membership(self, store: SqlStore) -> None:
        active = change(CARLA, password_hash="set")
        await store.import_estate(change(SMALL, users=(ANNA, BRUNO, active)), prune=False)
        plant = (await house_in(store)).plant
        assert plant.allowed == (Member(BRUNO.id, BRUNO.email), Member(CARLA.id, CARLA.email))
        assert plant.invited == ()

    async def test_a_plant_removed_at_no_known_time_was_removed_now(self, store: SqlStore) -> None:
        await store.import_estate(with_house(change(HOUSE, status=PlantStatus.REMOVED)), prune=False)
        assert (await house_in(store)).plant.removed_at == NOW


class TestSecondImport:
    @pytest.mark.parametrize("prune", [False, True])
    async def test_the_same_again_changes_nothing(self, filled_store: SqlStore, prune: bool) -> None:
        recorded = ChangeRecorder()
        filled_store.listen(recorded)
        before = await filled_store.export_estate()
        summary = await filled_store.import_estate(SMALL, prune=prune)
        assert (summary.added, summary.updated, summary.removed) == (ZERO, ZERO, ZERO)
        assert recorded.events == []
        assert await filled_store.export_estate() == before

    async def test_second_factors_and_operators_are_kept_unless_the_file_gives_more(self, filled_store: SqlStore) -> None:
        await filled_store.save_user(change(ANNA, operator=True, totp_secret="HERS"))
        await filled_store.import_estate(SMALL, prune=True)
        assert await filled_store.find_user(ANNA.id) == change(ANNA, operator=True, totp_secret="HERS")
        told = (change(ANNA, totp_secret="GIVEN"), change(BRUNO, operator=True), CARLA)
        await filled_store.import_estate(change(SMALL, users=told), prune=False)
        assert await filled_store.find_user(ANNA.id) == change(ANNA, operator=True, totp_secret="GIVEN")
        assert await filled_store.find_user(BRUNO.id) == change(BRUNO, operator=True)
        assert (await filled_store.export_estate()).users[0].totp_secret == "GIVEN"

    async def test_what_a_client_may_do_is_as_the_estate_says(self, filled_store: SqlStore) -> None:
        told = change(APP, pkce_exempt=True, post_logout_redirect_uris=("https://app.example/bye",))
        await filled_store.import_estate(Estate(clients=(told,)), prune=False)
        assert await filled_store.find_client(APP.id) == told
        await filled_store.import_estate(SMALL, prune=False)
        assert await filled_store.find_client(APP.id) == APP

    async def test_letting_in_outlives_an_import_and_goes_with_what_is_pruned(self, filled_store: SqlStore) -> None:
        grant = a_grant(50, BRUNO)
        await filled_store.add_code(grant, a_code(grant))
        await filled_store.redeem_code("hash of code", NOW)
        await filled_store.add_refresh_token(a_refresh_token(grant))
        await filled_store.add_session(a_session(70, BRUNO))
        await filled_store.import_estate(SMALL, prune=True)
        assert len(await filled_store.list_sessions(BRUNO.id)) == 1
        assert await filled_store.list_grants(BRUNO.id) == [grant]
        await filled_store.import_estate(Estate(), prune=True)
        assert await filled_store.find_session("hash of cookie 70") is None
        assert await filled_store.find_refresh_token("hash of first") is None
        assert await filled_store.redeem_code("hash of code", NOW) is None

    async def test_passwords_secrets_revocations_and_live_states_are_kept(
        self, filled_store: SqlStore, clock: ManualClock
    ) -> None:
        await filled_store.save_user(change(ANNA, password_hash="changed by Anna"))
        await filled_store.save_client(change(APP, secret_hash="changed by the developer"))
        await filled_store.revoke_subscription(KEY.id, NOW + 1)
        live = LightState(on=False)
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW + 1, live)])
        clock.at += 100
        renamed = change(SMALL, users=(change(ANNA, name="Anna B."), BRUNO, CARLA), clients=(change(APP, name="App 2"),))
        await filled_store.import_estate(renamed, prune=True)
        assert await filled_store.find_user(ANNA.id) == change(ANNA, name="Anna B.", password_hash="changed by Anna")
        assert await filled_store.find_client(APP.id) == change(APP, name="App 2", secret_hash="changed by the developer")
        assert await filled_store.find_subscription(KEY.key_hash) == change(KEY, revoked_at=NOW + 1)
        assert (await house_in(filled_store)).states == {LAMP.id: StoredState(live, True, NOW + 1)}

    async def test_a_first_state_fills_what_was_never_reported(self, filled_store: SqlStore) -> None:
        await filled_store.record([Report(HOUSE.id, PLUG.id, NOW, reachable=False)])
        recorded = ChangeRecorder()
        filled_store.listen(recorded)
        on = PlugState(on=True)
        given = (FirstState(LAMP.id, LightState(on=False)), FirstState(PLUG.id, on), FirstState(SCENE.id, None, False))
        await filled_store.import_estate(with_house(HOUSE, HOUSE_TOPOLOGY, *given), prune=False)
        assert (await house_in(filled_store)).states == {
            LAMP.id: StoredState(LAMP_IS_ON, True, 0.0),
            PLUG.id: StoredState(on, False, NOW),
            SCENE.id: StoredState(None, False, 0.0),
        }
        assert recorded.events == [PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id, BRUNO.id))]

    async def test_a_user_made_meanwhile_is_recognised_by_email(self, store: SqlStore) -> None:
        here_first = User(an_id(80), "ANNA@example.com", "Anna of the command line", "her password")
        await store.save_user(here_first)
        await store.import_estate(SMALL, prune=False)
        assert await store.find_user(ANNA.id) is None
        assert await store.find_user(an_id(80)) == change(ANNA, id=an_id(80), password_hash="her password")
        assert (await house_in(store)).plant.owner == Member(an_id(80), ANNA.email)

    async def test_a_key_issued_meanwhile_is_recognised_by_its_hash(self, store: SqlStore) -> None:
        await store.add_subscription(change(KEY, id=an_id(81), name="here first", created_at=5.0))
        await store.import_estate(SMALL, prune=False)
        assert await store.list_subscriptions() == [change(KEY, id=an_id(81), created_at=5.0)]

    async def test_emails_can_be_swapped(self, filled_store: SqlStore) -> None:
        swapped = (change(ANNA, email=BRUNO.email), change(BRUNO, email=ANNA.email), CARLA)
        recorded = ChangeRecorder()
        filled_store.listen(recorded)
        await filled_store.import_estate(change(SMALL, users=swapped), prune=False)
        assert await filled_store.find_user_by_email(BRUNO.email) == swapped[0]
        assert (await house_in(filled_store)).plant.owner == Member(ANNA.id, BRUNO.email)
        assert PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id, BRUNO.id)) in recorded.events

    async def test_a_changed_plant_is_updated_and_counted(self, filled_store: SqlStore) -> None:
        recorded = ChangeRecorder()
        filled_store.listen(recorded)
        renamed = change(HOUSE, name="Casa Nera", emergency_lighting=True, allowed=(Member(CARLA.id, CARLA.email),))
        summary = await filled_store.import_estate(with_house(renamed), prune=False)
        assert summary.updated == {**ZERO, "plants": 1}
        plant = (await house_in(filled_store)).plant
        assert (plant.name, plant.emergency_lighting) == ("Casa Nera", True)
        assert {member.user_id for member in plant.allowed} == {BRUNO.id, CARLA.id}
        assert recorded.events == [PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id, BRUNO.id, CARLA.id))]

    async def test_a_new_owner_replaces_the_old_one(self, filled_store: SqlStore) -> None:
        summary = await filled_store.import_estate(
            with_house(change(HOUSE, owner=Member(CARLA.id, ""), invited=())), prune=False
        )
        plant = (await house_in(filled_store)).plant
        assert plant.owner.user_id == CARLA.id
        assert [member.user_id for member in plant.allowed] == [BRUNO.id]
        assert summary.updated["plants"] == 1

    async def test_another_kind_of_device_has_lost_its_state(self, filled_store: SqlStore) -> None:
        plug_now = change(LAMP, kind=DeviceKind.PLUG)
        topology = Topology(
            (GROUND.__class__(GROUND.id, GROUND.internal_id, GROUND.name, (change(KITCHEN, modules=(PLUG, plug_now)),)),)
        )
        await filled_store.import_estate(with_house(HOUSE, topology, FirstState(LAMP.id, PlugState(on=False))), prune=False)
        assert (await house_in(filled_store)).states[LAMP.id] == StoredState(PlugState(on=False), True, 0.0)

    async def test_a_driver_told_otherwise_has_to_confirm_the_state(self, filled_store: SqlStore) -> None:
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=False))])
        slow = change(KITCHEN, modules=(PLUG, change(LAMP, options={"slow": True})))
        topology = change(HOUSE_TOPOLOGY, floors=(change(GROUND, ambients=(slow,)),))
        await filled_store.import_estate(with_house(HOUSE, topology), prune=False)
        assert (await house_in(filled_store)).states[LAMP.id] == StoredState(LightState(on=False), True, 0.0)


class TestMoves:
    async def test_a_module_moves_between_rooms_and_plants_with_its_state(self, filled_store: SqlStore) -> None:
        cabin = change(HOUSE, id=an_id(70), name="Cabin", owner=Member(BRUNO.id, BRUNO.email), allowed=(), invited=())
        estate = change(
            SMALL,
            plants=(
                EstatePlant(
                    HOUSE,
                    Topology(
                        (change(GROUND, ambients=(change(KITCHEN, modules=()),)),), (change(HALL, modules=(PLUG,)),), (SCENE,)
                    ),
                ),
                EstatePlant(cabin, Topology(modules=(LAMP,))),
            ),
        )
        recorded = ChangeRecorder()
        filled_store.listen(recorded)
        summary = await filled_store.import_estate(estate, prune=True)
        assert summary.updated["modules"] == 3
        assert (await house_in(filled_store)).topology == estate.plants[0].topology
        moved = await filled_store.find_plant(cabin.id)
        assert moved is not None
        assert moved.topology == Topology(modules=(LAMP,))
        assert moved.states == {LAMP.id: StoredState(LAMP_IS_ON, True, 0.0)}
        assert recorded.events == [
            PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id, BRUNO.id)),
            PlantChanged(plant_id=cabin.id, user_ids=(BRUNO.id,)),
        ]
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=False))])
        assert recorded.events[-1].plant_id == cabin.id  # type: ignore[union-attr]  # only those were read

    async def test_what_stands_on_a_floor_that_moves_goes_with_it(self, filled_store: SqlStore) -> None:
        cabin = change(HOUSE, id=an_id(70), name="Cabin", allowed=(), invited=())
        only_the_floor = Estate(plants=(EstatePlant(cabin, Topology(floors=(change(GROUND, ambients=()),))),))
        await filled_store.import_estate(only_the_floor, prune=False)
        moved = await filled_store.find_plant(cabin.id)
        assert moved is not None
        assert moved.topology == Topology(floors=(GROUND,))
        assert (await house_in(filled_store)).topology == Topology(ambients=(HALL,), modules=(SCENE,))


class TestPrune:
    async def test_without_it_nothing_goes(self, filled_store: SqlStore) -> None:
        before = await filled_store.export_estate()
        summary = await filled_store.import_estate(Estate(), prune=False)
        assert summary.removed == ZERO
        assert await filled_store.export_estate() == before

    async def test_with_it_everything_that_is_not_in_the_estate_goes(self, filled_store: SqlStore) -> None:
        await filled_store.add_grant(GRANT)
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=True))])
        recorded = ChangeRecorder()
        filled_store.listen(recorded)
        summary = await filled_store.import_estate(Estate(), prune=True)
        removed = {"users": 3, "clients": 1, "subscriptions": 1, "plants": 1, "floors": 1, "ambients": 2, "modules": 3}
        assert summary.removed == {**removed, "spare parts": 1}
        assert await filled_store.export_estate() == Estate()
        assert set(recorded.events) == {
            GrantRevoked(grant_id=GRANT.id),
            UserChanged(user_id=ANNA.id),
            UserChanged(user_id=BRUNO.id),
            UserChanged(user_id=CARLA.id),
            ClientChanged(client_id=APP.id),
            SubscriptionChanged(key_hash=KEY.key_hash),
            PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id, BRUNO.id)),
            SparePartsChanged(unit=BATTERY.unit),
        }

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
        recorded = ChangeRecorder()
        filled_store.listen(recorded)
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
        recorded = ChangeRecorder()
        filled_store.listen(recorded)
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
