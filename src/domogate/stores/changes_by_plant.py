"""The index of changes by plant in a SQLite database.

It is a table to which many changes are added together (Decision 0147).

An ordinary index would get each change with the commit of this change. Two consecutive changes are nearly always of different
plants, so they would change different pages of the index. SQLite writes each changed page to its log completely.

The index has all changes up to a certain cursor. Later changes are found without the index. The table stores this cursor in a
row with an empty plant id. If it has several such rows, the highest cursor counts.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    bindparam,
    delete,
    desc,
    func,
    insert,
    literal,
    select,
    tuple_,
    union_all,
)

from domogate.domain.ids import Id
from domogate.stores.cursors import SELECT_CHANGES
from domogate.stores.direct import DirectStatement, Write
from domogate.stores.tables.feed import changes, changes_by_plant

INDEXED_TOGETHER = 500
"""When about this number of changes is not in the index yet, all of them are added to the index together."""

_ALL_UP_TO = ""
_COLUMNS = ["plant_id", "cursor"]
_INDEXED = select(func.coalesce(func.max(changes_by_plant.c.cursor), 0)).where(changes_by_plant.c.plant_id == _ALL_UP_TO)
_LATER: ColumnElement[bool] = changes.c.cursor > _INDEXED.scalar_subquery()
_NEW = select(changes.c.plant_id, changes.c.cursor).where(
    _LATER, changes.c.cursor <= bindparam("last"), changes.c.plant_id.is_not(None)
)
_ADD = DirectStatement(
    insert(changes_by_plant).from_select(
        _COLUMNS, union_all(_NEW, select(literal(_ALL_UP_TO), bindparam("last"))).order_by(*_COLUMNS)
    )
)


def add_changes(last: int) -> Write:
    """Return the write that adds all changes up to the cursor `last` to the index."""
    return Write(_ADD, ["last"], [(last,)])


def remove_changes(connection: Connection, last: int) -> None:
    """Remove the changes up to the cursor `last` from the index. Call this before they are removed from `changes`."""
    removed = select(changes.c.plant_id, changes.c.cursor).where(changes.c.cursor <= last)
    connection.execute(delete(changes_by_plant).where(tuple_(*changes_by_plant.c).in_(removed)))
    connection.execute(
        delete(changes_by_plant).where(changes_by_plant.c.plant_id == _ALL_UP_TO, changes_by_plant.c.cursor <= last)
    )


def select_after(plant_ids: Sequence[Id]) -> CompoundSelect[Any]:
    """Return a query for changes of these plants, the oldest first. Its parameters are `after`, `until` and `limit`."""
    after: BindParameter[int] = bindparam("after")
    until: BindParameter[int] = bindparam("until")
    of_plants = changes_by_plant.c.plant_id.in_(plant_ids)
    indexed = select(changes_by_plant.c.cursor).where(
        of_plants, changes_by_plant.c.cursor > after, changes_by_plant.c.cursor <= until
    )
    later = _later_of(plant_ids).where(changes.c.cursor > after, changes.c.cursor <= until)
    return _join(indexed.order_by(changes_by_plant.c.cursor), later).order_by("cursor")


def select_newest(plant_id: Id) -> CompoundSelect[Any]:
    """Return a query for the newest changes of a plant, the newest first. Its parameter is `limit`."""
    indexed = select(changes_by_plant.c.cursor).where(changes_by_plant.c.plant_id == plant_id)
    return _join(indexed.order_by(changes_by_plant.c.cursor.desc()), _later_of([plant_id])).order_by(desc("cursor"))


def _later_of(plant_ids: Sequence[Id]) -> Select[Any]:
    """Return a query for the changes of these plants that are not in the index yet."""
    return SELECT_CHANGES.order_by(None).where(_LATER, changes.c.plant_id.in_(plant_ids))


def _join(indexed: Select[Any], later: Select[Any]) -> CompoundSelect[Any]:
    """Return a query for the changes with the cursors of `indexed`, and for the changes of `later`."""
    limit: BindParameter[int] = bindparam("limit")
    earlier = SELECT_CHANGES.order_by(None).where(changes.c.cursor.in_(indexed.limit(limit)))
    joined: CompoundSelect[Any] = union_all(earlier, later)
    return joined.limit(limit)
