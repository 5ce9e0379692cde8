"""Stores the people of a plant: its owner, allowed users, and invitations.

An invited person becomes a member when the person is an active user.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, exists, func, insert, or_, select, update

from domogate.domain.events import PlantAspect, PlantChanged
from domogate.domain.formats import email_key
from domogate.domain.ids import Id
from domogate.domain.limits import Limits
from domogate.stores.codec import NUL, decode_limits, to_json_or_none
from domogate.stores.engine import Transaction, chunked, execute_many
from domogate.stores.tables.identity import users
from domogate.stores.tables.plants import invitations, members, plants

_PEOPLE = select(members.c.plant_id, members.c.user_id, members.c.limits).where(
    members.c.plant_id.in_(bindparam("ids", expanding=True))
)
_PLANTS_OF_USER = select(members.c.plant_id).where(members.c.user_id == bindparam("user_id"))
_PLANTS_INVITING = select(invitations.c.plant_id).where(invitations.c.email_key == bindparam("key"))
_THIS_INVITATION = and_(invitations.c.plant_id == bindparam("of_plant"), invitations.c.email_key == bindparam("to_email"))
_INVITATION = select(invitations.c.email_key).where(_THIS_INVITATION)
_DISINVITE = delete(invitations).where(_THIS_INVITATION)


def people_of(connection: Connection, plant_ids: Iterable[Id]) -> dict[Id, dict[Id, str | None]]:
    """Return the owner and the allowed users of each plant, with their limits."""
    people: dict[Id, dict[Id, str | None]] = defaultdict(dict)
    for ids in chunked(plant_ids):
        for plant_id, user_id, limits in connection.execute(_PEOPLE, {"ids": ids}):
            people[plant_id][user_id] = limits
    return people


@contextmanager
def changing_plants(tx: Transaction, plant_ids: Iterable[Id], aspect: PlantAspect = PlantAspect.PEOPLE) -> Iterator[None]:
    """Emit PlantChanged for each of these plants at the end of the `with` block.

    Inside the block, the caller changes `aspect` of the plants. Each event names all people who are members of its plant before
    the block or after the block.
    """
    changed_ids = sorted(set(plant_ids))
    before = people_of(tx.connection, changed_ids)
    yield
    after = people_of(tx.connection, changed_ids)
    for plant_id in changed_ids:
        former, current = before.get(plant_id, {}), after.get(plant_id, {})
        changed = {user_id for user_id, _ in former.items() ^ current.items()}
        user_ids = tuple(sorted(former.keys() | current.keys()))
        tx.emit(PlantChanged(plant_id=plant_id, user_ids=user_ids, aspect=aspect, members=tuple(sorted(changed))))


def list_plants_of_user(connection: Connection, user_id: Id) -> Sequence[Id]:
    return connection.execute(_PLANTS_OF_USER, {"user_id": user_id}).scalars().all()


def list_plants_inviting(connection: Connection, email: str) -> Sequence[Id]:
    return connection.execute(_PLANTS_INVITING, {"key": email_key(email)}).scalars().all()


def allow_user(tx: Transaction, plant_id: Id, user_id: Id, limits: Limits | None = None) -> bool:
    require_plant(tx, plant_id)
    key = tx.connection.execute(select(users.c.email_key).where(users.c.id == user_id)).scalar()
    if key is None:
        raise ValueError(f"there is no user {user_id}")
    if _find_role(tx, plant_id, user_id) is not None:
        return False
    with changing_plants(tx, [plant_id]):
        position = _next_positions(tx.connection, [plant_id])[plant_id]
        row = {
            "plant_id": plant_id,
            "user_id": user_id,
            "owner": False,
            "position": position,
            "limits": to_json_or_none(limits),
            "since": tx.position,
        }
        tx.connection.execute(insert(members), row)
        tx.connection.execute(_DISINVITE, {"of_plant": plant_id, "to_email": key})
    return True


def set_member_limits(tx: Transaction, plant_id: Id, user_id: Id, limits: Limits | None) -> bool:
    is_owner = _find_role(tx, plant_id, user_id)
    if is_owner is None:
        return False
    if is_owner:
        raise ValueError("the owner of a plant cannot have limits")
    member = and_(members.c.plant_id == plant_id, members.c.user_id == user_id)
    stored = to_json_or_none(limits)
    before = tx.connection.execute(select(members).where(member)).one()
    if before.limits != stored:
        since_of = keep_since({user_id: before.limits}, {user_id: before.since}, tx.position, tx.now)
        with changing_plants(tx, [plant_id]):
            tx.connection.execute(update(members).where(member).values(limits=stored, since=since_of(user_id, stored)))
    return True


def withdraw_user(tx: Transaction, plant_id: Id, user_id: Id) -> bool:
    is_owner = _find_role(tx, plant_id, user_id)
    if is_owner is None:
        return False
    if is_owner:
        raise ValueError("the owner's access to the plant cannot be withdrawn")
    with changing_plants(tx, [plant_id]):
        tx.connection.execute(delete(members).where(members.c.plant_id == plant_id, members.c.user_id == user_id))
    return True


def invite(tx: Transaction, plant_id: Id, email: str, limits: Limits | None = None) -> bool:
    require_plant(tx, plant_id)
    key = email_key(email)
    invited = select(users.c.id, users.c.password_hash).where(users.c.email_key == key)
    user = tx.connection.execute(invited).first()
    if user is not None and user.password_hash is not None:
        return allow_user(tx, plant_id, user.id, limits)
    if user is not None and _find_role(tx, plant_id, user.id) is not None:
        return False
    waiting = select(invitations.c.email_key, invitations.c.position).where(invitations.c.plant_id == plant_id)
    positions = {row.email_key: row.position for row in tx.connection.execute(waiting)}
    if key in positions:
        return False
    with changing_plants(tx, [plant_id]):
        position = max(positions.values(), default=-1) + 1
        row = {"plant_id": plant_id, "email_key": key, "email": email, "position": position, "limits": to_json_or_none(limits)}
        tx.connection.execute(insert(invitations), row)
    return True


def withdraw_invitation(tx: Transaction, plant_id: Id, email: str) -> bool:
    one = {"of_plant": plant_id, "to_email": email_key(email)}
    if NUL in email or tx.connection.execute(_INVITATION, one).first() is None:
        return False
    with changing_plants(tx, [plant_id]):
        tx.connection.execute(_DISINVITE, one)
    return True


def set_invitation_limits(tx: Transaction, plant_id: Id, email: str, limits: Limits | None) -> bool:
    if NUL in email:
        return False
    one = {"of_plant": plant_id, "to_email": email_key(email)}
    before = tx.connection.execute(select(invitations.c.limits).where(_THIS_INVITATION), one).first()
    if before is None:
        return False
    stored = to_json_or_none(limits)
    if before.limits != stored:
        with changing_plants(tx, [plant_id]):
            tx.connection.execute(update(invitations).where(_THIS_INVITATION).values(limits=stored), one)
    return True


def require_plant(tx: Transaction, plant_id: Id) -> None:
    if tx.connection.execute(select(plants.c.id).where(plants.c.id == plant_id)).first() is None:
        raise ValueError(f"there is no plant {plant_id}")


def _find_role(tx: Transaction, plant_id: Id, user_id: Id) -> bool | None:
    """Return True for the owner, False for an allowed user, and None for all other users."""
    role = select(members.c.owner).where(members.c.plant_id == plant_id, members.c.user_id == user_id)
    is_owner: bool | None = tx.connection.execute(role).scalar()
    return is_owner


SinceOf = Callable[[Id, str | None], int]
"""A function of a user id and limits.

It returns a cursor. A person with these limits may see the events after this cursor.
"""


def keep_since(limits_before: Mapping[Id, str | None], since: Mapping[Id, int], position: int, now: float) -> SinceOf:
    """Return a function that gives each person a cursor. The person may see the events after this cursor.

    Members whose membership continues keep their cursor. All others get `position`.
    """

    def since_of(user_id: Id, limits: str | None) -> int:
        stays = user_id in since and _continues(_read_limits(limits_before[user_id]), _read_limits(limits), now)
        return since[user_id] if stays else position

    return since_of


def _continues(before: Limits, after: Limits, now: float) -> bool:
    """Whether a member whose limits change keeps the cursor of the membership (Decision 0056).

    The member may see the events after this cursor.

    The member keeps the cursor under three conditions. The floors, ambients and modules are the same. The period of `before`
    has not ended. The period of `after` does not begin earlier. Otherwise the member would see earlier events that the limits
    `before` did not allow.
    """
    has_ended = before.valid_until is not None and before.valid_until <= now
    return before.places == after.places and not has_ended and (after.valid_from or 0.0) >= (before.valid_from or 0.0)


def _read_limits(limits: str | None) -> Limits:
    return Limits() if limits is None else decode_limits(limits)


def member_rows(plant_id: Id, people: Mapping[Id, str | None], since_of: SinceOf) -> list[dict[str, object]]:
    """Return the rows of these members of the plant. `people` has the limits of each member; its first member is the owner."""
    return [
        {
            "plant_id": plant_id,
            "user_id": user_id,
            "owner": position == 0,
            "position": position,
            "limits": limits,
            "since": since_of(user_id, limits),
        }
        for position, (user_id, limits) in enumerate(people.items())
    ]


def invitation_rows(plant_id: Id, invited: Mapping[str, str | None]) -> list[dict[str, object]]:
    """Return one row for each e-mail address, with its limits.

    If an address is listed in two spellings, the first one is used.
    """
    spelled: dict[str, str] = {}
    for email in invited:
        spelled.setdefault(email_key(email), email)
    return [
        {"plant_id": plant_id, "email_key": key, "email": email, "position": position, "limits": invited[email]}
        for position, (key, email) in enumerate(spelled.items())
    ]


def take_up_invitations(tx: Transaction, condition: ColumnElement[bool] | None = None) -> set[Id]:
    """If an invited user is active, add the user as a member, and remove the invitation. Return the changed plants.

    If the invited user is a member already, the invitation is removed too, even if the user is not active. If `condition` is
    given, only the invitations that fulfil it are used.
    """
    is_member = exists().where(members.c.plant_id == invitations.c.plant_id, members.c.user_id == users.c.id)
    due = (
        select(invitations.c.plant_id, invitations.c.email_key, users.c.id, invitations.c.limits)
        .join(users, users.c.email_key == invitations.c.email_key)
        .where(or_(users.c.password_hash.is_not(None), is_member))
        .order_by(invitations.c.plant_id, invitations.c.position)
    )
    rows = tx.connection.execute(due if condition is None else due.where(condition)).all()
    if not rows:
        return set()
    plant_ids = {row.plant_id for row in rows}
    next_position = _next_positions(tx.connection, plant_ids)
    since = tx.position
    joining = []
    for plant_id, _, user_id, limits in rows:
        joining.append(
            {
                "plant_id": plant_id,
                "user_id": user_id,
                "owner": False,
                "position": next_position[plant_id],
                "limits": limits,
                "since": since,
            }
        )
        next_position[plant_id] += 1
    execute_many(tx.connection, tx.database.insert(members).on_conflict_do_nothing(), joining)
    execute_many(tx.connection, _DISINVITE, [{"of_plant": plant_id, "to_email": key} for plant_id, key, _, _ in rows])
    return plant_ids


def move_invitations(tx: Transaction, former_email: str, email: str) -> None:
    """Move the invitations of one e-mail address to another. If a plant has invited both addresses, one invitation is kept.

    The caller emits the events, with `changing_plants`.
    """
    former = email_key(former_email)
    both = list_plants_inviting(tx.connection, email)
    execute_many(tx.connection, _DISINVITE, [{"of_plant": plant_id, "to_email": former} for plant_id in both])
    moving = update(invitations).where(invitations.c.email_key == former)
    tx.connection.execute(moving.values(email_key=email_key(email), email=email))


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
