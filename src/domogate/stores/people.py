"""Users, and the applications they let in."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, bindparam, delete, select

from domogate.domain.events import ClientChanged, UserChanged
from domogate.domain.ids import Id
from domogate.domain.people import Client, Standing, User
from domogate.stores.codec import NUL, decode_grant_types, decode_texts, email_key, to_json
from domogate.stores.engine import execute_many
from domogate.stores.grants import remove_grants
from domogate.stores.members import changing_plants, list_plants_inviting, list_plants_of_user, take_up_invitations
from domogate.stores.tables import clients, grants, invitations, members, plants, users
from domogate.stores.transaction import Transaction

_USER = select(users).where(users.c.id == bindparam("user_id"))
_USER_BY_EMAIL = select(users).where(users.c.email_key == bindparam("key"))
_OPERATORS = select(users.c.id).where(users.c.operator.is_(True), users.c.id != bindparam("but")).limit(1)
_CLIENT = select(clients).where(clients.c.id == bindparam("client_id"))


def user_to_row(user: User) -> tuple[Any, ...]:
    """In the order of the columns of `tables.users`."""
    return (
        user.id,
        user.email,
        email_key(user.email),
        user.name,
        user.password_hash,
        user.standing.value,
        user.operator,
        user.totp_secret,
        user.email_verified,
    )


def user_from_row(row: Row[Any]) -> User:
    return User(
        id=row.id,
        email=row.email,
        name=row.name,
        password_hash=row.password_hash,
        standing=Standing(row.standing),
        operator=row.operator,
        totp_secret=row.totp_secret,
        email_verified=row.email_verified,
    )


def find_user(connection: Connection, user_id: Id) -> User | None:
    row = connection.execute(_USER, {"user_id": user_id}).first()
    return None if row is None else user_from_row(row)


def find_user_by_email(connection: Connection, email: str) -> User | None:
    if NUL in email:
        return None
    row = connection.execute(_USER_BY_EMAIL, {"key": email_key(email)}).first()
    return None if row is None else user_from_row(row)


def list_users(connection: Connection) -> Sequence[User]:
    """By e-mail."""
    return sorted(map(user_from_row, connection.execute(select(users))), key=lambda user: email_key(user.email))


def save_user(tx: Transaction, user: User) -> None:
    _write_user(tx, find_user(tx.connection, user.id), user)


def add_user(tx: Transaction, user: User) -> None:
    if find_user(tx.connection, user.id) is not None:
        raise ValueError(f"there is a user {user.id} already")
    _write_user(tx, None, user)


def change_user(tx: Transaction, user_id: Id, change: Callable[[User], User]) -> User | None:
    former = find_user(tx.connection, user_id)
    if former is None:
        return None
    changed = change(former)
    if changed.id != former.id:
        raise ValueError("a user keeps their id")
    if changed == former:
        return former
    if former.operator and not changed.operator:
        _require_another_operator(tx, former)
    return _write_user(tx, former, changed)


def claim_operator(tx: Transaction, user: User) -> User | None:
    if tx.connection.execute(_OPERATORS, {"but": ""}).first() is not None:
        return None
    known = find_user_by_email(tx.connection, user.email)
    return _write_user(tx, known, msgspec.structs.replace(known or user, operator=True))


def _require_another_operator(tx: Transaction, user: User) -> None:
    if user.operator and tx.connection.execute(_OPERATORS, {"but": user.id}).first() is None:
        raise ValueError(f"{user.email} is the last operator: make somebody else an operator first")


def _write_user(tx: Transaction, former: User | None, user: User) -> User:
    namesake = find_user_by_email(tx.connection, user.email)
    if namesake is not None and namesake.id != user.id:
        raise ValueError(f"the e-mail {user.email} belongs to another user")
    if former is not None and email_key(former.email) != email_key(user.email):
        user = msgspec.structs.replace(user, email_verified=False)
    concerned: set[Id] = set()
    if former is not None and former.email != user.email:
        concerned.update(list_plants_of_user(tx.connection, user.id))
    if user.active:
        concerned.update(list_plants_inviting(tx.connection, user.email))
    with changing_plants(tx, concerned):
        tx.connection.execute(tx.upsert(users), dict(zip(users.columns.keys(), user_to_row(user), strict=True)))
        if user.active:
            take_up_invitations(tx, invitations.c.email_key == email_key(user.email))
    tx.emit(UserChanged(user_id=user.id))
    return user


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
    """Users who are in no plant any more, with all that is theirs: the database removes what refers to them."""
    remove_grants(tx, grants.c.user_id, user_ids)
    execute_many(tx.connection, delete(users).where(users.c.id == bindparam("gone")), [{"gone": gone} for gone in user_ids])
    for user_id in user_ids:
        tx.emit(UserChanged(user_id=user_id))


def client_to_row(client: Client) -> tuple[Any, ...]:
    """In the order of the columns of `tables.clients`."""
    return (
        client.id,
        client.name,
        client.secret_hash,
        to_json(client.redirect_uris),
        to_json(client.origins),
        to_json(client.grants),
        to_json(client.scopes),
        client.access_token_everywhere,
        client.pkce_exempt,
        to_json(client.post_logout_redirect_uris),
    )


def client_from_row(row: Row[Any]) -> Client:
    return Client(
        id=row.id,
        name=row.name,
        secret_hash=row.secret_hash,
        redirect_uris=decode_texts(row.redirect_uris),
        origins=decode_texts(row.origins),
        grants=decode_grant_types(row.grants),
        scopes=decode_texts(row.scopes),
        access_token_everywhere=row.access_token_everywhere,
        pkce_exempt=row.pkce_exempt,
        post_logout_redirect_uris=decode_texts(row.post_logout_redirect_uris),
    )


def find_client(connection: Connection, client_id: str) -> Client | None:
    if NUL in client_id:
        return None
    row = connection.execute(_CLIENT, {"client_id": client_id}).first()
    return None if row is None else client_from_row(row)


def list_clients(connection: Connection) -> Sequence[Client]:
    """By id."""
    return sorted(map(client_from_row, connection.execute(select(clients))), key=lambda client: client.id)


def save_client(tx: Transaction, client: Client) -> None:
    tx.connection.execute(tx.upsert(clients), dict(zip(clients.columns.keys(), client_to_row(client), strict=True)))
    tx.emit(ClientChanged(client_id=client.id))


def add_client(tx: Transaction, client: Client) -> bool:
    if find_client(tx.connection, client.id) is not None:
        return False
    save_client(tx, client)
    return True


def change_client(tx: Transaction, client_id: str, change: Callable[[Client], Client]) -> Client | None:
    former = find_client(tx.connection, client_id)
    if former is None:
        return None
    changed = change(former)
    if changed.id != former.id:
        raise ValueError("a client keeps its id")
    if changed != former:
        save_client(tx, changed)
    return changed


def delete_client(tx: Transaction, client_id: str) -> bool:
    if find_client(tx.connection, client_id) is None:
        return False
    remove_clients(tx, [client_id])
    return True


def remove_clients(tx: Transaction, client_ids: Sequence[str]) -> None:
    remove_grants(tx, grants.c.client_id, client_ids)
    gone = [{"gone": client_id} for client_id in client_ids]
    execute_many(tx.connection, delete(clients).where(clients.c.id == bindparam("gone")), gone)
    for client_id in client_ids:
        tx.emit(ClientChanged(client_id=client_id))
