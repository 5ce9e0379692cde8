"""Stores users."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, delete, exists, select, update

from domogate.domain.events import UserChanged
from domogate.domain.formats import email_key
from domogate.domain.ids import Id
from domogate.domain.people import Standing, User
from domogate.ports import LastOperator
from domogate.stores.codec import NUL, from_columns, to_row
from domogate.stores.direct import DirectStatement
from domogate.stores.engine import Transaction, chunked, execute_many
from domogate.stores.estate_history import drop_documents_of
from domogate.stores.grants import remove_grants
from domogate.stores.members import (
    changing_plants,
    list_plants_inviting,
    list_plants_of_user,
    move_invitations,
    take_up_invitations,
)
from domogate.stores.owned import remove_owned
from domogate.stores.sealing import seal, unseal
from domogate.stores.subject import SqlSubject, reads, writes
from domogate.stores.tables.identity import grants, passkeys, users
from domogate.stores.tables.plants import invitations, members, plants

_USERS = select(users, exists().where(passkeys.c.user_id == users.c.id).label("has_passkey"))
_USER = DirectStatement(_USERS.where(users.c.id == bindparam("user_id")))
_USER_BY_EMAIL = DirectStatement(_USERS.where(users.c.email_key == bindparam("key")))
_TERMS_EXPIRED = {Standing.GOOD: Standing.TERMS_EXPIRED, Standing.PASSWORD_EXPIRED: Standing.BOTH_EXPIRED}
_OTHER_TERMS = select(users.c.id, users.c.standing).where(
    users.c.terms_version.is_not(None), users.c.standing.in_([standing.value for standing in _TERMS_EXPIRED])
)
_EXPIRED_AT_ONCE = 500
_OPERATORS = select(users.c.id).where(users.c.operator.is_(True), users.c.id != bindparam("but")).limit(1)

_ACTIVE_OPERATOR = select(users.c.id).where(users.c.operator.is_(True), users.c.password_hash.is_not(None)).limit(1)


def user_to_row(tx: Transaction, user: User) -> dict[str, Any]:
    totp_secret = seal(tx, users.c.totp_secret, user.id, user.totp_secret)
    row = to_row(user, email_key=email_key(user.email), standing=user.standing.value, totp_secret=totp_secret)
    del row["has_passkey"]  # This value is read from the user's passkeys.
    return row


def _from_columns(connection: Connection, columns: Mapping[Any, Any]) -> User:
    return from_columns(
        User,
        columns,
        standing=Standing(columns["standing"]),
        totp_secret=unseal(connection, users.c.totp_secret, columns["id"], columns["totp_secret"]),
        # The database driver of SQLite returns numbers.
        operator=bool(columns["operator"]),
        email_verified=bool(columns["email_verified"]),
        has_passkey=bool(columns["has_passkey"]),
    )


def find_user(connection: Connection, user_id: Id) -> User | None:
    found = _USER.first(connection, {"user_id": user_id})
    return None if found is None else _from_columns(connection, found)


def find_user_by_email(connection: Connection, email: str) -> User | None:
    if NUL in email:
        return None
    found = _USER_BY_EMAIL.first(connection, {"key": email_key(email)})
    return None if found is None else _from_columns(connection, found)


def has_active_operator(connection: Connection) -> bool:
    return connection.execute(_ACTIVE_OPERATOR).first() is not None


def has_operator(connection: Connection) -> bool:
    return connection.execute(_OPERATORS, {"but": ""}).first() is not None


def list_users(connection: Connection) -> Sequence[User]:
    """Return all users, ordered by e-mail address."""
    found = [_from_columns(connection, row._mapping) for row in connection.execute(_USERS)]
    return sorted(found, key=lambda user: email_key(user.email))


def save_user(tx: Transaction, user: User) -> None:
    _write_user(tx, find_user(tx.connection, user.id), user)


def add_user(tx: Transaction, user: User) -> None:
    if find_user(tx.connection, user.id) is not None:
        raise ValueError(f"there is already a user {user.id}")
    _write_user(tx, None, user)


def change_user(tx: Transaction, user_id: Id, change: Callable[[User], User]) -> User | None:
    former = find_user(tx.connection, user_id)
    if former is None:
        return None
    changed = change(former)
    if changed.id != former.id:
        raise ValueError("the id of a user cannot be changed")
    if changed == former:
        return former
    if former.operator and not changed.operator:
        _require_another_operator(tx, former)
    return _write_user(tx, former, changed)


def claim_operator(tx: Transaction, user: User) -> User | None:
    if has_operator(tx.connection):
        return None
    known = find_user_by_email(tx.connection, user.email)
    return _write_user(tx, known, msgspec.structs.replace(known or user, operator=True))


def _require_another_operator(tx: Transaction, user: User) -> None:
    if user.operator and tx.connection.execute(_OPERATORS, {"but": user.id}).first() is None:
        raise LastOperator(f"{user.email} is the last operator: make another user an operator first")


def _write_user(tx: Transaction, former: User | None, user: User) -> User:
    other = find_user_by_email(tx.connection, user.email)
    if other is not None and other.id != user.id:
        raise ValueError(f"the e-mail {user.email} belongs to another user")
    moved = former is not None and email_key(former.email) != email_key(user.email)
    if moved:
        user = msgspec.structs.replace(user, email_verified=False)
    plant_ids_changed: set[Id] = set()
    invited_as = former.email if former is not None and moved and not former.active else None
    if invited_as is not None:
        plant_ids_changed.update(list_plants_inviting(tx.connection, invited_as))
    if former is not None and former.email != user.email:
        plant_ids_changed.update(list_plants_of_user(tx.connection, user.id))
    inviting = set(list_plants_inviting(tx.connection, user.email))
    if not user.active:  # Only the invitations to plants of which the user is a member already are removed.
        inviting.intersection_update(list_plants_of_user(tx.connection, user.id))
    plant_ids_changed.update(inviting)
    with changing_plants(tx, plant_ids_changed):
        tx.connection.execute(tx.upsert(users), user_to_row(tx, user))
        if invited_as is not None:  # The person has not accepted the invitations yet.
            move_invitations(tx, invited_as, user.email)
        if inviting or invited_as is not None:
            take_up_invitations(tx, invitations.c.email_key == email_key(user.email))
    tx.emit(UserChanged(user_id=user.id))
    return user


def expire_terms(tx: Transaction, version: str) -> int:
    """Mark the terms as expired for some of the users who accepted another version of the terms than `version`.

    Users who are marked already are left out. Return the number of newly marked users. 0 means that no user is left to mark.
    """
    former = _OTHER_TERMS.where(users.c.terms_version != version)
    rows = tx.connection.execute(former.order_by(users.c.id).limit(_EXPIRED_AT_ONCE)).all()
    for user_id, standing in rows:
        expired = _TERMS_EXPIRED[Standing(standing)].value
        tx.connection.execute(update(users).where(users.c.id == user_id).values(standing=expired))
        tx.emit(UserChanged(user_id=user_id))
    return len(rows)


def delete_user(tx: Transaction, user_id: Id) -> bool:
    user = find_user(tx.connection, user_id)
    if user is None:
        return False
    owned = select(plants.c.name).join(members).where(members.c.user_id == user_id, members.c.owner.is_(True))
    names = tx.connection.execute(owned).scalars().all()
    if names:
        raise ValueError(f"{user.email} owns {', '.join(sorted(names))}: a plant must have an owner")
    _require_another_operator(tx, user)
    plant_ids = {*list_plants_of_user(tx.connection, user_id), *list_plants_inviting(tx.connection, user.email)}
    with changing_plants(tx, plant_ids):
        tx.connection.execute(delete(members).where(members.c.user_id == user_id))
        tx.connection.execute(delete(invitations).where(invitations.c.email_key == email_key(user.email)))
    remove_users(tx, [user_id])
    return True


def remove_users(tx: Transaction, user_ids: Sequence[Id]) -> None:
    """Remove these users, their applications, keys and grants.

    Also remove the stored estate files of earlier imports that contain e-mail addresses of these users (`drop_documents_of`).
    The database removes all other rows that refer to these users. The users must not be members of any plant.
    """
    emails = select(users.c.email).where(users.c.id.in_(bindparam("ids", expanding=True)))
    found = [email for ids in chunked(user_ids) for email in tx.connection.execute(emails, {"ids": ids}).scalars()]
    drop_documents_of(tx, found)
    remove_owned(tx, user_ids)
    remove_grants(tx, grants.c.user_id, user_ids)
    execute_many(tx.connection, delete(users).where(users.c.id == bindparam("gone")), [{"gone": gone} for gone in user_ids])
    for user_id in user_ids:
        tx.emit(UserChanged(user_id=user_id))


class SqlPeople(SqlSubject):
    """Stores users. Implements PeopleStore."""

    find_user = reads(find_user)
    find_user_by_email = reads(find_user_by_email)
    has_active_operator = reads(has_active_operator)
    has_operator = reads(has_operator)
    list_users = reads(list_users)
    save_user = writes(save_user)
    add_user = writes(add_user)
    change_user = writes(change_user)
    claim_operator = writes(claim_operator)
    delete_user = writes(delete_user)

    async def expire_terms(self, version: str) -> int:
        """Mark the terms as expired for all users who accepted another version of the terms than `version`.

        Return the number of newly marked users. Each write changes a few users, so that other writes are not delayed.
        """
        number = 0
        while expired := await self._write(expire_terms, version):
            number += expired
        return number
