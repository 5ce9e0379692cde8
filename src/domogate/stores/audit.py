"""Stores the audit log, and the pseudonyms of users in it. Records are added and never changed; old records are removed."""

import secrets
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select

from domogate.domain.audit import (
    GENESIS,
    AuditEntry,
    AuditRecord,
    Removal,
    UnreadableRecord,
    chain_encoded,
    encode_entry,
)
from domogate.domain.ids import Id
from domogate.stores.clock import FAR_AHEAD
from domogate.stores.direct import DirectStatement
from domogate.stores.engine import Transaction, chunked
from domogate.stores.readers import Lane
from domogate.stores.subject import SqlSubject, reads, repeats, writes
from domogate.stores.tables.identity import audit, pseudonyms, users
from domogate.stores.write_lock import WriteLock

_decode_entry = msgspec.json.Decoder(AuditEntry).decode
_LAST = select(audit.c.number, audit.c.hash).order_by(audit.c.number.desc()).limit(1)
_RECORDS = select(audit).where(audit.c.number > bindparam("after")).order_by(audit.c.number).limit(bindparam("limit"))
_NEWEST = select(audit).where(audit.c.number < bindparam("before")).order_by(audit.c.number.desc()).limit(bindparam("limit"))
_PSEUDONYMS = select(pseudonyms).where(pseudonyms.c.user_id.in_(bindparam("user_ids", expanding=True)))
_USERS = select(users.c.id).where(users.c.id.in_(bindparam("user_ids", expanding=True)))
_INSERT = DirectStatement(insert(audit))
_COLUMNS = audit.columns.keys()
_INSERT_PSEUDONYM = insert(pseudonyms)
_ENDS = select(func.min(audit.c.number), func.max(audit.c.number))

PRUNE_CHUNK = 5_000


def append_audit(tx: Transaction, entries: Sequence[AuditEntry]) -> None:
    last = tx.connection.execute(_LAST).first()
    number, previous = (0, GENESIS) if last is None else (last.number, last.hash)
    rows = []
    for entry in entries:
        # The database would return an int as a float, and the hash would be different.
        encoded = encode_entry(entry if type(entry.at) is float else msgspec.structs.replace(entry, at=float(entry.at)))
        number += 1
        previous = chain_encoded(previous, number, encoded)
        rows.append((number, encoded.decode(), previous))
    _INSERT.execute_tuples(tx.connection, _COLUMNS, rows)


def list_audit(connection: Connection, after: int, limit: int) -> Sequence[AuditRecord]:
    rows = connection.execute(_RECORDS, {"after": after, "limit": limit})
    return [_record_from_row(row) for row in rows]


def list_newest_audit(connection: Connection, before: int, limit: int) -> Sequence[AuditRecord]:
    rows = connection.execute(_NEWEST, {"before": before, "limit": limit})
    return [_record_from_row(row) for row in rows]


def list_pseudonyms(connection: Connection, among: Collection[str] | None = None) -> dict[str, Id]:
    if among is None:
        return {row.pseudonym: row.user_id for row in connection.execute(select(pseudonyms))}
    found: dict[str, Id] = {}
    for names in chunked(among):
        rows = connection.execute(select(pseudonyms).where(pseudonyms.c.pseudonym.in_(names)))
        found |= {row.pseudonym: row.user_id for row in rows}
    return found


def _record_from_row(row: Row[Any]) -> AuditRecord:
    try:
        return AuditRecord(row.number, _decode_entry(row.entry), row.hash)
    except (ValueError, TypeError):
        raise UnreadableRecord(row.number) from None


def prune_audit(tx: Transaction, before: float) -> bool:
    """Remove some of the records that are older than the time `before`, and add a record about the removal.

    Return True if there may be more records to remove. Raises UnreadableRecord if a record cannot be decoded.
    """
    first, last = tx.connection.execute(_ENDS).one()
    if first is None:
        return False
    first = _find_right_time(tx.connection, first, tx.now + FAR_AHEAD)
    most: int = min(last, first - 1 + PRUNE_CHUNK)
    removed = _find_last_before(tx.connection, first, most, before)
    if removed is None:
        return False
    append_audit(tx, [Removal(removed.number, removed.hash).to_entry(tx.now)])
    tx.connection.execute(delete(audit).where(audit.c.number <= removed.number))
    return most <= removed.number and most < int(last)


def _find_right_time(connection: Connection, first: int, latest: float) -> int:
    """Return the number of the first record whose time is not after `latest`.

    If there is none, return the number after the last record.

    `first` is the number of the oldest record. The records before the result have times after `latest`, because they were
    written while the clock was far ahead. The result was written after them, so they are removed together with it.
    """
    limit = 1  # The first record is nearly always the result.
    while rows := connection.execute(_RECORDS, {"after": first - 1, "limit": limit}).all():
        for row in rows:
            if _record_from_row(row).entry.at <= latest:
                return int(row.number)
        first, limit = rows[-1].number + 1, PRUNE_CHUNK
    return first


def _find_last_before(connection: Connection, first: int, last: int, before: float) -> AuditRecord | None:
    """Return the last record that is older than the time `before`, or None.

    Only the records with the numbers `first` to `last` are searched.

    The search is a binary search. It is exact enough, because the records are nearly in the order of their times.
    """
    found: AuditRecord | None = None
    while first <= last:
        middle = (first + last) // 2
        row = connection.execute(_RECORDS, {"after": middle - 1, "limit": 1}).one()
        record = _record_from_row(row)
        if record.entry.at < before:
            found, first = record, record.number + 1
        else:
            last = middle - 1
    return found


def find_pseudonyms(connection: Connection, user_ids: Collection[Id]) -> dict[Id, str]:
    found: dict[Id, str] = {}
    for some in chunked(user_ids):
        found |= {row.user_id: row.pseudonym for row in connection.execute(_PSEUDONYMS, {"user_ids": some})}
    return found


def make_pseudonyms(tx: Transaction, user_ids: Collection[Id]) -> dict[Id, str]:
    """Return the pseudonyms of these users. A user without a pseudonym gets a random one. Unknown users are left out."""
    known = find_pseudonyms(tx.connection, user_ids)
    for some in chunked(user_id for user_id in user_ids if user_id not in known):
        new = {user_id: secrets.token_hex(16) for user_id in tx.connection.execute(_USERS, {"user_ids": some}).scalars()}
        tx.execute_bulk(_INSERT_PSEUDONYM, [{"user_id": user_id, "pseudonym": name} for user_id, name in new.items()])
        known |= new
    return known


class SqlAudit(SqlSubject):
    """Stores the audit log. Implements AuditStore."""

    append_audit = writes(append_audit, lock=WriteLock.AUDIT)
    list_audit = reads(list_audit, lane=Lane.LONG)
    list_newest_audit = reads(list_newest_audit, lane=Lane.LONG)
    list_pseudonyms = reads(list_pseudonyms)
    prune_audit = repeats(prune_audit)

    async def find_pseudonyms(self, user_ids: Collection[Id]) -> dict[Id, str]:
        known = await self._read(find_pseudonyms, user_ids)
        missing = [user_id for user_id in user_ids if user_id not in known]
        return known | await self._write(make_pseudonyms, missing) if missing else known

    async def find_pseudonym(self, user_id: Id) -> str:
        found = await self.find_pseudonyms((user_id,))
        if not found:
            raise ValueError(f"there is no user {user_id}")
        return found[user_id]
