"""Stores authorization codes, and removes codes, tokens and grants that have ended. One write transaction consumes a code.

This transaction has the exclusive lock, so only one of several concurrent callers can consume a code.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Column, Connection, Row, Table, and_, bindparam, delete, exists, insert, or_, select, update

from domogate.domain.authorization import AuthorizationCode, RedeemedCode
from domogate.domain.people import Grant
from domogate.stores import attempts as counted
from domogate.stores.codec import decode_text, from_row, to_json_or_none, to_row
from domogate.stores.engine import Transaction
from domogate.stores.grants import add_grant, find_grant, find_pages_without_session, revoke_each, revoke_grant
from domogate.stores.refresh_tokens import SqlRefreshTokens
from domogate.stores.subject import writes
from domogate.stores.tables.identity import attempts, grants, links, refresh_tokens, sessions
from domogate.stores.tables.identity import authorization_codes as codes
from domogate.stores.tables.keys import usages
from domogate.stores.tables.notices import webhooks
from domogate.stores.tables.plants import invitation_links

PRUNE_CHUNK = 1_000
REMEMBERED = 3600.0
"""In seconds. Codes and refresh tokens are kept at least this long after they expired, to detect reuse."""

_CODE = select(codes).where(codes.c.code_hash == bindparam("code_hash"))
_USE_CODE = (
    update(codes)
    .where(codes.c.code_hash == bindparam("of_hash"), codes.c.used_at.is_(None))
    .values(used_at=bindparam("at"))
    .returning(*codes.c)
)


# --- Codes ------------------------------------------------------------------------------------------------------------


def add_code(tx: Transaction, grant: Grant, code: AuthorizationCode) -> None:
    if (code.grant_id, code.client_id) != (grant.id, grant.client_id):
        raise ValueError("the code belongs to another grant or client")
    add_grant(tx, grant)
    row = to_row(code, nonce=to_json_or_none(code.nonce))
    del row["client_id"]  # The grant has this value.
    tx.connection.execute(insert(codes), row)


def redeem_code(tx: Transaction, code_hash: str, at: float) -> RedeemedCode | None:
    """Consume the code, even if it has expired or its grant is revoked.

    The caller must check the expiry of the code and the state of the grant.

    If the code was consumed before, revoke its grant and return a result with `first` False. Return None if the code does not
    exist.
    """
    row = tx.connection.execute(_USE_CODE, {"of_hash": code_hash, "at": at}).first()
    first = row is not None
    if row is None:
        row = tx.connection.execute(_CODE, {"code_hash": code_hash}).first()
        if row is None:
            return None
        revoke_grant(tx, row.grant_id, at)
    grant = find_grant(tx.connection, row.grant_id)
    assert grant is not None, "the grant of a code exists as long as the code"
    return RedeemedCode(_code_from_row(row, grant), grant, first)


def _code_from_row(row: Row[Any], grant: Grant) -> AuthorizationCode:
    nonce = None if row.nonce is None else decode_text(row.nonce)
    return from_row(AuthorizationCode, row, client_id=grant.client_id, nonce=nonce)


# --- Pruning ----------------------------------------------------------------------------------------------------------

_EXPIRING = (sessions, links, attempts, invitation_links)
_WITH_TOKENS = (codes, refresh_tokens)
_USAGES_KEPT = 31
"""The number of days for which the daily usage of subscriptions is kept."""


def prune_unredeemed(tx: Transaction, expired_by: float) -> bool:
    """Remove some of the grants whose code expired before it was redeemed. Return True if there may be more such grants.

    No event is emitted, because these grants never had a token.
    """
    unredeemed = (
        select(codes.c.grant_id)
        .where(codes.c.used_at.is_(None), codes.c.expires_at <= expired_by)
        .order_by(codes.c.expires_at)
        .limit(PRUNE_CHUNK)
    )
    return tx.connection.execute(delete(grants).where(grants.c.id.in_(unredeemed))).rowcount == PRUNE_CHUNK


def prune_expired(tx: Transaction, table: Table, expired_by: float) -> bool:
    """Remove some of the rows that expired at `expired_by` or earlier. Return True if there may be more such rows."""
    key: Column[Any] = next(iter(table.primary_key))
    oldest = select(key).where(table.c.expires_at <= expired_by).order_by(table.c.expires_at).limit(PRUNE_CHUNK)
    return tx.connection.execute(delete(table).where(key.in_(oldest))).rowcount == PRUNE_CHUNK


def find_finished_grants(connection: Connection, ended_by: float) -> Sequence[str]:
    """Return some of the grants that have no valid token any more and can be removed.

    Each of these grants was revoked, or a later grant gives the same rights. The later grant is kept, because it shows what the
    person agreed to. A grant that an operator made (without `auth_time`) may have tokens of any lifetime, so it is kept
    until it is revoked. A grant with an active webhook is not returned.
    """
    later = grants.alias("later")
    same = [later.c[name] == grants.c[name] for name in ("user_id", "client_id", "flow", "scopes")]
    same.append(later.c.plants.is_not_distinct_from(grants.c.plants))
    is_newest = [later.c.revoked_at.is_(None), later.c.auth_time.is_not(None), later.c.created_at > grants.c.created_at]
    is_replaced = [
        grants.c.auth_time.is_not(None),
        grants.c.created_at <= ended_by,
        ~exists().where(codes.c.grant_id == grants.c.id),
        ~exists().where(refresh_tokens.c.grant_id == grants.c.id),
        exists().where(*same, *is_newest, ~exists().where(codes.c.grant_id == later.c.id, codes.c.used_at.is_(None))),
    ]
    finished = or_(grants.c.revoked_at <= ended_by, and_(*is_replaced))
    unused = ~exists().where(webhooks.c.grant_id == grants.c.id, webhooks.c.ended_at.is_(None))
    return connection.execute(select(grants.c.id).where(finished, unused).limit(PRUNE_CHUNK)).scalars().all()


def remove_finished_grants(tx: Transaction, ids: Sequence[str]) -> None:
    """Remove these grants. No event is emitted, because no token of these grants is valid."""
    tx.connection.execute(delete(grants).where(grants.c.id.in_(ids)))


def prune_usages(tx: Transaction, before_day: str) -> None:
    tx.connection.execute(delete(usages).where(usages.c.day < before_day))


class SqlTokens(SqlRefreshTokens):
    """Stores authorization codes and refresh tokens. Implements TokenStore."""

    add_code = writes(add_code)
    redeem_code = writes(redeem_code)

    async def prune_authorization(self, at: float, token_lifetime: float = 0.0) -> None:
        # If a code, refresh token or grant ended at this time or earlier, none of its tokens is valid any more.
        ended_by = at - max(REMEMBERED, token_lifetime)
        await self._repeat(prune_unredeemed, ended_by)
        await self._repeat(counted.prune_surplus, counted.MOST_KEPT)
        for table in _EXPIRING:
            await self._repeat(prune_expired, table, at)
        # A page that is still open must not use its refresh token after the end of the session (Decision 0076).
        while left := await self._read(find_pages_without_session, PRUNE_CHUNK):
            await self._write(revoke_each, left)
        for table in _WITH_TOKENS:
            await self._repeat(prune_expired, table, ended_by)
        # The search runs on a reader thread, because it takes too long for the writer thread.
        while finished := await self._read(find_finished_grants, ended_by):
            await self._write(remove_finished_grants, finished)
        day = datetime.fromtimestamp(at, UTC).date() - timedelta(days=_USAGES_KEPT)
        await self._write(prune_usages, day.isoformat())
