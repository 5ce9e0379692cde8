"""What a unit of work is given: the write transaction it runs in, and a place for the events it causes."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Executable, Insert, Table, insert

from domogate.domain.events import Change, Event
from domogate.stores.codec import to_json
from domogate.stores.engine import Database
from domogate.stores.tables import changes

_INSERT_CHANGES = insert(changes)


class Transaction:
    """The one write transaction of this moment; what is emitted becomes changes when it commits."""

    __slots__ = ("connection", "database", "events", "now")

    def __init__(self, database: Database, connection: Connection, now: float) -> None:
        self.database = database
        self.connection = connection
        self.now = now
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def upsert(self, table: Table) -> Insert:
        return self.database.upsert(table)

    def execute_bulk(self, statement: Executable, rows: Sequence[Mapping[str, Any]]) -> None:
        """Once for each row; only for statements that are made once and kept."""
        self.database.bulk(statement).execute(self.connection, rows)

    def write_changes(self, newest: int) -> Sequence[Change]:
        """Give every event its cursor, without a gap, and keep it."""
        committed = [Change(cursor, self.now, event) for cursor, event in enumerate(self.events, newest + 1)]
        self.execute_bulk(
            _INSERT_CHANGES,
            [
                {
                    "cursor": change.cursor,
                    "at": change.at,
                    "plant_id": getattr(change.event, "plant_id", None),
                    "event": to_json(change.event),
                }
                for change in committed
            ],
        )
        return committed
