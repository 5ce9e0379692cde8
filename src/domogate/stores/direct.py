"""Statements for the most frequent writes. The database driver executes them directly.

SQLAlchemy compiles such a statement once for each kind of database. An execution then takes about a tenth of the time that
SQLAlchemy needs. Errors are the same as those of SQLAlchemy.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, Select
from sqlalchemy.engine.interfaces import DBAPIModule
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.dml import UpdateBase


class DirectStatement:
    """A statement whose parameters are the columns of an INSERT, or the names of bindparams.

    It must be executed inside a transaction that SQLAlchemy has begun. SQLAlchemy does not convert the values, so the columns
    may only have texts, numbers and NULL.
    """

    def __init__(self, statement: Select[Any] | UpdateBase) -> None:
        self.statement = statement
        self._compiled: dict[str, tuple[str, list[str] | None]] = {}

    def execute(self, connection: Connection, values: Mapping[str, Any]) -> None:
        _execute(connection, *self._prepare(connection, values)).close()

    def scalar(self, connection: Connection, values: Mapping[str, Any]) -> Any:
        """Return the only value of the first row, or None if there is no row."""
        cursor = _execute(connection, *self._prepare(connection, values))
        row = cursor.fetchone()
        cursor.close()
        return None if row is None else row[0]

    def first(self, connection: Connection, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the values of the first row by the names of the columns, or None if there is no row."""
        cursor = _execute(connection, *self._prepare(connection, values))
        row = cursor.fetchone()
        found = None if row is None else dict(zip([column[0] for column in cursor.description], row, strict=True))
        cursor.close()
        return found

    def _prepare(self, connection: Connection, values: Mapping[str, Any]) -> tuple[str, Any]:
        """Return the text of the statement, and the parameters in the form that the driver expects."""
        compiled = self._compiled.get(connection.dialect.name)
        if compiled is None:
            made = self.statement.compile(dialect=connection.dialect)
            compiled = (str(made), made.positiontup if made.positional else None)
            self._compiled[connection.dialect.name] = compiled
        text, order = compiled
        return text, values if order is None else [values[name] for name in order]


def execute_text(connection: Connection, text: str) -> None:
    """Execute a statement without parameters, such as SAVEPOINT."""
    _execute(connection, text, ()).close()


def _execute(connection: Connection, text: str, parameters: Any) -> Any:
    """Execute the statement, and return a cursor of the database driver.

    The driver finds the first row here, so `fetchone` raises no errors of the database.
    """
    cursor = connection.connection.cursor()
    errors = connection.dialect.loaded_dbapi.Error
    try:
        cursor.execute(text, parameters)
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
