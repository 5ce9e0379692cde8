"""The position of this process in the change feed: it gives every change to the listeners once, in order.

Only the writer thread uses a Feed. Its own batches advance it directly. Changes that other processes committed in between are
read first, in the same transaction. While this process does not write, it polls for them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from domogate.domain.events import Change
from domogate.stores.codec import decode_event
from domogate.stores.engine import Database, newest_cursor
from domogate.stores.tables import changes

SELECT_CHANGES = select(changes.c.cursor, changes.c.at, changes.c.event).order_by(changes.c.cursor)
_BETWEEN = SELECT_CHANGES.where(changes.c.cursor > bindparam("after"), changes.c.cursor <= bindparam("until"))


def changes_from_rows(rows: Iterable[Row[Any]]) -> list[Change]:
    return [Change(row.cursor, row.at, decode_event(row.event)) for row in rows]


class Feed:
    """The cursor of the last change given to the listeners, and the changes after it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._token: object = None
        self.delivered = 0

    def start(self) -> None:
        """Begin after the newest change: snapshots that are read from now on include all changes up to it."""
        with self._database.reading.begin() as connection:
            self.delivered = newest_cursor(connection)

    def read_missing(self, connection: Connection, newest: int) -> list[Change]:
        """Return the changes of other processes up to `newest`. They count as delivered from now on."""
        if newest <= self.delivered:
            return []
        missing = changes_from_rows(connection.execute(_BETWEEN, {"after": self.delivered, "until": newest}))
        self.delivered = newest
        return missing

    def advance(self, own: Sequence[Change]) -> None:
        if own:
            self.delivered = own[-1].cursor

    def poll(self) -> list[Change]:
        """Return the changes that other processes committed. It is cheap if there are none."""
        if self._connection is None:
            self._connection = self._database.reading.connect()
        token = self._database.news_token(self._connection)
        if token == self._token:
            return []
        with self._connection.begin():
            missing = self.read_missing(self._connection, newest_cursor(self._connection))
        self._token = token
        return missing

    def close(self) -> None:
        """Also called after an error; the next poll connects again."""
        connection, self._connection, self._token = self._connection, None, None
        if connection is not None:
            connection.close()
