"""Stores the logbooks of emergency lighting. Lists their entries, and adds entries that people write.

`entries.py` writes the entries for reports of units and controllers.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from domogate.domain.ids import Id
from domogate.domain.logbook import LogbookEntry, LogbookKind
from domogate.domain.safety import EmergencyTest, FailureType
from domogate.ports import LogbookFilter, StoredEntry
from domogate.stores.codec import NUL, decode_test, from_row
from domogate.stores.engine import Transaction
from domogate.stores.entries import entry_to_row
from domogate.stores.tables.notices import logbook
from domogate.stores.tables.plants import modules, plants

_INSERT_ONE = insert(logbook).returning(logbook.c.number)


def add_logbook_entry(tx: Transaction, entry: LogbookEntry) -> int:
    if not isfinite(entry.at) or any(NUL in text for text in (entry.words, entry.by, entry.module)):
        raise ValueError(f"the logbook entry cannot be stored unchanged: {entry}")
    if tx.connection.execute(select(plants.c.id).where(plants.c.id == entry.plant_id)).first() is None:
        raise ValueError(f"there is no plant {entry.plant_id}")
    row = entry_to_row(entry)
    if entry.module_id is not None:
        here = select(modules.c.name).where(modules.c.id == entry.module_id, modules.c.plant_id == entry.plant_id)
        name = tx.connection.execute(here).scalar()
        if name is None:
            raise ValueError(f"there is no module {entry.module_id} in the plant {entry.plant_id}")
        row["module"] = name
    number: int = tx.connection.execute(_INSERT_ONE, row).scalar_one()
    return number


def list_logbook(
    connection: Connection, plant_id: Id, wanted: LogbookFilter, limit: int, after: int = 0
) -> Sequence[StoredEntry]:
    query = select(logbook).where(logbook.c.plant_id == plant_id, logbook.c.at >= wanted.since, logbook.c.number > after)
    if wanted.until is not None:
        query = query.where(logbook.c.at < wanted.until)
    if wanted.kinds:
        query = query.where(logbook.c.kind.in_(sorted(kind.value for kind in wanted.kinds)))
    return [
        StoredEntry(row.number, _from_row(row)) for row in connection.execute(query.order_by(logbook.c.number).limit(limit))
    ]


def _from_row(row: Row[Any]) -> LogbookEntry:
    test: EmergencyTest | None = None if row.test is None else decode_test(row.test)
    failure = None if row.failure is None else FailureType(row.failure)
    return from_row(LogbookEntry, row, kind=LogbookKind(row.kind), test=test, failure=failure)
