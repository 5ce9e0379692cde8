"""Copies a whole SQLite database into an empty PostgreSQL database, and compares the two.

The copy is one transaction. If it fails, the tables of the PostgreSQL database stay empty. The SQLite database is migrated to
the tables of this version if it is older. Apart from this, it is only read.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import msgspec
from sqlalchemy import Connection, Table, func, select, text
from sqlalchemy.exc import ArgumentError

from domogate.stores.engine import Database
from domogate.stores.migrate import find_revision, migrate
from domogate.stores.opening import find_sqlite_file, open_database
from domogate.stores.tables.all_tables import metadata

_NOT_COPIED = frozenset(("changes_by_plant", "feed", "gateways", "leases", "shards"))
"""Tables that are not copied: tables about gateways that run now, and tables that only SQLite or only PostgreSQL uses."""
_CHUNK = 5_000
_DIGEST = 16

_Progress = Callable[[int], None]


class MoveRefused(ValueError):
    """The database cannot be moved, or the copy differs from the source. The message says why. The source keeps its data."""


class Moved(msgspec.Struct, frozen=True):
    """The number of rows in each table, which is the same in both databases."""

    rows: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.rows.values())


class Move:
    """Copies one database into another, and compares the two. Call `close` at the end."""

    def __init__(self, source: str, target: str) -> None:
        """`source` is the URL of a SQLite file. Raises MoveRefused if `target` is not the URL of a PostgreSQL database. Also
        raises it if the Python package for PostgreSQL is not installed.
        """
        try:
            if find_sqlite_file(target) is not None:
                raise MoveRefused(
                    "a move goes from a SQLite file to a PostgreSQL server: give --to postgresql://user@host/name"
                )
            self._target = open_database(target)
        except (ArgumentError, ValueError) as error:
            raise MoveRefused(str(error)) from None
        self._source = open_database(source)

    def close(self) -> None:
        self._source.close()
        self._target.close()

    def count(self) -> int:
        """Return the number of rows to copy. If the source is of an older version of Domogate, it is migrated first."""
        migrate(self._source)
        with self._source.reading.begin() as connection:
            return sum(_count(connection, table) for table in _tables())

    def run(self, copied: _Progress, compared: _Progress) -> Moved:
        """Copy and compare everything, then commit. Raises MoveRefused if the target is not empty, or if the copy differs.

        `copied` and `compared` are called for a progress bar, with the number of rows that were copied or compared since the
        last call.
        """
        _refuse_used(self._target)
        migrate(self._target)
        with self._source.reading.begin() as reading, self._target.writing.begin() as writing:
            self._target.lock(writing)
            digests = {table.name: self._copy(reading, writing, table, copied) for table in _tables()}
            for table in _tables():
                _continue_numbers(writing, table)
            for table in _tables():
                count, digest = 0, 0
                for rows in _read(writing, table):
                    count, digest = count + len(rows), _add(digest, rows)
                    compared(len(rows))
                if (count, digest) != digests[table.name]:
                    raise MoveRefused(f"the table {table.name} differs after the copy; nothing was moved")
        return Moved({name: count for name, (count, _) in digests.items()})

    def _copy(self, reading: Connection, writing: Connection, table: Table, copied: _Progress) -> tuple[int, int]:
        """Copy all rows of the table. Return their number and their digest."""
        count, digest = 0, 0
        for rows in _read(reading, table):
            self._target.insert_rows(writing, table, rows)
            count, digest = count + len(rows), _add(digest, rows)
            copied(len(rows))
        return count, digest


def _tables() -> list[Table]:
    """Return the tables in an order in which each row comes after the rows that it refers to."""
    return [table for table in metadata.sorted_tables if table.name not in _NOT_COPIED]


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def _refuse_used(target: Database) -> None:
    with target.reading.connect() as connection:
        if find_revision(connection) is None:
            return
        if used := [table.name for table in _tables() if _count(connection, table)]:
            raise MoveRefused(
                f"the database {target.name} is not empty: it has rows in {', '.join(used[:5])}. Name an empty database."
            )


def _read(connection: Connection, table: Table) -> Iterator[list[tuple[Any, ...]]]:
    result = connection.execution_options(yield_per=_CHUNK).execute(select(table))
    for rows in result.partitions():
        yield [tuple(row) for row in rows]


def _add(digest: int, rows: list[tuple[Any, ...]]) -> int:
    """Add rows to the digest, and return the new digest.

    The digest does not depend on the order of the rows. The reason: the two databases of a move sort texts differently.
    """
    for row in rows:
        digest += int.from_bytes(blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest())
    return digest % (1 << 8 * _DIGEST)


def _continue_numbers(connection: Connection, table: Table) -> None:
    """Let the numbers that PostgreSQL gives to new rows begin after the numbers of the copied rows."""
    for column in table.primary_key.columns:
        sequence = connection.execute(
            text("SELECT pg_get_serial_sequence(:table, :column)"), {"table": table.name, "column": column.name}
        ).scalar()
        if sequence is not None:
            newest = connection.execute(select(func.max(column))).scalar()
            connection.execute(
                text("SELECT setval(:sequence, :newest, :used)"),
                {"sequence": sequence, "newest": newest or 1, "used": newest is not None},
            )
