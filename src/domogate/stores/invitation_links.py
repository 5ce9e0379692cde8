"""Stores links with which a person joins a plant. One write transaction consumes a link and adds the member."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, delete, insert, select

from domogate.domain.ids import Id
from domogate.domain.invitation_links import InvitationLink, JoinOutcome
from domogate.domain.people import User
from domogate.domain.plants import PlantStatus
from domogate.stores.codec import decode_limits, from_row, to_json_or_none, to_row
from domogate.stores.engine import Transaction
from domogate.stores.members import allow_user, list_plants_inviting, set_member_limits
from domogate.stores.people import add_user, find_user_by_email
from domogate.stores.tables.plants import invitation_links, members, plants

_WORKING = (
    select(invitation_links)
    .join(plants, and_(plants.c.id == invitation_links.c.plant_id, plants.c.status == PlantStatus.ACTIVE.value))
    .join(
        members,
        and_(
            members.c.plant_id == invitation_links.c.plant_id,
            members.c.user_id == invitation_links.c.user_id,
            members.c.owner.is_(True),
        ),
    )
    .where(invitation_links.c.expires_at > bindparam("now"))
)
_BY_TOKEN = _WORKING.where(invitation_links.c.token_hash == bindparam("token_hash"))
_OF_PLANT = _WORKING.where(invitation_links.c.plant_id == bindparam("of_plant")).order_by(
    invitation_links.c.created_at.desc(), invitation_links.c.id
)
_TAKE = (
    delete(invitation_links)
    .where(invitation_links.c.token_hash == bindparam("token_hash"), invitation_links.c.expires_at > bindparam("now"))
    .returning(invitation_links.c.id)
)
_LIMITS_OF_MEMBER = select(members.c.limits).where(
    members.c.plant_id == bindparam("of_plant"), members.c.user_id == bindparam("of_user")
)


def _from_row(row: Row[Any]) -> InvitationLink:
    return from_row(InvitationLink, row, limits=None if row.limits is None else decode_limits(row.limits))


def find_invitation_link(connection: Connection, token_hash: str, now: float) -> InvitationLink | None:
    row = connection.execute(_BY_TOKEN, {"token_hash": token_hash, "now": now}).first()
    return None if row is None else _from_row(row)


def list_invitation_links(connection: Connection, plant_id: Id, now: float) -> Sequence[InvitationLink]:
    return [_from_row(row) for row in connection.execute(_OF_PLANT, {"of_plant": plant_id, "now": now})]


def add_invitation_link(tx: Transaction, link: InvitationLink, most: int) -> bool:
    if len(list_invitation_links(tx.connection, link.plant_id, link.created_at)) >= most:
        return False
    tx.connection.execute(insert(invitation_links), to_row(link, limits=to_json_or_none(link.limits)))
    return True


def withdraw_invitation_link(tx: Transaction, plant_id: Id, link_id: Id) -> bool:
    one = and_(invitation_links.c.plant_id == plant_id, invitation_links.c.id == link_id)
    return tx.connection.execute(delete(invitation_links).where(one)).rowcount == 1


def join_by_link(tx: Transaction, token_hash: str, person: User | Id, now: float) -> JoinOutcome:
    link = find_invitation_link(tx.connection, token_hash, now)
    if link is None:
        return JoinOutcome.DEAD_LINK
    new_user, user_id = (person, person.id) if isinstance(person, User) else (None, person)
    if new_user is not None and _is_taken(tx.connection, new_user.email):
        return JoinOutcome.NAME_TAKEN
    member = tx.connection.execute(_LIMITS_OF_MEMBER, {"of_plant": link.plant_id, "of_user": user_id}).first()
    if member is not None and not _has_ended(member.limits, now):
        return JoinOutcome.HAS_ACCESS
    if tx.connection.execute(_TAKE, {"token_hash": token_hash, "now": now}).first() is None:
        return JoinOutcome.DEAD_LINK
    if new_user is not None:
        add_user(tx, new_user)
    if member is None:
        allow_user(tx, link.plant_id, user_id, link.limits)
    else:
        set_member_limits(tx, link.plant_id, user_id, link.limits)
    return JoinOutcome.JOINED


def _is_taken(connection: Connection, email: str) -> bool:
    """Whether a user has the address, or an invitation waits for a user with this address."""
    return find_user_by_email(connection, email) is not None or bool(list_plants_inviting(connection, email))


def _has_ended(limits: str | None, now: float) -> bool:
    until = None if limits is None else decode_limits(limits).valid_until
    return until is not None and until <= now
