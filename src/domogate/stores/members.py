"""Who may enter a plant: its owner, allowed users, and invitations that wait for their user to become active."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, func, insert, select

from domogate.domain.events import PlantChanged
from domogate.domain.ids import Id
from domogate.stores.codec import email_key
from domogate.stores.engine import chunked, execute_many
from domogate.stores.tables import invitations, members, users
from domogate.stores.transaction import Transaction

_PEOPLE = select(members.c.plant_id, members.c.user_id).where(members.c.plant_id.in_(bindparam("ids", expanding=True)))
_PLANTS_OF_USER = select(members.c.plant_id).where(members.c.user_id == bindparam("user_id"))
_PLANTS_INVITING = select(invitations.c.plant_id).where(invitations.c.email_key == bindparam("key"))


def people_of(connection: Connection, plant_ids: Iterable[Id]) -> dict[Id, set[Id]]:
    """Owner and allowed users of each plant."""
    people: dict[Id, set[Id]] = defaultdict(set)
    for ids in chunked(plant_ids):
        for plant_id, user_id in connection.execute(_PEOPLE, {"ids": ids}):
            people[plant_id].add(user_id)
    return people


@contextmanager
def changing_plants(tx: Transaction, plant_ids: Iterable[Id]) -> Iterator[None]:
    """Emits PlantChanged for each plant, to everybody whose list of plants showed it before or shows it after."""
    concerned = sorted(set(plant_ids))
    before = people_of(tx.connection, concerned)
    yield
    after = people_of(tx.connection, concerned)
    for plant_id in concerned:
        everybody = before.get(plant_id, set()) | after.get(plant_id, set())
        tx.emit(PlantChanged(plant_id=plant_id, user_ids=tuple(sorted(everybody))))


def list_plants_of_user(connection: Connection, user_id: Id) -> Sequence[Id]:
    return connection.execute(_PLANTS_OF_USER, {"user_id": user_id}).scalars().all()


def list_plants_inviting(connection: Connection, email: str) -> Sequence[Id]:
    return connection.execute(_PLANTS_INVITING, {"key": email_key(email)}).scalars().all()


def replace_people(tx: Transaction, plant_id: Id, allowed: Sequence[Id], invited: Sequence[str]) -> None:
    """Set who is allowed and invited; the owner stays, and is in neither list."""
    owner = tx.connection.execute(
        select(members.c.user_id).where(members.c.plant_id == plant_id, members.c.owner.is_(True))
    ).scalar_one()
    tx.connection.execute(delete(members).where(members.c.plant_id == plant_id, members.c.owner.is_(False)))
    tx.connection.execute(delete(invitations).where(invitations.c.plant_id == plant_id))
    execute_many(tx.connection, insert(members), member_rows(plant_id, owner, allowed)[1:])
    execute_many(tx.connection, insert(invitations), invitation_rows(plant_id, invited))
    take_up_invitations(tx, invitations.c.plant_id == plant_id)


def member_rows(plant_id: Id, owner: Id, allowed: Iterable[Id]) -> list[dict[str, object]]:
    """The owner first; nobody twice."""
    return [
        {"plant_id": plant_id, "user_id": user_id, "owner": position == 0, "position": position}
        for position, user_id in enumerate(dict.fromkeys((owner, *allowed)))
    ]


def invitation_rows(plant_id: Id, emails: Iterable[str]) -> list[dict[str, object]]:
    """One an e-mail, in its first spelling."""
    spelled: dict[str, str] = {}
    for email in emails:
        spelled.setdefault(email_key(email), email)
    return [
        {"plant_id": plant_id, "email_key": key, "email": email, "position": position}
        for position, (key, email) in enumerate(spelled.items())
    ]


def take_up_invitations(tx: Transaction, condition: ColumnElement[bool] | None = None) -> set[Id]:
    """Turn invitations to active users into memberships; the plants where that happened."""
    due = (
        select(invitations.c.plant_id, invitations.c.email_key, users.c.id)
        .join(users, users.c.email_key == invitations.c.email_key)
        .where(users.c.password_hash.is_not(None))
        .order_by(invitations.c.plant_id, invitations.c.position)
    )
    rows = tx.connection.execute(due if condition is None else due.where(condition)).all()
    if not rows:
        return set()
    plant_ids = {row.plant_id for row in rows}
    next_position = _next_positions(tx.connection, plant_ids)
    joining = []
    for plant_id, _, user_id in rows:
        joining.append({"plant_id": plant_id, "user_id": user_id, "owner": False, "position": next_position[plant_id]})
        next_position[plant_id] += 1
    execute_many(tx.connection, tx.database.insert(members).on_conflict_do_nothing(), joining)
    taken = delete(invitations).where(
        and_(invitations.c.plant_id == bindparam("of_plant"), invitations.c.email_key == bindparam("to_email"))
    )
    execute_many(tx.connection, taken, [{"of_plant": plant_id, "to_email": key} for plant_id, key, _ in rows])
    return plant_ids


def _next_positions(connection: Connection, plant_ids: Iterable[Id]) -> dict[Id, int]:
    highest = (
        select(members.c.plant_id, func.max(members.c.position))
        .where(members.c.plant_id.in_(bindparam("ids", expanding=True)))
        .group_by(members.c.plant_id)
    )
    positions: dict[Id, int] = {}
    for ids in chunked(plant_ids):
        positions.update({plant_id: position + 1 for plant_id, position in connection.execute(highest, {"ids": ids})})
    return positions
