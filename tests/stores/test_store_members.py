"""Adding and removing single people of a plant; and the list of all plants, page by page."""

import msgspec
import pytest

from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.events import UserChanged
from domogate.domain.limits import Limits
from domogate.domain.people import User
from domogate.domain.plants import Invitation, Member, Plant, PlantStatus, Topology
from domogate.stores import SqlStore
from support.clocks import NOW
from support.stores import ANNA, BRUNO, CARLA, HOUSE, KITCHEN, SMALL, an_id, people_changed, record_changes

DORA = User(an_id(90), "Dora@example.com", "Dora", "hash of Dora")


async def people_of(store: SqlStore) -> tuple[list[str], list[str]]:
    stored = await store.find_plant(HOUSE.id)
    assert stored is not None
    return [member.email for member in stored.plant.allowed], [each.email for each in stored.plant.invited]


class TestAllow:
    async def test_they_come_last_and_their_list_of_plants_changes(self, filled_store: SqlStore) -> None:
        await filled_store.save_user(DORA)
        recorded = record_changes(filled_store)
        assert await filled_store.allow_user(HOUSE.id, DORA.id)
        assert recorded.events == [people_changed(ANNA, BRUNO, DORA, members=[DORA])]
        assert await people_of(filled_store) == ([BRUNO.email, DORA.email], ["Carla@Example.com"])
        ((plant,), _) = await filled_store.list_plants_of(DORA.id)
        assert plant.id == HOUSE.id

    async def test_a_member_who_gets_the_address_of_an_invitation_is_not_invited_any_more(self, filled_store: SqlStore) -> None:
        await filled_store.allow_user(HOUSE.id, CARLA.id)
        await filled_store.invite(HOUSE.id, "dora@example.com")
        await filled_store.change_user(CARLA.id, lambda user: msgspec.structs.replace(user, email="Dora@example.com"))
        found = await filled_store.find_plant(HOUSE.id)
        assert found is not None
        assert found.plant.invited == ()
        assert found.plant.allowed[-1] == Member(CARLA.id, "Dora@example.com")

    async def test_an_invitation_of_theirs_is_taken_up(self, filled_store: SqlStore) -> None:
        assert await filled_store.allow_user(HOUSE.id, CARLA.id)
        assert await people_of(filled_store) == ([BRUNO.email, CARLA.email], [])

    @pytest.mark.parametrize("user", [ANNA, BRUNO])
    async def test_a_user_who_is_a_member_already_changes_nothing(self, filled_store: SqlStore, user: User) -> None:
        recorded = record_changes(filled_store)
        assert not await filled_store.allow_user(HOUSE.id, user.id)
        assert recorded.events == []

    async def test_plant_and_user_must_be_there(self, filled_store: SqlStore) -> None:
        with pytest.raises(ValueError, match="there is no plant"):
            await filled_store.allow_user(an_id(404), BRUNO.id)
        with pytest.raises(ValueError, match="there is no user"):
            await filled_store.allow_user(HOUSE.id, an_id(404))

    async def test_a_change_after_they_joined_is_always_known(self, filled_store: SqlStore) -> None:
        """The home API finds the time of joining by it."""
        await filled_store.save_user(DORA)
        await filled_store.allow_user(HOUSE.id, DORA.id)
        await filled_store.prune_changes(NOW * 2)
        stored = await filled_store.find_plant(HOUSE.id)
        assert stored is not None
        assert len(await filled_store.list_changes(stored.joined[DORA.id], 1)) == 1


WEEKEND = Limits(ambients=(KITCHEN.id,), valid_from=NOW, valid_until=NOW + 3600)


async def limits_in(store: SqlStore) -> dict[str, Limits | None]:
    stored = await store.find_plant(HOUSE.id)
    assert stored is not None
    members = {member.email: member.limits for member in stored.plant.allowed}
    return {**members, **{invitation.email: invitation.limits for invitation in stored.plant.invited}}


class TestLimits:
    async def test_of_a_member_are_stored_and_listed(self, filled_store: SqlStore) -> None:
        await filled_store.save_user(DORA)
        assert await filled_store.allow_user(HOUSE.id, DORA.id, WEEKEND)
        assert (await limits_in(filled_store))[DORA.email] == WEEKEND
        ((plant,), _) = await filled_store.list_plants_of(DORA.id)
        assert plant.allowed[-1].limits == WEEKEND

    async def test_of_an_invitation_become_those_of_the_member(self, filled_store: SqlStore) -> None:
        assert await filled_store.invite(HOUSE.id, DORA.email, WEEKEND)
        assert (await limits_in(filled_store))[DORA.email] == WEEKEND
        await filled_store.save_user(DORA)
        assert (await limits_in(filled_store)) == {BRUNO.email: None, DORA.email: WEEKEND, "Carla@Example.com": None}

    async def test_of_an_active_user_count_at_once(self, filled_store: SqlStore) -> None:
        await filled_store.save_user(DORA)
        assert await filled_store.invite(HOUSE.id, DORA.email, WEEKEND)
        assert (await limits_in(filled_store))[DORA.email] == WEEKEND

    async def test_can_be_changed_and_lifted(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        for limits in (WEEKEND, WEEKEND, None):
            assert await filled_store.set_member_limits(HOUSE.id, BRUNO.id, limits)
            assert (await limits_in(filled_store))[BRUNO.email] == limits
        changed = people_changed(ANNA, BRUNO, members=[BRUNO])
        assert recorded.events == [changed, changed]

    async def test_of_an_invitation_can_be_changed_and_lifted(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        for limits in (WEEKEND, WEEKEND, None):
            assert await filled_store.set_invitation_limits(HOUSE.id, "CARLA@example.com", limits)
            assert (await limits_in(filled_store))["Carla@Example.com"] == limits
        changed = people_changed(ANNA, BRUNO)
        assert recorded.events == [changed, changed]
        assert not await filled_store.set_invitation_limits(HOUSE.id, BRUNO.email, WEEKEND)
        assert not await filled_store.set_invitation_limits(an_id(404), CARLA.email, WEEKEND)

    async def test_are_only_for_members_other_than_the_owner(self, filled_store: SqlStore) -> None:
        assert not await filled_store.set_member_limits(HOUSE.id, CARLA.id, WEEKEND)
        with pytest.raises(ValueError, match="owner"):
            await filled_store.set_member_limits(HOUSE.id, ANNA.id, WEEKEND)

    async def test_survive_an_import_of_the_exported_estate(self, filled_store: SqlStore) -> None:
        await filled_store.set_member_limits(HOUSE.id, BRUNO.id, WEEKEND)
        await filled_store.invite(HOUSE.id, DORA.email, WEEKEND)
        exported = await filled_store.export_estate()
        for prune in (False, True):
            recorded = record_changes(filled_store)
            await filled_store.import_estate(exported, prune=prune)
            assert recorded.events == []
        assert (await limits_in(filled_store))[BRUNO.email] == (await limits_in(filled_store))[DORA.email] == WEEKEND

    async def test_are_those_of_the_file_after_an_import(self, filled_store: SqlStore) -> None:
        await filled_store.set_member_limits(HOUSE.id, BRUNO.id, WEEKEND)
        await filled_store.import_estate(SMALL, prune=False)
        assert (await limits_in(filled_store))[BRUNO.email] is None

    async def test_of_a_member_who_is_not_in_the_file_stay(self, filled_store: SqlStore) -> None:
        await filled_store.save_user(DORA)
        await filled_store.allow_user(HOUSE.id, DORA.id, WEEKEND)
        await filled_store.import_estate(SMALL, prune=False)
        assert (await limits_in(filled_store))[DORA.email] == WEEKEND

    async def test_of_a_person_who_joined_since_stay(self, filled_store: SqlStore) -> None:
        """In the file Carla is invited without limits; in the store she is a member with limits."""
        await filled_store.save_user(msgspec.structs.replace(CARLA, password_hash="hash"))
        await filled_store.set_member_limits(HOUSE.id, CARLA.id, WEEKEND)
        for prune in (False, True):
            await filled_store.import_estate(SMALL, prune=prune)
            assert (await limits_in(filled_store))[CARLA.email] == WEEKEND


class TestWithdraw:
    async def test_their_list_of_plants_changes_too(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        assert await filled_store.withdraw_user(HOUSE.id, BRUNO.id)
        assert not await filled_store.withdraw_user(HOUSE.id, BRUNO.id)
        assert recorded.events == [people_changed(ANNA, BRUNO, members=[BRUNO])]
        assert (await filled_store.list_plants_of(BRUNO.id))[0] == ()

    async def test_not_the_owner(self, filled_store: SqlStore) -> None:
        with pytest.raises(ValueError, match="owner"):
            await filled_store.withdraw_user(HOUSE.id, ANNA.id)
        assert (await filled_store.list_plants_of(ANNA.id))[0] != ()

    async def test_a_user_who_is_not_a_member_cannot_be_withdrawn(self, filled_store: SqlStore) -> None:
        assert not await filled_store.withdraw_user(HOUSE.id, CARLA.id)
        assert not await filled_store.withdraw_user(an_id(404), BRUNO.id)

    async def test_a_withdrawn_user_may_come_back(self, filled_store: SqlStore) -> None:
        await filled_store.save_user(DORA)
        await filled_store.allow_user(HOUSE.id, DORA.id)
        await filled_store.withdraw_user(HOUSE.id, BRUNO.id)
        assert await filled_store.allow_user(HOUSE.id, BRUNO.id)
        assert (await people_of(filled_store))[0] == [DORA.email, BRUNO.email]


class TestInvite:
    async def test_it_waits_until_a_user_with_that_email_is_active(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        assert await filled_store.invite(HOUSE.id, "Dora@Example.COM")
        assert recorded.events == [people_changed(ANNA, BRUNO)]
        assert await people_of(filled_store) == ([BRUNO.email], ["Carla@Example.com", "Dora@Example.COM"])
        await filled_store.save_user(DORA)
        assert await people_of(filled_store) == ([BRUNO.email, DORA.email], ["Carla@Example.com"])
        assert recorded.events[1:] == [
            people_changed(ANNA, BRUNO, DORA, members=[DORA]),
            UserChanged(user_id=DORA.id),
        ]

    async def test_an_active_user_is_a_member_at_once(self, filled_store: SqlStore) -> None:
        await filled_store.save_user(DORA)
        assert await filled_store.invite(HOUSE.id, "dora@EXAMPLE.com")
        assert await people_of(filled_store) == ([BRUNO.email, DORA.email], ["Carla@Example.com"])

    @pytest.mark.parametrize("email", ["ANNA@example.com", "bruno@example.com", "carla@example.com"])
    async def test_owner_member_and_invited_are_not_invited_again(self, filled_store: SqlStore, email: str) -> None:
        recorded = record_changes(filled_store)
        assert not await filled_store.invite(HOUSE.id, email)
        assert recorded.events == []

    async def test_nor_is_a_member_who_is_not_active_yet(self, filled_store: SqlStore) -> None:
        await filled_store.allow_user(HOUSE.id, CARLA.id)
        assert not await filled_store.invite(HOUSE.id, CARLA.email)
        assert await people_of(filled_store) == ([BRUNO.email, CARLA.email], [])

    async def test_the_plant_must_be_there(self, filled_store: SqlStore) -> None:
        with pytest.raises(ValueError, match="there is no plant"):
            await filled_store.invite(an_id(404), "dora@example.com")

    async def test_an_invitation_is_withdrawn_in_any_spelling(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        assert await filled_store.withdraw_invitation(HOUSE.id, "CARLA@example.com")
        assert not await filled_store.withdraw_invitation(HOUSE.id, "CARLA@example.com")
        assert not await filled_store.withdraw_invitation(HOUSE.id, BRUNO.email)
        assert recorded.events == [people_changed(ANNA, BRUNO)]
        await filled_store.save_user(msgspec.structs.replace(CARLA, password_hash="set"))
        assert (await filled_store.list_plants_of(CARLA.id))[0] == ()


class TestListPlants:
    async def test_all_of_them_page_by_page_by_id_with_their_people(self, filled_store: SqlStore) -> None:
        removed = msgspec.structs.replace(
            HOUSE,
            id=an_id(80),
            internal_id=an_id(81),
            owner=Member(BRUNO.id, BRUNO.email),
            allowed=(),
            invited=(Invitation("Nobody@example.com"),),
            status=PlantStatus.REMOVED,
            removed_at=5.0,
        )
        third = msgspec.structs.replace(HOUSE, id=an_id(9), internal_id=an_id(82), allowed=(), invited=())
        plants = tuple(EstatePlant(plant, Topology()) for plant in (removed, third))
        await filled_store.import_estate(Estate(plants=plants), prune=False)
        assert await filled_store.list_plants(None, 10) == [third, HOUSE, removed]
        assert await filled_store.list_plants(None, 2) == [third, HOUSE]
        assert await filled_store.list_plants(HOUSE.id, 2) == [removed]
        assert await filled_store.list_plants(removed.id, 2) == []

    async def test_more_of_them_than_fit_in_one_question(self, filled_store: SqlStore) -> None:
        more = [
            Plant(an_id(1000 + n), an_id(9000 + n), f"Plant {n}", HOUSE.type, HOUSE.owner, allowed=HOUSE.allowed)
            for n in range(510)
        ]
        estate = Estate(plants=tuple(EstatePlant(plant, Topology()) for plant in more))
        await filled_store.import_estate(estate, prune=False)
        assert await filled_store.list_plants(None, 1000) == [HOUSE, *more]
