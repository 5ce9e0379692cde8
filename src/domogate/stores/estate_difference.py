"""Compares an estate with the store without writing, for the preview of an import."""

from collections.abc import Iterator

import msgspec
from sqlalchemy import Connection, Table

from domogate.domain.estate import Estate
from domogate.ports import ImportDifference, RecordChange
from domogate.stores.cursors import complete_cursor
from domogate.stores.engine import Database, Transaction
from domogate.stores.estate_import import TABLE_OF, ImportPlan, plan_import, summarise
from domogate.stores.estate_rows import make_rows
from domogate.stores.reconcile import Difference
from domogate.stores.tables.identity import clients, users
from domogate.stores.tables.keys import subscriptions

_TABLE_OF = {"users": users, "clients": clients, "subscriptions": subscriptions, **TABLE_OF}
_NAME_OF = {"users": "email", "spare parts": "unit"}
"""The column by which people recognise a record, for some kinds of records. For other kinds it is the column `name`."""


def find_difference(
    connection: Connection, database: Database, now: float, estate: Estate, *, prune: bool, most: int
) -> ImportDifference:
    """Return what an import of the whole estate would change.

    `most` is the largest number of changes of each kind of record in the result.

    Raises ValueError if the estate contradicts itself or the store.
    """
    tx = Transaction(database, connection, now, complete_cursor(connection))
    plan = plan_import(tx, estate, make_rows(estate), prune=prune, is_all=True)
    changes: list[RecordChange] = []
    for noun, difference in plan.differences.items():
        found = _changes_of(noun, _TABLE_OF[noun], difference)
        if noun == "plants":
            found = _with_people(found, estate, plan)
        changes += (change for change, _ in zip(found, range(most), strict=False))
    return ImportDifference(summarise(plan.differences, plan.people.plant_ids), tuple(changes))


def _changes_of(noun: str, table: Table, difference: Difference) -> Iterator[RecordChange]:
    columns = table.columns.keys()
    name = columns.index(_NAME_OF.get(noun, "name"))
    for row in difference.added:
        yield RecordChange(noun, "added", row[0], row[name])
    for old, new in difference.updated:
        fields = tuple(str(column) for column, before, after in zip(columns, old, new, strict=True) if before != after)
        yield RecordChange(noun, "updated", new[0], new[name], fields)
    for row in difference.gone:
        yield RecordChange(noun, "removed", row[0], row[name])


def _with_people(found: Iterator[RecordChange], estate: Estate, plan: ImportPlan) -> Iterator[RecordChange]:
    """Yield the changes in `found`. If the people of an updated plant change too, the change of this plant also names `people`.

    At the end, yield one change for each plant of which only the people change. Such a change names only `people`.
    """
    left = set(plan.people.plant_ids)
    for change in found:
        has_people = change.id in left and change.change == "updated"
        left.discard(change.id)
        yield msgspec.structs.replace(change, fields=(*change.fields, "people")) if has_people else change
    yield from (
        RecordChange("plants", "updated", each.plant.id, each.plant.name, ("people",))
        for each in estate.plants
        if each.plant.id in left
    )
