"""Comparing what a table holds with what it should hold, and writing only the difference."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from sqlalchemy import Table, bindparam, delete, select

from domogate.stores.engine import Transaction, chunked

RowValues = tuple[Any, ...]
"""The values of a row in the order of its table's columns; the first is its key."""

_ROWS_A_STATEMENT = 5_000


class Difference(msgspec.Struct):
    """What to add, what to update (the old and the new row), and what is held but not wanted."""

    added: list[RowValues] = []
    updated: list[tuple[RowValues, RowValues]] = []
    gone: list[RowValues] = []

    def touched(self, column: int) -> set[Any]:
        """All values of one column on either side of the difference."""
        found = {row[column] for row in self.added} | {row[column] for row in self.gone}
        for old, new in self.updated:
            found.update((old[column], new[column]))
        return found


def collect(noun: str, rows: Iterable[RowValues]) -> dict[Any, RowValues]:
    """By key. Raises ValueError where two rows have the same."""
    collected: dict[Any, RowValues] = {}
    for row in rows:
        if row[0] in collected:
            raise ValueError(f"the estate has two {noun} with the id {row[0]}")
        collected[row[0]] = row
    return collected


def compare(tx: Transaction, table: Table, wanted: dict[Any, RowValues], *, prune: bool) -> Difference:
    """Row by row, without holding the table in memory; `gone` is filled only when it is to be removed."""
    difference = Difference()
    left = dict(wanted)
    rows = tx.connection.execute(select(table), execution_options={"yield_per": 1_000})
    for row in rows:
        new = left.pop(row[0], None)
        if new is None:
            if prune:
                difference.gone.append(tuple(row))
        elif tuple(row) != new:
            difference.updated.append((tuple(row), new))
    difference.added.extend(left.values())
    return difference


def write(tx: Transaction, table: Table, difference: Difference) -> None:
    write_rows(tx, table, [*difference.added, *(new for _, new in difference.updated)])


def write_rows(tx: Transaction, table: Table, rows: Sequence[RowValues]) -> None:
    names = table.columns.keys()
    for chunk in chunked(rows, _ROWS_A_STATEMENT):
        tx.connection.execute(tx.upsert(table), [dict(zip(names, row, strict=True)) for row in chunk])


def remove(tx: Transaction, table: Table, difference: Difference) -> None:
    key = next(iter(table.primary_key))
    statement = delete(table).where(key == bindparam("gone"))
    for chunk in chunked(difference.gone, _ROWS_A_STATEMENT):
        tx.connection.execute(statement, [{"gone": row[0]} for row in chunk])
