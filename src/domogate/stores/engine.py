"""An opened database. Its class hides the differences between SQLite and PostgreSQL.

Each database has two engines. Transactions of `writing` write; a process has one such connection, in the writer thread.
Transactions of `reading` are read-only snapshots.
"""

import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any, TypeVar, cast

import structlog
from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    Dialect,
    Engine,
    Insert,
    Table,
    bindparam,
    create_engine,
    event,
    func,
    insert,
    select,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool
from sqlalchemy.sql.dml import UpdateBase

from domogate.domain.events import Change, Event
from domogate.stores.codec import to_json
from domogate.stores.inspection import explain_damage
from domogate.stores.tables import changes

T = TypeVar("T")

READERS = 4
_BUSY_SECONDS = 30.0
_log = structlog.get_logger(__name__)
_STEPS_BETWEEN_CHECKS = 100_000
# Errors are logged, and parameters contain hashes and keys.
ENGINE_OPTIONS: dict[str, Any] = {"max_overflow": 0, "hide_parameters": True}
_WRITER_CACHE_KIB = 8 * 1024
_WRITER_BUSY_SECONDS = 1.0
"""The seconds that SQLite waits for a lock of another process. Then the writer tries again if a caller still waits."""

_NEWEST = select(func.max(changes.c.cursor))
_INSERT_CHANGES = insert(changes)


class _Limit(threading.local):
    until = inf


_limit = _Limit()


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Inside this context, statements of this thread have this number of seconds.

    Then they fail, if the database can stop them.
    """
    before = _limit.until
    _limit.until = time.monotonic() + seconds
    try:
        yield
    finally:
        _limit.until = before


def time_is_up() -> bool:
    return time.monotonic() >= _limit.until


def newest_cursor(connection: Connection) -> int:
    return connection.execute(_NEWEST).scalar() or 0


class Bulk:
    """A statement that is compiled once. The database driver executes it for many rows, without SQLAlchemy.

    Its parameters are the columns of an INSERT, or the names of bindparams. For many small rows it takes half the time.
    """

    def __init__(self, statement: UpdateBase, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._text = str(compiled)
        # None if the driver takes parameters by name.
        self._order = compiled.positiontup if compiled.positional else None
        self._constants = {name: value for name, value in compiled.params.items() if value is not None}

    def execute(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        if not rows:
            return
        constants, order = self._constants, self._order
        if constants:
            rows = [{**constants, **row} for row in rows]
        given: Any = rows if order is None else [tuple([row[name] for name in order]) for row in rows]
        connection.exec_driver_sql(self._text, given)

    def execute_tuples(self, connection: Connection, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Execute it with rows whose values have the order of the names."""
        if rows and self._order == names and not self._constants:
            connection.exec_driver_sql(self._text, rows)
        else:
            self.execute(connection, [dict(zip(names, row, strict=True)) for row in rows])


class Database(ABC):
    """An opened database."""

    writing: Engine
    reading: Engine

    def __init__(self, name: str) -> None:
        """`name` is for the list of used databases and for messages. It contains no credentials."""
        self.name = name
        self._upserts: dict[str, Insert] = {}
        self._bulks: dict[UpdateBase, Bulk] = {}

    @abstractmethod
    def lock(self, connection: Connection) -> None:
        """Wait until no other process is in a write transaction. So cursors have the order of the commits."""

    @abstractmethod
    def prepare_writer(self, connection: Connection) -> None:
        """Set up a new connection of the writer. This is called once for each connection."""

    @abstractmethod
    def is_busy(self, error: Exception) -> bool:
        """Whether the error means that another process holds the lock for writing."""

    @abstractmethod
    def change_token(self, connection: Connection) -> object:
        """Return a value that changes when another connection commits. Getting it is cheap."""

    @abstractmethod
    def insert(self, table: Table) -> Any:
        """Return an INSERT that supports ON CONFLICT."""

    @abstractmethod
    def is_listed(self, column: ColumnElement[str], name: str) -> ColumnElement[bool]:
        """Return whether the column is in the list that the parameter `name` holds.

        The list is one parameter. For long lists this takes a fraction of the time of an expanding IN.
        """

    def upsert(self, table: Table) -> Insert:
        """Return an INSERT that replaces all columns of a row with the same key."""
        if table.name in self._upserts:
            return self._upserts[table.name]
        statement = self.insert(table)
        keys = [column.name for column in table.primary_key]
        rest = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in keys}
        upserting: Insert = statement.on_conflict_do_update(index_elements=keys, set_=rest)
        return self._upserts.setdefault(table.name, upserting)

    def bulk(self, statement: UpdateBase) -> Bulk:
        """Return the compiled statement. It is cached permanently, so pass only module constants."""
        bulk = self._bulks.get(statement)
        if bulk is None:
            bulk = self._bulks[statement] = Bulk(statement, self.writing.dialect)
        return bulk

    def set_option(self, name: str, value: object) -> None:
        """Give every connection this execution option."""
        if self.writing.get_execution_options().get(name) is not value:
            self.writing = self.writing.execution_options(**{name: value})
            self.reading = self.reading.execution_options(**{name: value})

    @abstractmethod
    def erase_old_values(self) -> None:
        """Remove replaced values from free space and from the write-ahead log, if the database can do that."""

    def explain(self, error: Exception) -> Exception:
        """Return the error itself, or a DatabaseUnusable if the error means that the database is damaged."""
        return error

    def close(self) -> None:
        self.reading.dispose()
        self.writing.dispose()


def database_file(url: URL) -> Path:
    """Return the file of a SQLite database. Raises ValueError if it is in memory."""
    if not url.database or url.database == ":memory:":
        raise ValueError("a SQLite database must be a file: every connection to :memory: would see a different database")
    return Path(url.database)


class SqliteDatabase(Database):
    """One file in WAL mode. A commit is on disk when it returns."""

    def __init__(self, url: URL) -> None:
        self.path = database_file(url)
        super().__init__(self.path.name)
        self._create_privately()
        self.writing = self._engine(url, "BEGIN IMMEDIATE", query_only=False, size=1)
        self.reading = self._engine(url, "BEGIN", query_only=True, size=READERS + 1)

    def _create_privately(self) -> None:
        # The file contains private keys and password hashes. SQLite creates its additional files with the same mode.
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))

    @staticmethod
    def _engine(url: URL, begin: str, *, query_only: bool, size: int) -> Engine:
        engine = create_engine(
            url, poolclass=QueuePool, pool_size=size, connect_args={"timeout": _BUSY_SECONDS}, **ENGINE_OPTIONS
        )

        @event.listens_for(engine, "connect")
        def prepare(connection: sqlite3.Connection, _record: Any) -> None:
            connection.isolation_level = None  # Transactions begin explicitly, see below.
            _enter_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA query_only = {'ON' if query_only else 'OFF'}")
            if query_only:
                connection.set_progress_handler(time_is_up, _STEPS_BETWEEN_CHECKS)

        @event.listens_for(engine, "begin")
        def begin_transaction(connection: Connection) -> None:
            connection.exec_driver_sql(begin)

        return engine

    def explain(self, error: Exception) -> Exception:
        return explain_damage(self.path, error)

    def lock(self, connection: Connection) -> None:
        """Does nothing, because BEGIN IMMEDIATE has already taken the lock."""

    def prepare_writer(self, connection: Connection) -> None:
        _driver_of(connection).execute(f"PRAGMA busy_timeout = {_WRITER_BUSY_SECONDS * 1000:.0f}")
        _driver_of(connection).execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")

    def is_busy(self, error: Exception) -> bool:
        cause = error.orig if isinstance(error, DBAPIError) else None
        return isinstance(cause, sqlite3.OperationalError) and cause.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY

    def erase_old_values(self) -> None:
        with closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS)) as connection:
            try:
                connection.execute("VACUUM")  # Free space in any page can have copies of old values.
            except sqlite3.OperationalError as error:
                _log.warning("free space of the database file may still have old values", reason=str(error))
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def change_token(self, connection: Connection) -> object:
        # The driver executes it directly, because inside a transaction the pragma returns an old value.
        return _driver_of(connection).execute("PRAGMA data_version").fetchone()[0]

    def insert(self, table: Table) -> Any:
        return sqlite.insert(table)

    def is_listed(self, column: ColumnElement[str], name: str) -> ColumnElement[bool]:
        listed = func.json_each(bindparam(name, type_=JSON)).table_valued("value")
        return column.in_(select(listed.c.value))


def _driver_of(connection: Connection) -> sqlite3.Connection:
    """The connection of the database driver. A statement on it does not begin a transaction."""
    return cast(sqlite3.Connection, connection.connection.driver_connection)


def _enter_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode, with retries, because SQLite ignores its timeout here.

    Without a retry, two processes that open a new file at the same time would fail.
    """
    give_up = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= give_up:
                raise
        time.sleep(0.01)


class Transaction:
    """The current write transaction. Its events become changes when it commits."""

    __slots__ = ("connection", "database", "events", "now")

    def __init__(self, database: Database, connection: Connection, now: float) -> None:
        self.database = database
        self.connection = connection
        self.now = now
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def upsert(self, table: Table) -> Insert:
        return self.database.upsert(table)

    def execute_bulk(self, statement: UpdateBase, rows: Sequence[Mapping[str, Any]]) -> None:
        """Execute the statement once for each row. The statement must be a module constant."""
        self.database.bulk(statement).execute(self.connection, rows)

    def write_changes(self, newest: int) -> Sequence[Change]:
        """Write the events as changes, with consecutive cursors after `newest`."""
        committed = [Change(cursor, self.now, event) for cursor, event in enumerate(self.events, newest + 1)]
        self.execute_bulk(
            _INSERT_CHANGES,
            [
                {
                    "cursor": change.cursor,
                    "at": change.at,
                    "plant_id": getattr(change.event, "plant_id", None),
                    "event": to_json(change.event),
                }
                for change in committed
            ],
        )
        return committed


def chunked(items: Iterable[T], size: int = 500) -> Iterator[list[T]]:
    """Split into lists that are small enough for the parameters of one statement."""
    walk = iter(items)
    while piece := list(islice(walk, size)):
        yield piece


def execute_many(connection: Connection, statement: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Execute the statement for all rows. Without rows it does nothing; SQLAlchemy would insert one row of defaults."""
    if rows:
        connection.execute(statement, rows)
