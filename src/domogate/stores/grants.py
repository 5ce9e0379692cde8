"""Stores grants of users to applications. Revoking a grant revokes all its tokens.

A grant that has an authorization code is valid only after the code is exchanged for tokens.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, select, update

from domogate.domain.events import GrantRevoked
from domogate.domain.ids import Id
from domogate.domain.people import PAGES_CLIENT, Grant, GrantType
from domogate.stores.codec import NUL, decode_texts, to_json, to_json_or_none, to_row
from domogate.stores.direct import DirectStatement
from domogate.stores.engine import Transaction
from domogate.stores.tables.identity import authorization_codes as codes
from domogate.stores.tables.identity import clients, grants, sessions, users

_GRANT = select(grants).where(grants.c.id == bindparam("grant_id"))
_USER = DirectStatement(select(users.c.id).where(users.c.id == bindparam("user_id")))
_CLIENT = select(clients.c.id).where(clients.c.id == bindparam("client_id"))
_CODE_IS_NOT_REDEEMED = select(codes.c.code_hash).where(codes.c.grant_id == grants.c.id, codes.c.used_at.is_(None)).exists()
_IS_VALID = grants.c.revoked_at.is_(None) & ~_CODE_IS_NOT_REDEEMED
_VALID = (
    select(grants)
    .where(grants.c.user_id == bindparam("user_id"), grants.c.client_id != PAGES_CLIENT, _IS_VALID)
    .order_by(grants.c.created_at.desc(), grants.c.id)
)
_OF_CLIENT = (
    select(grants, users.c.email)
    .join(users, users.c.id == grants.c.user_id)
    .where(grants.c.client_id == bindparam("client_id"), grants.c.id > bindparam("after"), _IS_VALID)
    .order_by(grants.c.id)
    .limit(bindparam("limit"))
)


def grant_from_row(row: Sequence[Any]) -> Grant:
    """Make a grant from its row. `row` begins with all columns of the table `grants`, in the order of the table."""
    grant_id, user_id, client_id, scopes, flow, created_at, revoked_at, auth_time, factors, plants = row[:_COLUMNS]
    return Grant(
        grant_id,
        user_id,
        client_id,
        _decode_texts(scopes),
        GrantType(flow),
        created_at,
        revoked_at,
        auth_time,
        _decode_texts(factors),
        None if plants is None else _decode_plants(plants),
    )


_COLUMNS = len(grants.columns)
_decode_texts = lru_cache(maxsize=1_000)(decode_texts)
"""Decodes a list of texts. The results are cached, because many grants have the same scopes or login factors."""


@lru_cache(maxsize=1_000)
def _decode_plants(text: str) -> frozenset[Id]:
    """Return the plants of a grant. The result is cached, so that all verified tokens of the grant share one set."""
    return frozenset(map(Id, decode_texts(text)))


def has_user(tx: Transaction, user_id: Id) -> bool:
    return _USER.scalar(tx.connection, {"user_id": user_id}) is not None


def require_user(tx: Transaction, user_id: Id) -> None:
    if not has_user(tx, user_id):
        raise ValueError(f"there is no user {user_id}")


def add_grant(tx: Transaction, grant: Grant) -> None:
    require_user(tx, grant.user_id)
    if tx.connection.execute(_CLIENT, {"client_id": grant.client_id}).first() is None:
        raise ValueError(f"there is no client {grant.client_id}")
    row = to_row(
        grant,
        scopes=to_json(grant.scopes),
        flow=grant.flow.value,
        factors=to_json(grant.factors),
        plants=to_json_or_none(grant.plants),
    )
    tx.connection.execute(insert(grants), row)


def find_grant(connection: Connection, grant_id: Id) -> Grant | None:
    row = connection.execute(_GRANT, {"grant_id": grant_id}).first()
    return None if row is None else grant_from_row(row)


def list_grants(connection: Connection, user_id: Id) -> Sequence[Grant]:
    return [grant_from_row(row) for row in connection.execute(_VALID, {"user_id": user_id})]


def list_grants_of_client(connection: Connection, client_id: str, after: Id | None, limit: int) -> Sequence[tuple[Grant, str]]:
    rows = connection.execute(_OF_CLIENT, {"client_id": client_id, "after": after or "", "limit": limit})
    return [(grant_from_row(row), row.email) for row in rows]


def revoke_grant(tx: Transaction, grant_id: Id, at: float) -> bool:
    return bool(_revoke(tx, grants.c.id == grant_id, at))


def revoke_grants(tx: Transaction, user_id: Id, client_id: str | None, at: float) -> int:
    if client_id is not None and NUL in client_id:
        return 0
    condition = grants.c.user_id == user_id
    return _revoke(tx, condition if client_id is None else condition & (grants.c.client_id == client_id), at)


def revoke_pages(tx: Transaction, user_id: Id, auth_time: float) -> None:
    """Revoke the grants that the gateway's own pages got in one login of this user: the login at the time `auth_time`."""
    of_login = (grants.c.user_id == user_id) & (grants.c.client_id == PAGES_CLIENT) & (grants.c.auth_time == auth_time)
    _revoke(tx, of_login, tx.now)


def find_pages_without_session(connection: Connection, most: int) -> Sequence[Id]:
    """Return some valid grants of the gateway's own pages whose session does not exist any more: at most `most`."""
    session = select(sessions.c.id).where(sessions.c.user_id == grants.c.user_id, sessions.c.auth_time == grants.c.auth_time)
    of_login = (grants.c.client_id == PAGES_CLIENT) & grants.c.auth_time.is_not(None) & grants.c.revoked_at.is_(None)
    return connection.execute(select(grants.c.id).where(of_login, ~session.exists()).limit(most)).scalars().all()


def revoke_each(tx: Transaction, ids: Sequence[Id]) -> None:
    _revoke(tx, grants.c.id.in_(ids), tx.now)


def _revoke(tx: Transaction, condition: ColumnElement[bool], at: float) -> int:
    valid = update(grants).where(condition, grants.c.revoked_at.is_(None)).values(revoked_at=at)
    revoked = sorted(tx.connection.execute(valid.returning(grants.c.id)).scalars())
    for grant_id in revoked:
        tx.emit(GrantRevoked(grant_id=grant_id))
    return len(revoked)


def remove_grants(tx: Transaction, column: ColumnElement[str], values: Sequence[str]) -> None:
    """Remove the grants whose `column` has one of these values. The database also removes their codes and refresh tokens."""
    for value in values:
        for grant_id in tx.connection.execute(delete(grants).where(column == value).returning(grants.c.id)).scalars():
            tx.emit(GrantRevoked(grant_id=grant_id))
