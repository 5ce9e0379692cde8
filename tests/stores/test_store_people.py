"""Users, signing keys and spare parts in the store."""

import asyncio

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.events import (
    GrantRevoked,
    SigningKeysChanged,
    UserChanged,
)
from domogate.domain.people import User
from domogate.domain.plants import Member, Module, Topology, UnitDetail
from domogate.domain.safety import SpareParts
from domogate.ports import SigningKey
from domogate.stores import SqlStore
from support.clocks import NOW
from support.stores import (
    ANNA,
    BATTERY,
    BRUNO,
    CARLA,
    GRANT,
    HOUSE,
    SMALL,
    OpenStore,
    an_id,
    people_changed,
    record_changes,
)


class TestUsers:
    async def test_they_are_found_by_id_and_by_any_spelling_of_the_email(self, filled_store: SqlStore) -> None:
        assert await filled_store.find_user(ANNA.id) == ANNA
        assert await filled_store.find_user_by_email("aNNa@EXAMPLE.com") == ANNA
        assert await filled_store.find_user(an_id(404)) is None
        assert await filled_store.find_user_by_email("nobody@example.com") is None
        assert await filled_store.list_users() == [ANNA, BRUNO, CARLA]

    async def test_an_email_belongs_to_one_user_however_it_is_spelled(self, filled_store: SqlStore) -> None:
        with pytest.raises(ValueError, match="another user"):
            await filled_store.save_user(User(an_id(90), "ANNA@example.com"))

    async def test_a_new_spelling_of_the_email_changes_the_plants_that_print_it(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        await filled_store.save_user(msgspec.structs.replace(BRUNO, email="Bruno.B@example.com"))
        assert recorded.events == [
            people_changed(ANNA, BRUNO),
            UserChanged(user_id=BRUNO.id),
        ]
        ((plant,), _) = await filled_store.list_plants_of(BRUNO.id)
        assert plant.allowed == (Member(BRUNO.id, "Bruno.B@example.com"),)

    async def test_a_new_name_changes_no_plant(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        await filled_store.save_user(msgspec.structs.replace(BRUNO, name="B."))
        assert recorded.events == [UserChanged(user_id=BRUNO.id)]

    async def test_what_a_user_may_and_how_they_prove_it_is_kept(self, filled_store: SqlStore) -> None:
        operator = msgspec.structs.replace(BRUNO, operator=True, totp_secret="JBSWY3DPEHPK3PXP")
        await filled_store.save_user(operator)
        assert await filled_store.find_user(BRUNO.id) == operator
        assert await filled_store.find_user_by_email(BRUNO.email) == operator
        await filled_store.save_user(BRUNO)
        assert await filled_store.find_user(BRUNO.id) == BRUNO

    async def test_no_name_holds_a_nul_character(self, filled_store: SqlStore) -> None:
        assert await filled_store.find_user_by_email("Anna\0@example.com") is None
        assert await filled_store.find_client("app\0") is None
        assert await filled_store.find_spare_parts("0633\0") is None
        assert await filled_store.revoke_grants(ANNA.id, "app\0", NOW) == 0
        assert not await filled_store.withdraw_invitation(HOUSE.id, "carla\0@example.com")
        assert not await filled_store.set_invitation_limits(HOUSE.id, "carla\0@example.com", None)

    async def test_a_user_who_becomes_active_takes_up_invitations(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        await filled_store.save_user(msgspec.structs.replace(CARLA, password_hash="set"))
        assert recorded.events == [
            people_changed(ANNA, BRUNO, CARLA, members=[CARLA]),
            UserChanged(user_id=CARLA.id),
        ]
        ((plant,), _) = await filled_store.list_plants_of(CARLA.id)
        assert plant.allowed == (Member(BRUNO.id, BRUNO.email), Member(CARLA.id, CARLA.email))
        assert plant.invited == ()

    async def test_a_user_who_is_not_active_yet_takes_up_none(self, filled_store: SqlStore) -> None:
        await filled_store.save_user(msgspec.structs.replace(CARLA, name="C."))
        assert (await filled_store.list_plants_of(CARLA.id))[0] == ()


class TestChangingUsers:
    @pytest.fixture
    async def both(self, open_store: OpenStore, filled_store: SqlStore, database_url: str) -> list[SqlStore]:
        """Two processes on one database."""
        return [filled_store, await open_store(database_url)]

    async def test_two_processes_that_change_different_facts_lose_none(self, both: list[SqlStore]) -> None:
        def longer(user: User) -> User:
            return msgspec.structs.replace(user, name=f"{user.name}!")

        def safer(user: User) -> User:
            return msgspec.structs.replace(user, totp_secret=f"{user.totp_secret or ''}A")

        await asyncio.gather(*(both[n % 2].change_user(BRUNO.id, (longer, safer)[n // 2 % 2]) for n in range(40)))
        bruno = await both[0].find_user(BRUNO.id)
        assert bruno == msgspec.structs.replace(BRUNO, name="Bruno" + "!" * 20, totp_secret="A" * 20)

    async def test_what_it_became_is_handed_back_and_told(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        changed = await filled_store.change_user(CARLA.id, lambda user: msgspec.structs.replace(user, password_hash="set"))
        assert changed == await filled_store.find_user(CARLA.id) == msgspec.structs.replace(CARLA, password_hash="set")
        assert recorded.events == [
            people_changed(ANNA, BRUNO, CARLA, members=[CARLA]),
            UserChanged(user_id=CARLA.id),
        ]

    async def test_no_change_is_none(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        assert await filled_store.change_user(ANNA.id, lambda user: user) == ANNA
        assert await filled_store.change_user(an_id(404), lambda user: user) is None
        assert recorded.events == []

    async def test_what_the_change_raises_is_raised_and_nothing_is_changed(self, filled_store: SqlStore) -> None:
        def refuse(user: User) -> User:
            raise LookupError(user.email)

        results = await asyncio.gather(
            filled_store.change_user(ANNA.id, refuse),
            filled_store.change_user(BRUNO.id, lambda user: msgspec.structs.replace(user, name="B.")),
            return_exceptions=True,
        )
        assert isinstance(results[0], LookupError)
        assert await filled_store.list_users() == [ANNA, msgspec.structs.replace(BRUNO, name="B."), CARLA]

    async def test_an_id_or_the_email_of_another_is_refused(self, filled_store: SqlStore) -> None:
        with pytest.raises(ValueError, match="id of a user cannot be changed"):
            await filled_store.change_user(BRUNO.id, lambda user: msgspec.structs.replace(user, id=an_id(404)))
        with pytest.raises(ValueError, match="another user"):
            await filled_store.change_user(BRUNO.id, lambda user: msgspec.structs.replace(user, email=ANNA.email.upper()))

    @pytest.mark.parametrize("taken", [{"id": ANNA.id}, {"email": ANNA.email.upper()}])
    async def test_nobody_is_added_in_the_place_of_another(self, filled_store: SqlStore, taken: dict[str, str]) -> None:
        dora = User(an_id(90), "dora@example.com")
        with pytest.raises(ValueError, match=r"already|another user"):
            await filled_store.add_user(msgspec.structs.replace(dora, **taken))
        await filled_store.add_user(dora)
        assert await filled_store.list_users() == [ANNA, BRUNO, CARLA, dora]

    async def test_exactly_one_of_many_concurrent_first_operators_succeeds(self, both: list[SqlStore]) -> None:
        people = [User(an_id(200 + number), f"{number}@example.com") for number in range(20)]
        claimed = await asyncio.gather(*(both[n % 2].claim_operator(user) for n, user in enumerate(people)))
        (operator,) = [user for user in await both[0].list_users() if user.operator]
        assert [user for user in claimed if user is not None] == [operator]
        assert len(await both[0].list_users()) == 4

    async def test_a_known_user_becomes_the_first_operator_unchanged(self, filled_store: SqlStore) -> None:
        claimed = await filled_store.claim_operator(User(an_id(90), ANNA.email.upper(), "Somebody"))
        assert claimed == await filled_store.find_user(ANNA.id) == msgspec.structs.replace(ANNA, operator=True)

    async def test_the_last_operator_stays_one(self, both: list[SqlStore]) -> None:
        def step_down(user: User) -> User:
            return msgspec.structs.replace(user, operator=False)

        for user in (BRUNO, CARLA):
            await both[0].save_user(msgspec.structs.replace(user, operator=True))
        results = await asyncio.gather(
            both[0].change_user(BRUNO.id, step_down), both[1].delete_user(CARLA.id), return_exceptions=True
        )
        assert sum(isinstance(result, ValueError) for result in results) == 1
        assert len([user for user in await both[0].list_users() if user.operator]) == 1


class TestProvedEmails:
    @pytest.fixture
    async def proved(self, filled_store: SqlStore) -> SqlStore:
        await filled_store.save_user(msgspec.structs.replace(BRUNO, email_verified=True))
        return filled_store

    async def verified(self, store: SqlStore) -> bool:
        bruno = await store.find_user(BRUNO.id)
        assert bruno is not None
        return bruno.email_verified

    async def test_another_spelling_is_the_same_mailbox_and_another_email_is_not(self, proved: SqlStore) -> None:
        await proved.change_user(BRUNO.id, lambda user: msgspec.structs.replace(user, email="BRUNO@example.com"))
        assert await self.verified(proved)
        await proved.change_user(BRUNO.id, lambda user: msgspec.structs.replace(user, email="b@example.com"))
        assert not await self.verified(proved)

    async def test_an_import_leaves_it_proved_unless_it_brings_another_email(self, proved: SqlStore) -> None:
        await proved.import_estate(SMALL, prune=False)
        assert await self.verified(proved)
        moved = msgspec.structs.replace(BRUNO, email="b@example.com")
        await proved.import_estate(Estate(users=(moved,)), prune=False)
        assert not await self.verified(proved)


class TestDeleteUser:
    async def test_memberships_invitations_and_grants_go(self, filled_store: SqlStore) -> None:
        grant = msgspec.structs.replace(GRANT, user_id=BRUNO.id)
        await filled_store.add_grant(grant)
        recorded = record_changes(filled_store)
        assert await filled_store.delete_user(BRUNO.id)
        assert await filled_store.delete_user(CARLA.id)
        assert recorded.events == [
            people_changed(ANNA, BRUNO, members=[BRUNO]),
            GrantRevoked(grant_id=grant.id),
            UserChanged(user_id=BRUNO.id),
            people_changed(ANNA),
            UserChanged(user_id=CARLA.id),
        ]
        assert await filled_store.find_grant(grant.id) is None
        assert await filled_store.list_users() == [ANNA]
        ((plant,), _) = await filled_store.list_plants_of(ANNA.id)
        assert (plant.allowed, plant.invited) == ((), ())

    async def test_an_owner_stays_and_the_plant_is_named(self, filled_store: SqlStore) -> None:
        with pytest.raises(ValueError, match=r"Anna@example.com owns Casa Bianchi"):
            await filled_store.delete_user(ANNA.id)
        assert await filled_store.find_user(ANNA.id) == ANNA

    async def test_false_for_an_unknown_user(self, filled_store: SqlStore) -> None:
        assert not await filled_store.delete_user(an_id(404))


class TestSigningKeys:
    async def test_they_are_listed_oldest_first_and_retired_by_adding_them_again(self, store: SqlStore) -> None:
        old, new = SigningKey("b", "ES256", "{}", NOW), SigningKey("a", "RS256", "{}", NOW + 1)
        recorded = record_changes(store)
        await store.change_signing_keys(lambda _: [new])
        await store.change_signing_keys(lambda _: [old])
        retired = msgspec.structs.replace(old, retired_at=NOW + 2)
        await store.change_signing_keys(lambda _: [retired])
        assert await store.list_signing_keys() == [retired, new]
        assert recorded.events == [SigningKeysChanged()] * 3

    async def test_a_change_sees_all_of_them_and_may_leave_them_as_they_are(self, store: SqlStore) -> None:
        keys = [SigningKey("b", "ES256", "{}", NOW), SigningKey("a", "RS256", "{}", NOW + 1)]
        assert await store.change_signing_keys(lambda _: keys) == keys
        recorded = record_changes(store)
        assert await store.change_signing_keys(lambda seen: () if seen == keys else keys) == ()
        assert await store.list_signing_keys() == keys
        assert recorded.events == []


class TestSpareParts:
    async def test_known_by_the_catalogue_or_by_a_unit_that_stands_somewhere(self, filled_store: SqlStore) -> None:
        unit = Module(an_id(63), an_id(64), "Unit", DeviceKind.EMERGENCY_UNIT, detail=UnitDetail("0633"))
        plant = msgspec.structs.replace(HOUSE, id=an_id(70), allowed=(), invited=())
        await filled_store.import_estate(
            Estate(plants=(EstatePlant(plant, Topology(modules=(unit,))),), spare_parts=(SpareParts("none at all"),)),
            prune=False,
        )
        assert await filled_store.find_spare_parts(BATTERY.unit) == BATTERY
        assert await filled_store.find_spare_parts("none at all") == SpareParts("none at all")
        assert await filled_store.find_spare_parts("0633") == SpareParts("0633")
        assert await filled_store.find_spare_parts("unknown") is None
