"""Removes the records that an estate file does not list, in several steps.

A plant that is not in the file is removed with its content. In a plant that is in the file, content is removed only if the file
does not list it.

These functions are called after all parts of the file were imported. So a module that moved to another plant is already in
its new plant, and is kept.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BindParameter, Connection, Row, bindparam, func, select

from domogate.common.disk_ids import DiskIds
from domogate.domain.ids import Id
from domogate.ports import ImportSummary
from domogate.stores.engine import Transaction
from domogate.stores.estate_import import emit_changes, summarise
from domogate.stores.estate_rows import PLANT_ID
from domogate.stores.members import people_of
from domogate.stores.people import remove_users
from domogate.stores.reconcile import Difference, remove
from domogate.stores.tables.plants import ambients, floors, members, modules, plants

_PLANTS_A_PAGE = 500
_CONTENT = {"modules": modules, "ambients": ambients, "floors": floors}

_SIZE = select(func.count()).where(modules.c.plant_id == plants.c.id).scalar_subquery().label("size")
_PAGE = select(plants.c.id, _SIZE).where(plants.c.id > bindparam("after")).order_by(plants.c.id).limit(_PLANTS_A_PAGE)
_IDS: BindParameter[Any] = bindparam("ids", expanding=True)
_MEMBERS = select(members.c.user_id).where(members.c.user_id.in_(_IDS))


def count_modules(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(modules)).scalar_one()


def list_sizes(connection: Connection, after: str) -> list[tuple[Id, int]]:
    """Return the first plants whose ids are greater than `after`, each with the number of its modules.

    The plants are ordered by id. The result has at most `_PLANTS_A_PAGE` plants.
    """
    return [(row.id, row.size) for row in connection.execute(_PAGE, {"after": after})]


def has_unlisted(connection: Connection, plant_ids: Sequence[Id], listed: DiskIds) -> bool:
    return any(difference.gone for difference in _find_unlisted(connection, plant_ids, listed).values())


def remove_unlisted(tx: Transaction, plant_ids: Sequence[Id], listed: DiskIds) -> ImportSummary:
    """Remove the plants of `plant_ids` that are not in `listed`.

    In the remaining plants, remove the records that are not in `listed`. Return what was removed.
    """
    people_before = people_of(tx.connection, plant_ids)
    found = _find_unlisted(tx.connection, plant_ids, listed)
    for noun, table in {**_CONTENT, "plants": plants}.items():
        remove(tx, table, found[noun])
    changed = found["plants"].touched(0).union(*(found[noun].touched(PLANT_ID) for noun in _CONTENT))
    emit_changes(tx, changed, people_before, found)
    return summarise(found, set())


def remove_unlisted_users(tx: Transaction, user_ids: Sequence[Id]) -> None:
    """Remove these users, except users who became members of a plant during the import.

    The next import can remove the users that this call leaves.
    """
    kept = set(tx.connection.execute(_MEMBERS, {"ids": user_ids}).scalars())
    remove_users(tx, [user_id for user_id in user_ids if user_id not in kept])


def _find_unlisted(connection: Connection, plant_ids: Sequence[Id], listed: DiskIds) -> dict[str, Difference]:
    found = {"plants": _unlisted(connection.execute(select(plants).where(plants.c.id.in_(plant_ids))).all(), listed)}
    for noun, table in _CONTENT.items():
        found[noun] = _unlisted(connection.execute(select(table).where(table.c.plant_id.in_(plant_ids))).all(), listed)
    return found


def _unlisted(rows: Sequence[Row[Any]], listed: DiskIds) -> Difference:
    missing = listed.find_missing([row[0] for row in rows])
    return Difference(gone=[tuple(row) for row in rows if row[0] in missing])
