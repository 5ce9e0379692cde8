"""The audit log: appended to, never changed; and the pseudonyms by which it knows people."""

import secrets
from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, bindparam, insert, select

from domogate.domain.audit import GENESIS, AuditEntry, AuditRecord, chain
from domogate.domain.ids import Id
from domogate.stores.codec import to_json
from domogate.stores.engine import execute_many
from domogate.stores.grants import require_user
from domogate.stores.tables import audit, pseudonyms
from domogate.stores.transaction import Transaction

_decode_entry = msgspec.json.Decoder(AuditEntry).decode
_LAST = select(audit.c.number, audit.c.hash).order_by(audit.c.number.desc()).limit(1)
_RECORDS = select(audit).where(audit.c.number > bindparam("after")).order_by(audit.c.number).limit(bindparam("limit"))
_PSEUDONYM = select(pseudonyms.c.pseudonym).where(pseudonyms.c.user_id == bindparam("user_id"))
_INSERT = insert(audit)


def append_audit(tx: Transaction, entries: Sequence[AuditEntry]) -> None:
    last = tx.connection.execute(_LAST).first()
    number, previous = (0, GENESIS) if last is None else (last.number, last.hash)
    rows = []
    for entry in entries:
        # A whole number of seconds is read back as a float, and must have been hashed as one.
        kept = msgspec.structs.replace(entry, at=float(entry.at))
        number += 1
        previous = chain(previous, number, kept)
        rows.append({"number": number, "entry": to_json(kept), "hash": previous})
    execute_many(tx.connection, _INSERT, rows)


def list_audit(connection: Connection, after: int, limit: int) -> Sequence[AuditRecord]:
    rows = connection.execute(_RECORDS, {"after": after, "limit": limit})
    return [AuditRecord(row.number, _decode_entry(row.entry), row.hash) for row in rows]


def find_pseudonym(connection: Connection, user_id: Id) -> str | None:
    pseudonym: str | None = connection.execute(_PSEUDONYM, {"user_id": user_id}).scalar()
    return pseudonym


def make_pseudonym(tx: Transaction, user_id: Id) -> str:
    """The one that another caller made meanwhile, or else a new one, which tells nothing about the user."""
    known = find_pseudonym(tx.connection, user_id)
    if known is not None:
        return known
    require_user(tx, user_id)
    pseudonym = secrets.token_hex(16)
    tx.connection.execute(insert(pseudonyms), {"user_id": user_id, "pseudonym": pseudonym})
    return pseudonym
