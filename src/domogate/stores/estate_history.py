"""Stores the history of imports.

The store keeps the last imported files (documents) in compressed form. A document that names a deleted user is removed.
"""

import zlib
from collections.abc import Collection, Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from domogate.ports import ImportRecord, ImportSummary
from domogate.stores.codec import decode_summary, to_json
from domogate.stores.engine import Transaction
from domogate.stores.tables.plants import estate_imports

MOST_RECORDS, MOST_DOCUMENTS = 500, 20
MOST_BYTES = 4 * 1024 * 1024
"""The largest total size of the stored documents in bytes, after compression."""

_MOST_SEARCHED = 20

_INSERT = insert(estate_imports).returning(estate_imports.c.number)
_DOCUMENTS = (
    select(estate_imports.c.number, estate_imports.c.document)
    .where(estate_imports.c.document.is_not(None))
    .order_by(estate_imports.c.number.desc())
    .limit(MOST_DOCUMENTS + 1)
)
_DROP = update(estate_imports).where(estate_imports.c.number == bindparam("of_number")).values(document=None)
_HAS_DOCUMENT = estate_imports.c.document.is_not(None).label("has_document")
_COLUMNS = [column for column in estate_imports.columns if column.name != "document"]


def add_import(tx: Transaction, user_id: str | None, summary: ImportSummary, *, prune: bool, document: str | None) -> int:
    row = {
        "at": tx.now,
        "user_id": user_id,
        "prune": prune,
        "summary": to_json(summary),
        "document": None if document is None else zlib.compress(document.encode()),
    }
    number: int = tx.connection.execute(_INSERT, row).scalar_one()
    tx.connection.execute(delete(estate_imports).where(estate_imports.c.number <= number - MOST_RECORDS))
    size = 0
    for index, (kept, content) in enumerate(tx.connection.execute(_DOCUMENTS).all()):
        size += len(content)
        if index >= MOST_DOCUMENTS or size > MOST_BYTES:
            tx.connection.execute(_DROP, {"of_number": kept})
    return number


def list_imports(connection: Connection, before: int | None, limit: int) -> Sequence[ImportRecord]:
    """Return the newest imports. The newest import is first.

    If `before` is given, return only imports whose numbers are lower than `before`.
    """
    query = select(*_COLUMNS, _HAS_DOCUMENT).order_by(estate_imports.c.number.desc()).limit(limit)
    if before is not None:
        query = query.where(estate_imports.c.number < before)
    return [
        ImportRecord(row.number, row.at, row.user_id, row.prune, decode_summary(row.summary), row.has_document)
        for row in connection.execute(query)
    ]


def find_import_document(connection: Connection, number: int) -> str | None:
    stored: bytes | None = connection.execute(
        select(estate_imports.c.document).where(estate_imports.c.number == number)
    ).scalar()
    return None if stored is None else zlib.decompress(stored).decode()


def drop_documents_of(tx: Transaction, emails: Collection[str]) -> None:
    """Remove the estate files of earlier imports that contain one of these e-mail addresses.

    With more than `_MOST_SEARCHED` addresses, a search would take too long, so the files of all imports are removed.
    """
    if not emails:
        return
    wanted = [email.casefold() for email in emails]
    for number, content in tx.connection.execute(_DOCUMENTS).all():
        text = "" if len(wanted) > _MOST_SEARCHED else zlib.decompress(content).decode().casefold()
        if not text or any(email in text for email in wanted):
            tx.connection.execute(_DROP, {"of_number": number})
