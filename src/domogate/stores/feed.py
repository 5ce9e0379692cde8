"""The change feed: every change once, in order, whichever process wrote it.

Only the writer thread uses a Feed. Its own batches advance it directly; what others committed in between is read first,
in the same transaction, and while nothing is written it is found by polling.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, select

from domogate.domain.events import Change
from domogate.stores.codec import decode_event
from domogate.stores.engine import Database, newest_cursor
from domogate.stores.tables import changes

_SELECT = select(changes.c.cursor, changes.c.at, changes.c.event).order_by(changes.c.cursor)
_AFTER = _SELECT.where(changes.c.cursor > bindparam("after")).limit(bindparam("limit"))
_BETWEEN = _SELECT.where(changes.c.cursor > bindparam("after"), changes.c.cursor <= bindparam("until"))


def list_changes(connection: Connection, after: int, limit: int) -> Sequence[Change]:
    rows = connection.execute(_AFTER, {"after": after, "limit": limit})
    return [Change(cursor, at, decode_event(event)) for cursor, at, event in rows]


class Feed:
    """How far the listeners have come, and what they have not been given yet."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._token: object = None
        self.delivered = 0

    def start(self) -> None:
        """From now on: what is committed already is in every snapshot that can still be asked for."""
        with self._database.reading.begin() as connection:
            self.delivered = newest_cursor(connection)

    def read_missing(self, connection: Connection, newest: int) -> list[Change]:
        """The changes of other processes up to `newest`; they count as delivered from here on."""
        if newest <= self.delivered:
            return []
        rows = connection.execute(_BETWEEN, {"after": self.delivered, "until": newest})
        missing = [Change(cursor, at, decode_event(event)) for cursor, at, event in rows]
        self.delivered = newest
        return missing

    def advance(self, own: Sequence[Change]) -> None:
        if own:
            self.delivered = own[-1].cursor

    def poll(self) -> list[Change]:
        """What others committed since; next to nothing is done when they did not."""
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
        """Also after an error: the next poll connects anew."""
        connection, self._connection, self._token = self._connection, None, None
        if connection is not None:
            connection.close()
