"""Opening a database, and all that SQLite and PostgreSQL do differently.

Each database has two engines: one whose transactions write (there is one such connection in a process, the writer's),
and one whose transactions are read-only snapshots.
"""

import os
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Dialect, Engine, Executable, Insert, Table, create_engine, event, func, make_url, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL
from sqlalchemy.pool import QueuePool
from sqlalchemy.sql.compiler import SQLCompiler

from domogate.stores.tables import changes

T = TypeVar("T")

READERS = 4
_BUSY_SECONDS = 30.0
# An error may end in a log, and parameters hold hashes and keys.
_COMMON: dict[str, Any] = {"max_overflow": 0, "hide_parameters": True}
# One number all Domogate processes agree on; whoever holds it may write changes.
_WRITE_LOCK = 0x646F6D6F67617465

_NEWEST = select(func.max(changes.c.cursor))


def sqlite_url(path: Path) -> str:
    """The URL of a database kept in this file."""
    return URL.create("sqlite", database=str(path.absolute())).render_as_string(hide_password=False)


def newest_cursor(connection: Connection) -> int:
    return connection.execute(_NEWEST).scalar() or 0


class Bulk:
    """A statement for many rows, spelled out once: the driver is given them without a detour through SQLAlchemy.

    Its parameters are the columns of an INSERT, or what a `bindparam` names. Measured: half the time of many small rows.
    """

    def __init__(self, statement: Executable, dialect: Dialect) -> None:
        compiled = cast(SQLCompiler, statement.compile(dialect=dialect))  # type: ignore[attr-defined]  # every executable has it
        self._text = str(compiled)
        # None where the driver knows parameters by their names.
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


class Database(ABC):
    """An opened database: `writing` and `reading` connect to it."""

    writing: Engine
    reading: Engine

    def __init__(self) -> None:
        self._upserts: dict[str, Insert] = {}
        self._bulks: dict[Executable, Bulk] = {}

    @abstractmethod
    def lock(self, connection: Connection) -> None:
        """Wait until no other process is in a write transaction; cursors are therefore given in the order of commits."""

    @abstractmethod
    def news_token(self, connection: Connection) -> object:
        """Something cheap that differs once any other connection has committed a change."""

    @abstractmethod
    def insert(self, table: Table) -> Any:
        """An INSERT that can be told what to do on conflict."""

    def upsert(self, table: Table) -> Insert:
        """INSERT, or replace every column of the row with the same key."""
        if table.name in self._upserts:
            return self._upserts[table.name]
        statement = self.insert(table)
        keys = [column.name for column in table.primary_key]
        rest = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in keys}
        upserting: Insert = statement.on_conflict_do_update(index_elements=keys, set_=rest)
        return self._upserts.setdefault(table.name, upserting)

    def bulk(self, statement: Executable) -> Bulk:
        """For statements that are made once and kept: it remembers each."""
        bulk = self._bulks.get(statement)
        if bulk is None:
            bulk = self._bulks[statement] = Bulk(statement, self.writing.dialect)
        return bulk

    def close(self) -> None:
        self.reading.dispose()
        self.writing.dispose()


class SqliteDatabase(Database):
    """One file, in WAL mode; a commit is on disk when it returns."""

    def __init__(self, url: URL) -> None:
        super().__init__()
        if not url.database or url.database == ":memory:":
            raise ValueError("a SQLite database must be a file: every connection to :memory: would see another one")
        self.path = Path(url.database)
        self._create_privately()
        self.writing = self._engine(url, "BEGIN IMMEDIATE", query_only=False, size=1)
        self.reading = self._engine(url, "BEGIN", query_only=True, size=READERS + 1)

    def _create_privately(self) -> None:
        # It holds private keys and password hashes; SQLite gives its other files the mode of this one.
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))

    @staticmethod
    def _engine(url: URL, begin: str, *, query_only: bool, size: int) -> Engine:
        engine = create_engine(url, poolclass=QueuePool, pool_size=size, connect_args={"timeout": _BUSY_SECONDS}, **_COMMON)

        @event.listens_for(engine, "connect")
        def prepare(connection: sqlite3.Connection, _record: Any) -> None:
            connection.isolation_level = None  # transactions are begun below, not guessed by the driver
            _enter_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA query_only = {'ON' if query_only else 'OFF'}")

        @event.listens_for(engine, "begin")
        def begin_transaction(connection: Connection) -> None:
            connection.exec_driver_sql(begin)

        return engine

    def lock(self, connection: Connection) -> None:
        """BEGIN IMMEDIATE took the lock already."""

    def news_token(self, connection: Connection) -> object:
        # Asked of the driver itself: the pragma tells nothing new inside a transaction.
        driver = connection.connection.driver_connection
        assert driver is not None
        return driver.execute("PRAGMA data_version").fetchone()[0]

    def insert(self, table: Table) -> Any:
        return sqlite.insert(table)


def _enter_wal(connection: sqlite3.Connection) -> None:
    """SQLite does not wait for others here, whatever its time-out: two that find a new file at once would fail."""
    give_up = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= give_up:
                raise
        time.sleep(0.01)


class PostgresDatabase(Database):
    """A server; snapshots are REPEATABLE READ, writers take turns by an advisory lock."""

    def __init__(self, url: URL) -> None:
        super().__init__()
        if find_spec("psycopg") is None:
            raise ValueError("a PostgreSQL database needs the driver psycopg: install domogate[postgres]")
        url = url.set(drivername="postgresql+psycopg")
        self.writing = create_engine(url, pool_size=1, pool_pre_ping=True, **_COMMON)
        reading = create_engine(url, pool_size=READERS + 1, pool_pre_ping=True, **_COMMON)
        self.reading = reading.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def lock(self, connection: Connection) -> None:
        connection.execute(select(func.pg_advisory_xact_lock(_WRITE_LOCK)))

    def news_token(self, connection: Connection) -> object:
        with connection.begin():
            return newest_cursor(connection)

    def insert(self, table: Table) -> Any:
        from sqlalchemy.dialects import postgresql  # an embedded gateway never needs it

        return postgresql.insert(table)


def open_database(url: str) -> Database:
    """SQLite or PostgreSQL, by the URL; nothing else is known here."""
    parsed = make_url(url.replace("postgres://", "postgresql://", 1) if url.startswith("postgres://") else url)
    match parsed.get_backend_name():
        case "sqlite":
            return SqliteDatabase(parsed)
        case "postgresql":
            return PostgresDatabase(parsed)
        case other:
            raise ValueError(f"a database of kind {other!r} is not supported: use sqlite or postgresql")


def chunked(items: Iterable[T], size: int = 500) -> Iterator[list[T]]:
    """In pieces small enough for one statement's parameters."""
    walk = iter(items)
    while piece := list(islice(walk, size)):
        yield piece


def execute_many(connection: Connection, statement: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Nothing at all for no rows, which SQLAlchemy would take for one row of defaults."""
    if rows:
        connection.execute(statement, rows)
