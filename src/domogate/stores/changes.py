"""The change feed, as services and the command line read it. `feed.py` has the part that the writer uses."""

import asyncio
import time
from collections.abc import Collection, Sequence
from math import inf

from sqlalchemy import Connection, bindparam, delete, select, update

from domogate.domain.events import Change
from domogate.domain.ids import Id
from domogate.ports import Listener
from domogate.stores.changes_by_plant import remove_changes, select_after, select_newest
from domogate.stores.clock import FAR_AHEAD
from domogate.stores.cursors import CHANGES_BETWEEN, SELECT_CHANGES, changes_from_rows, complete_cursor, feed_span
from domogate.stores.engine import Transaction, chunked
from domogate.stores.presence import all_applied
from domogate.stores.subject import SqlSubject, reads, repeats
from domogate.stores.tables.feed import changes
from domogate.stores.tables.notices import parked

PRUNE_CHUNK = 1_000

_AFTER = CHANGES_BETWEEN.limit(bindparam("limit"))
_OF_PLANTS = _AFTER.where(changes.c.plant_id.is_not(None))


def list_changes(connection: Connection, after: int, limit: int, applied: int) -> Sequence[Change]:
    """Return the first `limit` changes after the cursor `after`.

    Stop before a change if a change with a lower cursor may still appear. But always include the changes up to the cursor
    `applied`, because this process has already received them.
    """
    until = max(complete_cursor(connection), applied)
    return changes_from_rows(connection.execute(_AFTER, {"after": after, "until": until, "limit": limit}))


def list_changes_of(
    connection: Connection, plant_ids: Collection[Id] | None, after: int, limit: int, applied: int
) -> Sequence[Change]:
    given = {"after": after, "until": max(complete_cursor(connection), applied), "limit": limit}
    if plant_ids is None:
        return changes_from_rows(connection.execute(_OF_PLANTS, given))
    found: list[Change] = []
    for ids in chunked(sorted(plant_ids)):
        query = select_after(ids) if _has_late_index(connection) else _AFTER.where(changes.c.plant_id.in_(ids))
        found += changes_from_rows(connection.execute(query, given))
    found.sort(key=lambda change: change.cursor)
    return found[:limit]


def list_newest_of(connection: Connection, plant_id: Id, limit: int) -> Sequence[Change]:
    if _has_late_index(connection):
        return changes_from_rows(connection.execute(select_newest(plant_id), {"limit": limit}))[::-1]
    newest = SELECT_CHANGES.where(changes.c.plant_id == plant_id).order_by(None).order_by(changes.c.cursor.desc()).limit(limit)
    return changes_from_rows(connection.execute(newest))[::-1]


def _has_late_index(connection: Connection) -> bool:
    """Whether the index of changes by plant is the table `changes_by_plant`. True for SQLite, False for PostgreSQL.

    A change is added to this table some time after its commit, together with many other changes. PostgreSQL has an ordinary
    index.
    """
    return connection.dialect.name == "sqlite"


def prune_changes(tx: Transaction, before: float) -> bool:
    """Remove some of the changes that are older than the time `before`. Return True if there may be more such changes.

    The newest change stays, because the next cursor is computed from it. A change with a time far in the future was written
    while the clock was wrong. It is removed together with the old changes. Otherwise no change after it could be removed.
    """
    latest = tx.now + FAR_AHEAD
    oldest = select(changes.c.cursor, changes.c.at).order_by(changes.c.cursor).limit(PRUNE_CHUNK + 1)
    rows = tx.connection.execute(oldest).all()
    old = 0
    while old < len(rows) - 1 and not before <= rows[old].at <= latest:
        old += 1
    if old:
        last = rows[old - 1].cursor
        # Pending deliveries that refer to these changes get a copy of the event.
        event = select(changes.c.event).where(changes.c.cursor == parked.c.cursor).scalar_subquery()
        tx.connection.execute(update(parked).where(parked.c.cursor <= last, parked.c.event == "").values(event=event))
        remove_changes(tx.connection, last)
        tx.connection.execute(delete(changes).where(changes.c.cursor <= last))
        tx.database.note_pruned(tx.connection, last)
    return old == PRUNE_CHUNK


class SqlFeed(SqlSubject):
    """Reads the change feed. Implements FeedStore."""

    list_newest_of = reads(list_newest_of)
    feed_span = reads(feed_span)
    prune_changes = repeats(prune_changes)

    async def list_changes(self, after: int, limit: int) -> Sequence[Change]:
        return await self._read(list_changes, after, limit, self._running().applied)

    async def list_changes_of(self, plant_ids: Collection[Id] | None, after: int, limit: int) -> Sequence[Change]:
        return await self._read(list_changes_of, plant_ids, after, limit, self._running().applied)

    async def newest_cursor(self) -> int:
        # This process may already have later changes than the changes up to the complete cursor of this snapshot.
        return max(await self._read(complete_cursor), self._running().applied)

    @property
    def written(self) -> int:
        """The cursor of the newest change that this process has committed."""
        return self._running().written

    @property
    def applied(self) -> int:
        """The cursor of the newest change that the listeners of this process have received."""
        return self._running().applied

    def poll_now(self) -> None:
        self._running().poll_now()

    def knowledge_age(self) -> float:
        return inf if self._writer is None else time.monotonic() - self._writer.known_at

    def listen(self, listener: Listener, *, states: bool = True) -> None:
        self._listeners.append((listener, states))

    async def wait_applied(self, timeout: float) -> bool:
        cursor = self._running().written
        own_id = self._presence.id if self._presence is not None else ""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while True:
            # The time is checked before the query. So if a query ends after the deadline, one more query follows.
            is_last = loop.time() >= deadline
            if await self._read(all_applied, cursor, self._clock.now(), own_id):
                return True
            if is_last:
                return False
            await asyncio.sleep(min(deadline - loop.time(), 0.02))
