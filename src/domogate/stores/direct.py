"""Statements that are executed very often. The database driver executes them directly.

SQLAlchemy compiles each statement once for each kind of database. A direct execution takes about a tenth of the time of an
execution by SQLAlchemy. Errors are the same as those of SQLAlchemy.

This file also has the time limit for all statements of a thread (`time_limit`).
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from math import inf
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select
from sqlalchemy.engine.interfaces import DBAPIModule
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.dml import UpdateBase


class Write(NamedTuple):
    """A write whose result nobody needs. It can be sent to the database together with the commit."""

    statement: "DirectStatement"
    names: Sequence[str]
    rows: Sequence[tuple[Any, ...]]

    def execute(self, connection: Connection) -> None:
        self.statement.execute_tuples(connection, self.names, self.rows)


_GROUPS, _MOST_PARAMETERS = (32, 8), 900
"""The numbers of rows that one statement inserts on SQLite, and the largest number of parameters of such a statement."""


class _Compiled(NamedTuple):
    """An SQL statement as text for one kind of database (SQLite or PostgreSQL)."""

    text: str
    order: list[str] | None
    """The names of the parameters, in the order in which the text of the statement has them.

    None if the database driver expects parameters by name.
    """
    constants: dict[str, Any]
    """Parameters whose values are already part of the statement."""
    groups: list[tuple[int, str]]
    """Statements that insert several rows at once, each with the number of its rows. The largest number is first."""


class DirectStatement:
    """A statement whose parameters are the columns of an INSERT, or the names of bindparams.

    It must be executed inside a transaction. SQLAlchemy does not convert the values. So the columns may only have texts,
    numbers and NULL.
    """

    def __init__(self, statement: Select[Any] | UpdateBase) -> None:
        self.statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def execute(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Execute the statement with these values. Return the number of changed rows."""
        cursor = run_statement(connection, *self._prepare(connection, values))
        count: int = cursor.rowcount
        cursor.close()
        return count

    def execute_many(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> int:
        """Execute the statement once for each row. Return the number of changed rows."""
        text, order, constants, _ = self._compile(connection)
        if constants:
            rows = [{**constants, **row} for row in rows]
        return _execute_many(
            connection, text, rows if order is None else [tuple([row[name] for name in order]) for row in rows]
        )

    def execute_tuples(self, connection: Connection, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Execute the statement once for each row. The values of each row have the order of `names`."""
        text, order, constants, groups = self._compile(connection)
        if order == names and not constants:
            done = 0
            for size, text_of_group in groups:
                while len(rows) - done >= size:
                    group = rows[done : done + size]
                    run_statement(connection, text_of_group, list(chain.from_iterable(group))).close()
                    done += size
            _execute_many(connection, text, rows[done:])
        else:
            self.execute_many(connection, [dict(zip(names, row, strict=True)) for row in rows])

    def all(self, connection: Connection, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Execute the statement, and return all rows."""
        text, parameters = self._prepare(connection, values)
        cursor = run_statement(connection, text, parameters)
        try:
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        except connection.dialect.loaded_dbapi.Error as error:
            raise wrap_error(connection, text, error) from error
        cursor.close()
        return rows

    def scalar(self, connection: Connection, values: Mapping[str, Any]) -> Any:
        """Execute the statement. Return the only value of its first row, or None if there is no row."""
        cursor = run_statement(connection, *self._prepare(connection, values))
        row = cursor.fetchone()
        cursor.close()
        return None if row is None else row[0]

    def start(self, connection: Connection) -> Any:
        """Execute the statement without parameters, and return the cursor of the database driver."""
        return run_statement(connection, *self._prepare(connection, {}))

    def first(self, connection: Connection, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """Execute the statement. Return its first row as a dict from column names to values, or None if there is no row."""
        cursor = run_statement(connection, *self._prepare(connection, values))
        row = cursor.fetchone()
        found = None if row is None else dict(zip([column[0] for column in cursor.description], row, strict=True))
        cursor.close()
        return found

    def _compile(self, connection: Connection) -> _Compiled:
        compiled = self._compiled.get(connection.dialect.name)
        if compiled is None:
            made = self.statement.compile(dialect=connection.dialect)
            constants = {name: value for name, value in made.params.items() if value is not None}
            text, order = str(made), list(made.positiontup or ()) if made.positional else None
            compiled = _Compiled(text, order, constants, _print_groups(text, order))
            self._compiled[connection.dialect.name] = compiled
        return compiled

    def _prepare(self, connection: Connection, values: Mapping[str, Any]) -> tuple[str, Any]:
        """Return the text of the statement, and the parameters in the form that the database driver expects."""
        text, order, constants, _ = self._compile(connection)
        if constants:
            values = {**constants, **values}
        return text, values if order is None else [values[name] for name in order]


def _print_groups(text: str, order: list[str] | None) -> list[tuple[int, str]]:
    """Return the statements that insert several rows at once. They take less time than one execution for each row.

    Only SQLite, whose parameters have no names, gets such statements. psycopg sends all rows together anyway.
    """
    if not order:
        return []
    row = f"({', '.join('?' * len(order))})"
    before, values, after = text.partition(f" VALUES {row}")
    if not values or "?" in before + after:
        return []
    sizes = [size for size in _GROUPS if size * len(order) <= _MOST_PARAMETERS]
    return [(size, f"{before} VALUES {', '.join([row] * size)}{after}") for size in sizes]


def execute_text(connection: Connection, text: str) -> None:
    """Execute a statement without parameters, such as SAVEPOINT."""
    run_statement(connection, text, ()).close()


def _execute_many(connection: Connection, text: str, rows: Sequence[Any]) -> int:
    if not rows:
        return 0
    is_one = len(rows) == 1
    cursor = run_statement(connection, text, rows[0] if is_one else rows, many=not is_one)
    count: int = cursor.rowcount
    cursor.close()
    return count


def run_statement(connection: Connection, text: str, parameters: Any, *, many: bool = False) -> Any:
    """Execute the statement, and return a cursor of the database driver.

    If `many` is true, the statement is executed once for each element of `parameters`. The database driver reads the first row
    already in this call. So a later `fetchone` raises no errors of the database.
    """
    cursor = connection.connection.cursor()
    errors = connection.dialect.loaded_dbapi.Error
    try:
        (cursor.executemany if many else cursor.execute)(text, parameters)
    except BaseException as error:
        with suppress(errors):  # If the connection is lost, SQLite cannot close a cursor. The cursor is lost too.
            cursor.close()
        if isinstance(error, errors):
            raise wrap_error(connection, text, error) from error
        raise
    return cursor


def wrap_error(connection: Connection, text: str, error: DBAPIModule.Error) -> Exception:
    """Return the error that SQLAlchemy would raise for this error of the database driver, without the values of rows."""
    dialect = connection.dialect
    is_lost = dialect.is_disconnect(error, connection.connection.dbapi_connection, None)
    if is_lost:
        connection.invalidate(error)
    return DBAPIError.instance(
        text,
        None,
        error,
        dialect.loaded_dbapi.Error,
        hide_parameters=True,
        connection_invalidated=is_lost,
        dialect=dialect,
    )


class _Limit(threading.local):
    until = inf


_limit = _Limit()


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limit the time of the statements that this thread executes inside the `with` block.

    If a statement still runs `seconds` seconds after the start of the block, it fails. This works only if the database can
    stop the statement.
    """
    before = _limit.until
    _limit.until = time.monotonic() + seconds
    try:
        yield
    finally:
        _limit.until = before


def time_is_up() -> bool:
    return time.monotonic() >= _limit.until
