"""Users, clients, grants, subscription keys, signing keys and spare parts."""

import asyncio

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.events import (
    ClientChanged,
    GrantRevoked,
    PlantChanged,
    SigningKeysChanged,
    SubscriptionChanged,
    UserChanged,
)
from domogate.domain.people import User
from domogate.domain.plants import Member, Module, Topology, UnitDetail
from domogate.domain.safety import SpareParts
from domogate.ports import SigningKey, Usage
from domogate.stores import SqlStore
from support.stores import ANNA, APP, BATTERY, BRUNO, CARLA, GRANT, HOUSE, KEY, NOW, Ear, an_id


class TestUsers:
    async def test_they_are_found_by_id_and_by_any_spelling_of_the_email(self, house: SqlStore) -> None:
        assert await house.find_user(ANNA.id) == ANNA
        assert await house.find_user_by_email("aNNa@EXAMPLE.com") == ANNA
        assert await house.find_user(an_id(404)) is None
        assert await house.find_user_by_email("nobody@example.com") is None
        assert await house.list_users() == [ANNA, BRUNO, CARLA]

    async def test_an_email_belongs_to_one_user_however_it_is_spelled(self, house: SqlStore) -> None:
        with pytest.raises(ValueError, match="another user"):
            await house.save_user(User(an_id(90), "ANNA@example.com"))

    async def test_a_new_spelling_of_the_email_changes_the_plants_that_print_it(self, house: SqlStore) -> None:
        ear = Ear()
        house.listen(ear)
        await house.save_user(msgspec.structs.replace(BRUNO, email="Bruno.B@example.com"))
        assert ear.events == [
            PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id, BRUNO.id)),
            UserChanged(user_id=BRUNO.id),
        ]
        ((plant,), _) = await house.list_plants_of(BRUNO.id)
        assert plant.allowed == (Member(BRUNO.id, "Bruno.B@example.com"),)

    async def test_a_new_name_changes_no_plant(self, house: SqlStore) -> None:
        ear = Ear()
        house.listen(ear)
        await house.save_user(msgspec.structs.replace(BRUNO, name="B."))
        assert ear.events == [UserChanged(user_id=BRUNO.id)]

    async def test_what_a_user_may_and_how_they_prove_it_is_kept(self, house: SqlStore) -> None:
        operator = msgspec.structs.replace(BRUNO, operator=True, totp_secret="JBSWY3DPEHPK3PXP")
        await house.save_user(operator)
        assert await house.find_user(BRUNO.id) == operator
        assert await house.find_user_by_email(BRUNO.email) == operator
        await house.save_user(BRUNO)
        assert await house.find_user(BRUNO.id) == BRUNO

    async def test_no_name_holds_a_nul_character(self, house: SqlStore) -> None:
        assert await house.find_user_by_email("Anna\0@example.com") is None
        assert await house.find_client("app\0") is None

    async def test_a_user_who_becomes_active_takes_up_invitations(self, house: SqlStore) -> None:
        ear = Ear()
        house.listen(ear)
        await house.save_user(msgspec.structs.replace(CARLA, password_hash="set"))
        assert ear.events == [
            PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id, BRUNO.id, CARLA.id)),
            UserChanged(user_id=CARLA.id),
        ]
        ((plant,), _) = await house.list_plants_of(CARLA.id)
        assert plant.allowed == (Member(BRUNO.id, BRUNO.email), Member(CARLA.id, CARLA.email))
        assert plant.invited == ()

    async def test_a_user_who_is_not_active_yet_takes_up_none(self, house: SqlStore) -> None:
        await house.save_user(msgspec.structs.replace(CARLA, name="C."))
        assert (await house.list_plants_of(CARLA.id))[0] == ()


class TestDeleteUser:
    async def test_memberships_invitations_and_grants_go(self, house: SqlStore) -> None:
        grant = msgspec.structs.replace(GRANT, user_id=BRUNO.id)
        await house.add_grant(grant)
        ear = Ear()
        house.listen(ear)
        assert await house.delete_user(BRUNO.id)
        assert await house.delete_user(CARLA.id)
        assert ear.events == [
            PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id, BRUNO.id)),
            GrantRevoked(grant_id=grant.id),
            UserChanged(user_id=BRUNO.id),
            PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id,)),
            UserChanged(user_id=CARLA.id),
        ]
        assert await house.find_grant(grant.id) is None
        assert await house.list_users() == [ANNA]
        ((plant,), _) = await house.list_plants_of(ANNA.id)
        assert (plant.allowed, plant.invited) == ((), ())

    async def test_an_owner_stays_and_the_plant_is_named(self, house: SqlStore) -> None:
        with pytest.raises(ValueError, match=r"Anna@example.com owns Casa Bianchi"):
            await house.delete_user(ANNA.id)
        assert await house.find_user(ANNA.id) == ANNA

    async def test_false_for_an_unknown_user(self, house: SqlStore) -> None:
        assert not await house.delete_user(an_id(404))


class TestClientsAndGrants:
    async def test_a_client_is_saved_and_replaced(self, house: SqlStore) -> None:
        ear = Ear()
        house.listen(ear)
        changed = msgspec.structs.replace(
            APP,
            name="Another",
            origins=(),
            access_token_everywhere=True,
            pkce_exempt=True,
            post_logout_redirect_uris=("https://app.example/bye",),
        )
        await house.save_client(changed)
        assert await house.find_client(APP.id) == changed
        assert await house.list_clients() == [changed]
        assert await house.find_client("nobody") is None
        assert ear.events == [ClientChanged(client_id=APP.id)]

    async def test_a_grant_is_revoked_once(self, house: SqlStore) -> None:
        await house.add_grant(GRANT)
        assert await house.find_grant(GRANT.id) == GRANT
        ear = Ear()
        house.listen(ear)
        assert await house.revoke_grant(GRANT.id, NOW + 1)
        assert await house.revoke_grant(GRANT.id, NOW + 2)
        assert await house.find_grant(GRANT.id) == msgspec.structs.replace(GRANT, revoked_at=NOW + 1)
        assert ear.events == [GrantRevoked(grant_id=GRANT.id)]
        assert not await house.revoke_grant(an_id(404), NOW)
        assert await house.find_grant(an_id(404)) is None

    @pytest.mark.parametrize("change", [{"user_id": an_id(404)}, {"client_id": "nobody"}])
    async def test_a_grant_needs_its_user_and_client(self, house: SqlStore, change: dict[str, str]) -> None:
        with pytest.raises(ValueError, match="there is no"):
            await house.add_grant(msgspec.structs.replace(GRANT, **change))


class TestSubscriptions:
    async def test_a_key_is_added_found_by_its_hash_and_revoked_once(self, house: SqlStore) -> None:
        second = msgspec.structs.replace(KEY, id=an_id(92), key_hash="second", created_at=NOW + 1, expires_at=NOW + 9)
        ear = Ear()
        house.listen(ear)
        await house.add_subscription(second)
        assert await house.list_subscriptions() == [KEY, second]
        assert await house.find_subscription("second") == second
        assert await house.find_subscription("none") is None
        assert await house.revoke_subscription(second.id, NOW + 2)
        assert await house.revoke_subscription(second.id, NOW + 3)
        assert await house.find_subscription("second") == msgspec.structs.replace(second, revoked_at=NOW + 2)
        assert not await house.revoke_subscription(an_id(404), NOW)
        assert ear.events == [SubscriptionChanged(key_hash="second")] * 2

    async def test_the_same_key_twice_is_refused(self, house: SqlStore) -> None:
        with pytest.raises(ValueError, match="in use"):
            await house.add_subscription(msgspec.structs.replace(KEY, id=an_id(92)))

    async def test_usage_adds_up_by_day(self, house: SqlStore) -> None:
        await asyncio.gather(
            house.add_usage([Usage(KEY.id, "2026-11-15", 2), Usage(KEY.id, "2026-11-15", 3), Usage(KEY.id, "2026-11-16", 1)]),
            house.add_usage([Usage(KEY.id, "2026-11-15", 4), Usage(an_id(404), "2026-11-15", 1)]),
            house.add_usage([]),
        )
        assert await house.find_usage(KEY.id, "2026-11-15") == 9
        assert await house.find_usage(KEY.id, "2026-11-16") == 1
        assert await house.find_usage(KEY.id, "2026-11-17") == 0
        assert await house.find_usage(an_id(404), "2026-11-15") == 0


class TestSigningKeys:
    async def test_they_are_listed_oldest_first_and_retired_by_adding_them_again(self, store: SqlStore) -> None:
        old, new = SigningKey("b", "ES256", "{}", NOW), SigningKey("a", "RS256", "{}", NOW + 1)
        ear = Ear()
        store.listen(ear)
        await store.add_signing_key(new)
        await store.add_signing_key(old)
        retired = msgspec.structs.replace(old, retired_at=NOW + 2)
        await store.add_signing_key(retired)
        assert await store.list_signing_keys() == [retired, new]
        assert ear.events == [SigningKeysChanged()] * 3


class TestSpareParts:
    async def test_known_by_the_catalogue_or_by_a_unit_that_stands_somewhere(self, house: SqlStore) -> None:
        unit = Module(an_id(63), an_id(64), "Unit", DeviceKind.EMERGENCY_UNIT, detail=UnitDetail("0633"))
        plant = msgspec.structs.replace(HOUSE, id=an_id(70), allowed=(), invited=())
        await house.import_estate(
            Estate(plants=(EstatePlant(plant, Topology(modules=(unit,))),), spare_parts=(SpareParts("none at all"),)),
            prune=False,
        )
        assert await house.find_spare_parts(BATTERY.unit) == BATTERY
        assert await house.find_spare_parts("none at all") == SpareParts("none at all")
        assert await house.find_spare_parts("0633") == SpareParts("0633")
        assert await house.find_spare_parts("unknown") is None
