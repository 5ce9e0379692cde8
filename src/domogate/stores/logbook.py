"""The logbooks of emergency lighting, as they are read and as people write in them. `entries.py` is what units add."""

from collections.abc import Collection, Sequence
from math import isfinite
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from domogate.domain.ids import Id
from domogate.domain.logbook import LogbookEntry, LogbookKind
from domogate.domain.safety import EmergencyTest, FailureType
from domogate.ports import StoredEntry
from domogate.stores.codec import NUL, decode_test
from domogate.stores.entries import entry_to_row
from domogate.stores.lifecycle import StoreLifecycle
from domogate.stores.tables import logbook, modules, plants
from domogate.stores.transaction import Transaction

_INSERT_ONE = insert(logbook).returning(logbook.c.number)


class LogbookRows(StoreLifecycle):
    """The part of the store that keeps logbooks."""

    async def add_logbook_entry(self, entry: LogbookEntry) -> int:
        return await self._write(add_entry, entry)

    async def list_logbook(
        self,
        plant_id: Id,
        *,
        since: float = 0.0,
        until: float | None = None,
        kinds: Collection[LogbookKind] = (),
        after: int = 0,
        limit: int,
    ) -> Sequence[StoredEntry]:
        return await self._read(list_entries, plant_id, since, until, kinds, after, limit)


def add_entry(tx: Transaction, entry: LogbookEntry) -> int:
    if not isfinite(entry.at) or any(NUL in text for text in (entry.words, entry.by, entry.module)):
        raise ValueError(f"an entry of a logbook cannot be kept as it is: {entry}")
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


def list_entries(
    connection: Connection,
    plant_id: Id,
    since: float,
    until: float | None,
    kinds: Collection[LogbookKind],
    after: int,
    limit: int,
) -> Sequence[StoredEntry]:
    """From `since` on and before `until`: periods that follow each other have no entry in common."""
    query = select(logbook).where(logbook.c.plant_id == plant_id, logbook.c.at >= since, logbook.c.number > after)
    if until is not None:
        query = query.where(logbook.c.at < until)
    if kinds:
        query = query.where(logbook.c.kind.in_(sorted(kind.value for kind in kinds)))
    return [
        StoredEntry(row.number, _from_row(row)) for row in connection.execute(query.order_by(logbook.c.number).limit(limit))
    ]


def _from_row(row: Row[Any]) -> LogbookEntry:
    test: EmergencyTest | None = None if row.test is None else decode_test(row.test)
    return LogbookEntry(
        plant_id=row.plant_id,
        at=row.at,
        kind=LogbookKind(row.kind),
        module_id=row.module_id,
        module=row.module,
        test=test,
        failure=None if row.failure is None else FailureType(row.failure),
        words=row.words,
        by=row.by,
    )
