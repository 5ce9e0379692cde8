"""An import adds and updates, keeps what people and devices changed, and removes only with `prune`."""

import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.events import PlantChanged, StateChanged
from domogate.domain.people import User
from domogate.domain.plants import Member, PlantStatus, Topology
from domogate.domain.states import LightState, PlugState, Report
from domogate.ports import StoredState
from domogate.stores import SqlStore
from support.clocks import NOW, ManualClock
from support.house_estate import SMALL_COUNTS, SMALL_EVENTS, ZERO, change, house_in, with_house
from support.stores import (
    ANNA,
    APP,
    BRUNO,
    CARLA,
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
    a_code,
    a_grant,
    a_refresh_token,
    a_session,
    an_id,
    record_changes,
)


class TestFirstImport:
    async def test_it_counts_what_it_added_and_tells_everybody(self, store: SqlStore) -> None:
        recorded = record_changes(store)
        summary = await store.import_estate(SMALL, prune=False)
        assert (summary.added, summary.updated, summary.removed) == (SMALL_COUNTS, ZERO, ZERO)
        assert recorded.events == list(SMALL_EVENTS)

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
        recorded = record_changes(filled_store)
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
        recorded = record_changes(filled_store)
        on = PlugState(on=True)
        given = (FirstState(LAMP.id, LightState(on=False)), FirstState(PLUG.id, on), FirstState(SCENE.id, None, False))
        await filled_store.import_estate(with_house(HOUSE, HOUSE_TOPOLOGY, *given), prune=False)
        assert (await house_in(filled_store)).states == {
            LAMP.id: StoredState(LAMP_IS_ON, True, 0.0),
            PLUG.id: StoredState(on, False, 0.0),  # the module reported that it is offline, and not this state
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

    @pytest.mark.parametrize("prune", [False, True])
    async def test_a_key_can_get_another_id_while_its_id_gets_a_new_key(self, filled_store: SqlStore, prune: bool) -> None:
        renewed, former = change(KEY, key_hash="hash of a new key"), change(KEY, id=an_id(81), name="the former key")
        told = change(SMALL, subscriptions=(renewed, former))
        await filled_store.import_estate(told, prune=prune)
        stored = {one.key_hash: one for one in await filled_store.list_subscriptions()}
        assert stored.pop(KEY.key_hash) == change(former, id=KEY.id)
        assert stored == {renewed.key_hash: change(renewed, id=stored[renewed.key_hash].id)}
        again = await filled_store.import_estate(told, prune=prune)
        assert (again.added, again.updated, again.removed) == (ZERO, ZERO, ZERO)

    async def test_emails_can_be_swapped(self, filled_store: SqlStore) -> None:
        swapped = (change(ANNA, email=BRUNO.email), change(BRUNO, email=ANNA.email), CARLA)
        recorded = record_changes(filled_store)
        await filled_store.import_estate(change(SMALL, users=swapped), prune=False)
        assert await filled_store.find_user_by_email(BRUNO.email) == swapped[0]
        assert (await house_in(filled_store)).plant.owner == Member(ANNA.id, BRUNO.email)
        assert PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id, BRUNO.id)) in recorded.events

    async def test_a_changed_plant_is_updated_and_counted(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
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
        recorded = record_changes(filled_store)
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
        last = recorded.events[-1]
        assert isinstance(last, StateChanged)
        assert last.plant_id == cabin.id

    async def test_what_stands_on_a_floor_that_moves_goes_with_it(self, filled_store: SqlStore) -> None:
        cabin = change(HOUSE, id=an_id(70), name="Cabin", allowed=(), invited=())
        only_the_floor = Estate(plants=(EstatePlant(cabin, Topology(floors=(change(GROUND, ambients=()),))),))
        await filled_store.import_estate(only_the_floor, prune=False)
        moved = await filled_store.find_plant(cabin.id)
        assert moved is not None
        assert moved.topology == Topology(floors=(GROUND,))
        assert (await house_in(filled_store)).topology == Topology(ambients=(HALL,), modules=(SCENE,))
