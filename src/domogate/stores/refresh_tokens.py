"""Stores refresh tokens. A rotation replaces a token by its successor.

Rotations are frequent, so one SQL statement serves several callers. A rotation has the lock `WriteLock.EXCLUSIVE`. So only one
of several concurrent callers can replace a token.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, insert, select, update

from domogate.domain.authorization import RefreshToken, Rotation, RotationOutcome
from domogate.domain.people import Grant
from domogate.stores.codec import from_row
from domogate.stores.direct import DirectStatement
from domogate.stores.engine import Transaction
from domogate.stores.grants import find_grant, grant_from_row, revoke_grant
from domogate.stores.subject import SqlSubject, reads, writes
from domogate.stores.tables.identity import grants, refresh_tokens

_FIND = select(refresh_tokens, grants.c.client_id).join(grants).where(refresh_tokens.c.token_hash == bindparam("token_hash"))
_REPLACE = DirectStatement(
    update(refresh_tokens)
    .where(refresh_tokens.c.token_hash == bindparam("of_hash"), refresh_tokens.c.replaced_at.is_(None))
    .values(replaced_at=bindparam("at"), successor_hash=bindparam("successor"))
)
_INSERT = DirectStatement(insert(refresh_tokens))
_COLUMNS = refresh_tokens.columns.keys()


class _Row(msgspec.Struct):
    """A row of the table. Its fields have the order of the columns."""

    token_hash: str
    grant_id: str
    created_at: float
    expires_at: float
    replaced_at: float | None = None
    successor_hash: str | None = None


class RotationRequest(NamedTuple):
    """A refresh token that a client presented, and its successor.

    The successor gets the grant of the presented token. The grant in `successor` is ignored.
    """

    token_hash: str
    client_id: str
    successor: RefreshToken
    at: float
    grace: float


def add_refresh_token(tx: Transaction, token: RefreshToken) -> None:
    grant = find_grant(tx.connection, token.grant_id)
    if grant is None:
        raise ValueError(f"there is no grant {token.grant_id}")
    if grant.client_id != token.client_id:
        raise ValueError("the refresh token belongs to another client than its grant")
    _insert(tx, [_Row(token.token_hash, grant.id, token.created_at, token.expires_at, token.replaced_at)])


def find_refresh_token(connection: Connection, token_hash: str) -> RefreshToken | None:
    row = connection.execute(_FIND, {"token_hash": token_hash}).first()
    return None if row is None else from_row(RefreshToken, row)


def rotate_refresh_tokens(tx: Transaction, requests: Sequence[RotationRequest]) -> list[Rotation]:
    """Replace each presented token that is valid by its successor. Return the outcome of each request.

    If a token was replaced before, and its grant is not revoked, the outcome is one of these:

    - REPEATED if it was replaced at most `grace` seconds ago and its successor was not replaced, even if the token has expired.
    - Otherwise EXPIRED if the token has expired at the time of the request.
    - Otherwise REUSED. In this case the grant of the token is revoked.

    The result is the same as for requests that come one after the other.
    """
    return _Rotations(tx, requests).run(requests)


class _Rotations:
    """Handles several requests for new refresh tokens in one transaction, one request after the other.

    It keeps the tokens of these requests, their successors and their grants in memory. Each request sees the changes of the
    requests before it.
    """

    def __init__(self, tx: Transaction, requests: Sequence[RotationRequest]) -> None:
        self._tx = tx
        self._tokens: dict[str, _Row] = {}
        self._load({request.token_hash for request in requests})
        presented = list(self._tokens.values())
        self._load({row.successor_hash for row in presented if row.successor_hash is not None} - self._tokens.keys())
        found = tx.database.find_rows(tx.connection, grants.c.id, {row.grant_id for row in presented}) if presented else ()
        self._grants: dict[str, Grant] = {row[0]: grant_from_row(row) for row in found}
        self._replaced: list[_Row] = []
        self._added: list[_Row] = []

    def run(self, requests: Iterable[RotationRequest]) -> list[Rotation]:
        rotations = [self._rotate(request) for request in requests]
        rows = [{"of_hash": row.token_hash, "at": row.replaced_at, "successor": row.successor_hash} for row in self._replaced]
        _REPLACE.execute_many(self._tx.connection, rows)
        _insert(self._tx, self._added)
        return rotations

    def _rotate(self, request: RotationRequest) -> Rotation:
        token = self._tokens.get(request.token_hash)
        grant = None if token is None else self._grants[token.grant_id]
        if token is None or grant is None or grant.client_id != request.client_id or grant.revoked_at is not None:
            return Rotation(RotationOutcome.UNKNOWN)
        at, replaced_at = request.at, token.replaced_at
        # A repeated token may have expired: a client that lost the answer just before the expiry still gets the new token.
        if replaced_at is not None and at - replaced_at <= request.grace and self._has_newest_successor(token):
            return Rotation(RotationOutcome.REPEATED, grant)
        if token.expires_at <= at:
            return Rotation(RotationOutcome.EXPIRED)
        if replaced_at is not None:
            revoke_grant(self._tx, grant.id, at)
            self._grants[grant.id] = msgspec.structs.replace(grant, revoked_at=at)
            return Rotation(RotationOutcome.REUSED, grant)
        self._replace(token, request)
        return Rotation(RotationOutcome.ROTATED, grant)

    def _replace(self, token: _Row, request: RotationRequest) -> None:
        successor = request.successor
        token.replaced_at, token.successor_hash = request.at, successor.token_hash
        added = _Row(successor.token_hash, token.grant_id, successor.created_at, successor.expires_at)
        self._tokens[added.token_hash] = added
        self._replaced.append(token)
        self._added.append(added)

    def _has_newest_successor(self, token: _Row) -> bool:
        """Return whether the successor of the token is the newest token: no other token has replaced the successor."""
        successor = self._tokens.get(token.successor_hash or "")
        return successor is not None and successor.replaced_at is None

    def _load(self, hashes: set[str]) -> None:
        if hashes:
            for row in self._tx.database.find_rows(self._tx.connection, refresh_tokens.c.token_hash, hashes):
                self._tokens[row[0]] = _Row(*row)


def _insert(tx: Transaction, rows: Iterable[_Row]) -> None:
    _INSERT.execute_tuples(tx.connection, _COLUMNS, [msgspec.structs.astuple(row) for row in rows])


class SqlRefreshTokens(SqlSubject):
    """Stores refresh tokens. Implements a part of TokenStore."""

    add_refresh_token = writes(add_refresh_token)
    find_refresh_token = reads(find_refresh_token)

    async def rotate_refresh_token(
        self, token_hash: str, client_id: str, successor: RefreshToken, at: float, grace: float
    ) -> Rotation:
        request = RotationRequest(token_hash, client_id, successor, at, grace)
        return await self._write_together(rotate_refresh_tokens, request)
