"""Counts for the overview that operators see. The database counts the rows, so the gateway does not load them."""

from typing import Any

from sqlalchemy import Connection, Select, case, func, select

from domogate.domain.figures import StoreFigures
from domogate.domain.plants import PlantStatus
from domogate.domain.reachability import AbsenceReason
from domogate.stores.plants import is_absent_because
from domogate.stores.subject import SqlSubject
from domogate.stores.tables.devices import orders
from domogate.stores.tables.notices import parked, webhooks
from domogate.stores.tables.plants import modules, plants, states

_LONGEST_ORDER = 600.0
"""In seconds: the assumed longest time from the queueing of an order to its end.

The count of the orders that ended after `since` leaves out orders that were queued more than this time before `since`. Such
orders are very rare. Without this limit, the query would read all stored orders.
"""

_REMOVED = select(plants.c.id).where(plants.c.status == PlantStatus.REMOVED.value)
_IN_USE = modules.c.plant_id.not_in(_REMOVED)
_REASON = case(*((is_absent_because(why), why.value) for why in AbsenceReason), else_="")
_ABSENT = (
    select(_REASON.label("why"), func.count().label("modules"))
    .select_from(states.join(modules, modules.c.id == states.c.module_id))
    .where(states.c.reachable.is_(False), _IN_USE)
    .group_by("why")
)
_PLANTS = select(plants.c.status, func.count()).group_by(plants.c.status)
_MODULES = select(func.count()).select_from(modules).where(_IN_USE)
_WEBHOOKS = select(func.count(), func.count(webhooks.c.failing_since), func.min(webhooks.c.failing_since)).where(
    webhooks.c.ended_at.is_(None)
)
_PENDING = select(func.count(), func.count(parked.c.dead_at), func.min(case((parked.c.dead_at.is_(None), parked.c.at))))
_OPEN_ORDERS = select(func.count()).select_from(orders).where(orders.c.ended_at.is_(None))


def count_figures(connection: Connection, since: float, now: float) -> StoreFigures:
    by_status = _count_by(connection, _PLANTS)
    active, failing, failing_since = connection.execute(_WEBHOOKS).one()
    parked_count, dead, oldest = connection.execute(_PENDING).one()
    ended = (
        select(orders.c.state, func.count())
        .where(orders.c.queued_at > since - _LONGEST_ORDER, orders.c.ended_at > since)
        .group_by(orders.c.state)
    )
    return StoreFigures(
        at=now,
        database=connection.dialect.name,
        size=_measure(connection),
        plants=by_status.get(PlantStatus.ACTIVE.value, 0),
        removed_plants=by_status.get(PlantStatus.REMOVED.value, 0),
        modules=connection.execute(_MODULES).scalar_one(),
        absent=_count_by(connection, _ABSENT),
        webhooks=active,
        failing_webhooks=failing,
        pending=parked_count - dead,
        oldest_pending=min((at for at in (oldest, failing_since) if at is not None), default=None),
        dead_letters=dead,
        open_orders=connection.execute(_OPEN_ORDERS).scalar_one(),
        ended_orders=_count_by(connection, ended),
    )


def _count_by(connection: Connection, grouped: Select[Any]) -> dict[str, int]:
    return {str(name): int(count) for name, count in connection.execute(grouped)}


def _measure(connection: Connection) -> int:
    """Return the size of the database in bytes."""
    if connection.dialect.name == "sqlite":
        pages, size = (connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in ("page_count", "page_size"))
        return int(pages * size)
    return int(connection.execute(select(func.pg_database_size(func.current_database()))).scalar_one())


class SqlFigures(SqlSubject):
    """Counts stored records. Implements FigureStore."""

    async def count_figures(self, since: float) -> StoreFigures:
        return await self._read(count_figures, since, self._clock.now())
