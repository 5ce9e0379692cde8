"""Keeps the position of this process in the change feed."""

import time
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from sqlalchemy import Connection

from domogate.common.log import get_logger
from domogate.domain.events import Change, ChangesLost
from domogate.stores.codec import decode_event
from domogate.stores.cursors import CHANGES_BETWEEN, Rows, TransactionStart, changes_from_rows, complete_cursor
from domogate.stores.engine import Database

PAGE = 1_000

_log = get_logger(__name__)


class FeedPage(NamedTuple):
    """Changes to pass to the listeners, in the order of their cursors."""

    changes: Sequence[Change]
    foreign: Sequence[Change]
    """The changes that other processes committed."""
    more: bool = False
    """Whether the page is full, so that there may be further changes: the caller polls again at once."""


class Feed:
    """The position of this process in the change feed. It is the cursor of the last change that the listeners got.

    When the writer thread runs, only this thread changes this object. A write transaction with the lock `WriteLock.EXCLUSIVE`
    sees all earlier changes. So it also reads the changes that other processes committed before it (`read_missing`). While no
    such transaction runs, this process finds the changes of other processes by polling (`poll`).
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._token: object = None
        self._own: dict[int, Change] = {}
        """Changes that this process committed and that are not delivered yet."""
        self._mark: tuple[float, int] | None = None
        """The time when an earlier read began, and the newest change that this read saw but could not deliver yet.

        A change cannot be delivered while a transaction with lower cursors still runs.
        """
        self.delivered = 0
        self.known_at = -inf
        """All changes that were committed before this time (monotonic) are delivered."""
        self.polled_at = -inf
        """The time (monotonic) of the last call of `poll`."""

    def start(self) -> None:
        """Set the position to the newest change.

        Snapshots that are read from now on include all changes up to this position.
        """
        self._database.prepare_feed()
        self.known_at = time.monotonic()
        with self._database.reading.begin() as connection:
            self.delivered = complete_cursor(connection)

    def read_missing(self, connection: Connection, start: TransactionStart) -> FeedPage:
        """Return the changes that were not delivered yet. They count as delivered from now on.

        `start` is the start of the transaction. The transaction must hold the exclusive lock. Without this lock, a change with
        a lower cursor could still appear later. The result can be ChangesLost, as in `poll`.
        """
        began = time.monotonic()
        if start.pruned > self.delivered or start.position < self.delivered:
            return self._lose(start.position, began)
        rows = connection.execute(CHANGES_BETWEEN, {"after": self.delivered, "until": start.newest}).all()
        self.delivered = start.newest
        self._mark, self.known_at = None, began
        return self._page(self._decode(rows))

    def keep(self, own: Sequence[Change]) -> None:
        """Remember the changes of a transaction that held the lock for writes in shared mode.

        A later poll returns them in the order of the cursors.
        """
        self._own.update((change.cursor, change) for change in own)

    def poll(self) -> FeedPage:
        """Return the next changes, and count them as delivered. The call takes little time if there are no changes.

        The result is the one event ChangesLost if changes were pruned before this process read them. The result is also
        ChangesLost if the PostgreSQL server was replaced by an older copy.
        """
        began = self.polled_at = time.monotonic()
        if self._connection is None:
            self._connection = self._database.connect_to_feed()
        token = self._database.change_token(self._connection)
        if token is not None and token == self._token:
            self.known_at = began
            return FeedPage((), ())
        read = self._database.read_feed(self._connection, self.delivered, PAGE)
        if read.is_lost:
            return self._lose(read.position, began)
        if len(read.rows) == PAGE:
            self.delivered = read.rows[-1].cursor
            return self._page(self._decode(read.rows), more=True)
        self.delivered = max(self.delivered, read.position)
        self._token = token
        self._note_knowledge(began, read.newest)
        return self._page(self._decode(read.rows))

    def _lose(self, position: int, began: float) -> FeedPage:
        """Continue at the cursor `position` without the changes before it."""
        _log.error("changes were removed before this gateway read them; it empties its caches", after=self.delivered)
        self._own.clear()
        self.delivered = position
        self._mark, self.known_at = None, began
        lost = [Change(position, time.time(), ChangesLost())]
        return FeedPage(lost, lost)

    def _note_knowledge(self, began: float, newest: int) -> None:
        """Set `known_at` after a read that began at `began`. The read saw the changes up to the cursor `newest`.

        All changes that were committed before the time `known_at` are delivered. A change waits while a change with a lower
        cursor may still appear. If a change of this read waits, `known_at` can become `began` only when a later read has
        delivered all changes up to `newest`.
        """
        if self.delivered >= newest:
            self._mark, self.known_at = None, began
        elif self._mark is None or self.delivered >= self._mark[1]:
            self.known_at = self.known_at if self._mark is None else self._mark[0]
            self._mark = (began, newest)

    def _decode(self, rows: Rows) -> list[Change]:
        own = self._own
        if not own:
            return changes_from_rows(rows)
        return [own.get(row.cursor) or Change(row.cursor, row.at, decode_event(row.event)) for row in rows]

    def _page(self, changes: Sequence[Change], *, more: bool = False) -> FeedPage:
        own = self._own
        foreign = [change for change in changes if own.pop(change.cursor, None) is None] if own else changes
        return FeedPage(changes, foreign, more)

    def close(self) -> None:
        """Close the connection to the database. If `poll` is called later, it connects again."""
        connection, self._connection, self._token = self._connection, None, None
        if connection is not None:
            connection.close()
