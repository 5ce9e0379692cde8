"""Stores the running gateways, and the cursor up to which each gateway has applied the changes.

A `domogate` command waits until all gateways have applied its changes.
"""

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, select

from domogate.domain.ids import new_id
from domogate.ports import Clock
from domogate.stores.engine import Database
from domogate.stores.tables.feed import gateways

HEARTBEAT = 10.0
ALIVE = 25.0
"""In seconds. A gateway without a heartbeat for this time counts as stopped."""
_KEPT = 10 * ALIVE
"""In seconds. If the heartbeat of a gateway differs from the clock by more than this time, the row of the gateway is removed.

A gateway whose heartbeat is so far in the future was killed while its clock was wrong. It counts as stopped.
"""


class Presence:
    """The row of this process in the list of running gateways."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.id = new_id()
        self._database = database
        self._clock = clock

    def announce(self, connection: Connection, applied: int) -> None:
        """Write the heartbeat of this gateway, and the cursor of the last change that it has applied.

        Remove the rows of gateways that stopped long ago.
        """
        now = self._clock.now()
        connection.execute(delete(gateways).where(~gateways.c.seen_at.between(now - _KEPT, now + _KEPT)))
        connection.execute(self._database.upsert(gateways), {"id": self.id, "applied": applied, "seen_at": now})

    def leave(self, connection: Connection) -> None:
        connection.execute(delete(gateways).where(gateways.c.id == self.id))


def all_applied(connection: Connection, cursor: int, now: float, except_id: str) -> bool:
    """Return True if all running gateways except `except_id` have applied the changes up to `cursor`."""
    behind = exists().where(gateways.c.applied < cursor, _is_alive(now), gateways.c.id != except_id)
    return not connection.execute(select(behind)).scalar()


def any_running(connection: Connection, now: float, except_id: str) -> bool:
    """Return True if a gateway other than `except_id` runs on this database."""
    running = exists().where(_is_alive(now), gateways.c.id != except_id)
    return bool(connection.execute(select(running)).scalar())


def _is_alive(now: float) -> ColumnElement[bool]:
    return and_(gateways.c.seen_at > now - ALIVE, gateways.c.seen_at <= now + _KEPT)
