"""Compares a table with its wanted content, and writes only the difference."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from operator import itemgetter
from typing import Any

import msgspec
from sqlalchemy import Row, Table, bindparam, delete, select

from domogate.stores.engine import Transaction, chunked

RowValues = tuple[Any, ...]
"""The values of a row in the order of the columns of its table. The first is the key."""

_ROWS_A_STATEMENT = 5_000


class Difference(msgspec.Struct):
    """Rows to add, rows to update (old and new), and rows to remove."""

    added: list[RowValues] = []
    updated: list[tuple[RowValues, RowValues]] = []
    gone: list[RowValues] = []

    def touched(self, column: int) -> set[Any]:
        """Return the values of one column in the rows that are added, updated (old and new value) or removed."""
        found = {row[column] for row in self.added} | {row[column] for row in self.gone}
        for old, new in self.updated:
            found.update((old[column], new[column]))
        return found


def values_of(table: Table, row: Mapping[str, Any]) -> RowValues:
    return _getter(table)(row)


@cache
def _getter(table: Table) -> Callable[[Mapping[str, Any]], RowValues]:
    return itemgetter(*table.columns.keys())


def collect(noun: str, rows: Iterable[RowValues]) -> dict[Any, RowValues]:
    """Return the rows by key, which is the first value of a row. Raises ValueError if two rows have the same key."""
    collected: dict[Any, RowValues] = {}
    for row in rows:
        if row[0] in collected:
            raise ValueError(f"the estate has two {noun} with the id {row[0]}")
        collected[row[0]] = row
    return collected


def compare(tx: Transaction, table: Table, wanted: dict[Any, RowValues], *, prune: bool) -> Difference:
    """Compare the table with the wanted rows, row by row and without loading the whole table.

    If `prune` is false, only the rows with the wanted keys are read, and `gone` of the result is empty.
    """
    difference = Difference()
    left = dict(wanted)
    for row in _read_all(tx, table) if prune else _read_some(tx, table, wanted):
        new = left.pop(row[0], None)
        if new is None:
            if prune:
                difference.gone.append(tuple(row))
        elif tuple(row) != new:
            difference.updated.append((tuple(row), new))
    difference.added.extend(left.values())
    return difference


def _read_all(tx: Transaction, table: Table) -> Iterator[Row[Any]]:
    yield from tx.connection.execute(select(table), execution_options={"yield_per": 1_000})


def _read_some(tx: Transaction, table: Table, keys: Iterable[Any]) -> Iterator[Row[Any]]:
    key = next(iter(table.primary_key))
    some = select(table).where(tx.database.is_listed(key, "keys"))
    for chunk in chunked(keys, _ROWS_A_STATEMENT):
        yield from tx.connection.execute(some, {"keys": chunk})


def write(tx: Transaction, table: Table, difference: Difference) -> None:
    # An insert is faster than an upsert in a table with foreign keys.
    tx.database.insert_rows(tx.connection, table, difference.added)
    upsert = tx.database.bulk(tx.upsert(table))
    upsert.execute_tuples(tx.connection, table.columns.keys(), [new for _, new in difference.updated])


def remove(tx: Transaction, table: Table, difference: Difference) -> None:
    key = next(iter(table.primary_key))
    statement = delete(table).where(key == bindparam("gone"))
    for chunk in chunked(difference.gone, _ROWS_A_STATEMENT):
        tx.connection.execute(statement, [{"gone": row[0]} for row in chunk])
