"""Invitation links: one of several people who use a link at once becomes a member."""

import asyncio

import msgspec

from domogate.domain.events import UserChanged
from domogate.domain.ids import new_id
from domogate.domain.invitation_links import InvitationLink, JoinOutcome
from domogate.domain.limits import Limits
from domogate.domain.login_names import email_of_login_name
from domogate.domain.people import User
from domogate.domain.plants import PlantStatus
from domogate.stores import SqlStore
from support.clocks import NOW
from support.stores import ANNA, BRUNO, CARLA, HOUSE, KITCHEN, an_id, people_changed, record_changes

DORA = User(an_id(90), "Dora@example.com", "Dora", "hash of Dora")
EMIL = User(an_id(91), email_of_login_name("emil"), "Emil", "hash of Emil")
KITCHEN_ONLY = Limits(ambients=(KITCHEN.id,))
LATER = NOW + 3600


def a_link(number: int = 1, **changes: object) -> InvitationLink:
    link = InvitationLink(an_id(700 + number), f"hash {number}", HOUSE.id, ANNA.id, "Emil", NOW, LATER, KITCHEN_ONLY)
    return msgspec.structs.replace(link, **changes)


async def limits_of(store: SqlStore, user: User) -> Limits | None:
    stored = await store.find_plant(HOUSE.id)
    assert stored is not None
    return {member.user_id: member.limits for member in stored.plant.allowed}[user.id]


async def test_links_are_found_listed_and_withdrawn(filled_store: SqlStore) -> None:
    older, newer = a_link(1), a_link(2, created_at=NOW + 1, limits=None, note="")
    assert await filled_store.add_invitation_link(older, 2)
    assert await filled_store.add_invitation_link(newer, 2)
    assert not await filled_store.add_invitation_link(a_link(3), 2)
    assert await filled_store.list_invitation_links(HOUSE.id, NOW) == [newer, older]
    assert await filled_store.find_invitation_link("hash 1", NOW) == older
    assert await filled_store.find_invitation_link("hash 3", NOW) is None
    assert not await filled_store.withdraw_invitation_link(an_id(404), older.id)
    assert await filled_store.withdraw_invitation_link(HOUSE.id, older.id)
    assert not await filled_store.withdraw_invitation_link(HOUSE.id, older.id)
    assert await filled_store.list_invitation_links(HOUSE.id, NOW) == [newer]


async def test_links_that_do_not_work_make_room_for_new_ones(filled_store: SqlStore) -> None:
    assert await filled_store.add_invitation_link(a_link(1), 1)
    assert await filled_store.add_invitation_link(a_link(2, created_at=LATER, expires_at=LATER + 1), 1)


async def test_a_new_user_joins_in_the_transaction_that_consumes_the_link(filled_store: SqlStore) -> None:
    await filled_store.add_invitation_link(a_link(), 20)
    recorded = record_changes(filled_store)
    assert await filled_store.join_by_link("hash 1", EMIL, NOW) is JoinOutcome.JOINED
    assert recorded.events == [UserChanged(user_id=EMIL.id), people_changed(ANNA, BRUNO, EMIL, members=[EMIL])]
    assert await filled_store.find_user(EMIL.id) == EMIL
    assert await limits_of(filled_store, EMIL) == KITCHEN_ONLY
    assert await filled_store.join_by_link("hash 1", DORA, NOW) is JoinOutcome.DEAD_LINK
    assert await filled_store.find_user(DORA.id) is None


async def test_of_many_people_at_once_one_wins(filled_store: SqlStore) -> None:
    await filled_store.add_invitation_link(a_link(), 20)
    people = [msgspec.structs.replace(EMIL, id=new_id(), email=email_of_login_name(f"emil{n}")) for n in range(12)]
    outcomes = await asyncio.gather(*(filled_store.join_by_link("hash 1", person, NOW) for person in people))
    assert sorted(outcomes) == [JoinOutcome.DEAD_LINK] * 11 + [JoinOutcome.JOINED]
    found = [person for person in people if await filled_store.find_user(person.id) is not None]
    assert len(found) == 1


async def test_a_taken_login_name_and_a_member_leave_the_link_valid(filled_store: SqlStore) -> None:
    await filled_store.add_invitation_link(a_link(), 20)
    same_name = msgspec.structs.replace(EMIL, email=ANNA.email.upper())
    waiting = msgspec.structs.replace(EMIL, email="waits@guest.invalid")
    await filled_store.invite(HOUSE.id, waiting.email)
    for person, outcome in (
        (same_name, JoinOutcome.NAME_TAKEN),
        (waiting, JoinOutcome.NAME_TAKEN),
        (ANNA.id, JoinOutcome.HAS_ACCESS),
        (BRUNO.id, JoinOutcome.HAS_ACCESS),
    ):
        assert await filled_store.join_by_link("hash 1", person, NOW) is outcome
    assert await filled_store.join_by_link("hash 1", CARLA.id, NOW) is JoinOutcome.JOINED


async def test_a_guest_whose_period_has_ended_gets_the_limits_of_the_link(filled_store: SqlStore) -> None:
    await filled_store.set_member_limits(HOUSE.id, BRUNO.id, Limits(valid_until=NOW + 10))
    await filled_store.add_invitation_link(a_link(), 20)
    assert await filled_store.join_by_link("hash 1", BRUNO.id, NOW + 9) is JoinOutcome.HAS_ACCESS
    assert await filled_store.join_by_link("hash 1", BRUNO.id, NOW + 10) is JoinOutcome.JOINED
    assert await limits_of(filled_store, BRUNO) == KITCHEN_ONLY


async def test_an_old_link_a_removed_plant_and_a_former_owner_give_no_access(filled_store: SqlStore) -> None:
    await filled_store.save_user(DORA)
    await filled_store.add_invitation_link(a_link(), 20)
    await filled_store.add_invitation_link(a_link(2, user_id=BRUNO.id), 20)
    assert await filled_store.join_by_link("hash 1", DORA.id, LATER) is JoinOutcome.DEAD_LINK
    assert await filled_store.join_by_link("hash 2", DORA.id, NOW) is JoinOutcome.DEAD_LINK, "Bruno does not own the house"
    assert await filled_store.list_invitation_links(HOUSE.id, NOW) == [a_link()]
    await filled_store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, NOW)
    assert await filled_store.find_invitation_link("hash 1", NOW) is None
    assert await filled_store.join_by_link("hash 1", DORA.id, NOW) is JoinOutcome.DEAD_LINK
    await filled_store.set_plant_status(HOUSE.id, PlantStatus.ACTIVE, NOW)
    assert await filled_store.join_by_link("hash 1", DORA.id, NOW) is JoinOutcome.JOINED
