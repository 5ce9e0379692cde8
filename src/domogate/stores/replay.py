"""The changes of some plants, for those who were away."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, func, select

from domogate.domain.events import Change
from domogate.domain.ids import Id
from domogate.stores.codec import decode_event
from domogate.stores.engine import chunked
from domogate.stores.lifecycle import StoreLifecycle
from domogate.stores.tables import changes

_SELECT = select(changes.c.cursor, changes.c.at, changes.c.event).order_by(changes.c.cursor)
# Each on its own is one step in the index; asked for together, SQLite walks through all of it.
_SPAN = select(
    select(func.min(changes.c.cursor)).scalar_subquery(),
    select(func.max(changes.c.cursor)).scalar_subquery(),
)


def list_changes_of(connection: Connection, plant_ids: Collection[Id], after: int, limit: int) -> Sequence[Change]:
    found: list[Change] = []
    for ids in chunked(sorted(plant_ids)):
        rows = connection.execute(_SELECT.where(changes.c.plant_id.in_(ids), changes.c.cursor > after).limit(limit))
        found += [Change(cursor, at, decode_event(event)) for cursor, at, event in rows]
    found.sort(key=lambda change: change.cursor)
    return found[:limit]


def feed_span(connection: Connection) -> tuple[int, int]:
    oldest, newest = connection.execute(_SPAN).one()
    return oldest or 0, newest or 0


class ReplayRows(StoreLifecycle):
    """The feed, read again."""

    async def list_changes_of(self, plant_ids: Collection[Id], after: int, limit: int) -> Sequence[Change]:
        return await self._read(list_changes_of, plant_ids, after, limit)

    async def feed_span(self) -> tuple[int, int]:
        return await self._read(feed_span)
