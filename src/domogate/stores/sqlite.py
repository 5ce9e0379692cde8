"""A database in a SQLite file."""

import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

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
from sqlalchemy.util import LRUCache

from domogate.common.log import get_logger
from domogate.stores.changes_by_plant import INDEXED_TOGETHER, add_changes
from domogate.stores.codec import to_json
from domogate.stores.cursors import CHANGES_BETWEEN, FeedRead, Rows, complete_cursor
from domogate.stores.direct import Write, execute_text, time_is_up
from domogate.stores.engine import ENGINE_OPTIONS, READERS, Database
from domogate.stores.inspection import explain_damage
from domogate.stores.readers import LONG_READERS
from domogate.stores.refused_writes import explain_refused_write

_BUSY_SECONDS = 30.0
_STEPS_BETWEEN_CHECKS = 100_000
_WRITER_CACHE_KIB = 32 * 1024
"""The size of the cache of a gateway's writer. With a million modules, a part of an import changes many pages.

With a smaller cache, these pages are read and written twice.
"""
_LARGE_CACHE_KIB = 64 * 1024
"""As `_WRITER_CACHE_KIB`, for `domogate` commands. A large import needs most of this cache for the index of module ids."""
_PAGES_IN_LOG = 8_000
"""If the write-ahead log has this number of pages (32 MB) after a commit, SQLite copies them into the database.

A page that many commits have changed is copied once. With SQLite's default of 1,000 pages, the readings of five hundred modules
cause a copy after one to four commits.
"""
_PAGES_IN_LARGE_LOG = 32_000
"""As `_PAGES_IN_LOG`, for `domogate` commands (128 MB). Each part of an import of a million modules changes many pages."""
_WRITER_BUSY_SECONDS = 1.0
"""The seconds that SQLite waits for a lock of another process.

After this time the writer tries again, if a caller still waits.
"""
_STATEMENTS_KEPT = 1_000

# Without these adapters, the driver makes and drops two exceptions for each such value before it stores the value.
sqlite3.register_adapter(bool, int)
sqlite3.register_adapter(type(None), lambda _: None)

_log = get_logger(__name__)

T = TypeVar("T")


def database_file(url: URL) -> Path:
    """Return the file of a SQLite database. Raises ValueError if the database is in memory."""
    if not url.database or url.database == ":memory:":
        raise ValueError("a SQLite database must be a file: every connection to :memory: would see a different database")
    return Path(url.database)


class SqliteDatabase(Database):
    """A database in one file in WAL mode. When a commit returns, its data are on disk, except if `is_temporary` is true."""

    begin = "BEGIN IMMEDIATE"
    lock_retry = 0.1  # the longest pause of SQLite's busy handler

    def __init__(self, url: URL) -> None:
        self.path = database_file(url)
        super().__init__(self.path.name)
        self.to_list = to_json
        self._readers: deque[Connection] = deque()
        """Connections for reads that no thread uses now."""
        self._create_privately()
        self.writing = self._engine(url, self.begin, query_only=False, size=1)
        # The feed has one connection, and the reads that run one after the other (`Lane.IN_TURN`) have one connection.
        self.reading = self._engine(url, "BEGIN", query_only=True, size=READERS + LONG_READERS + 2)

    def _create_privately(self) -> None:
        # The file contains private keys and password hashes. SQLite creates its additional files with the same mode.
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))

    def _engine(self, url: URL, begin: str, *, query_only: bool, size: int) -> Engine:
        engine = create_engine(
            url, poolclass=QueuePool, pool_size=size, connect_args={"timeout": _BUSY_SECONDS}, **ENGINE_OPTIONS
        )

        @event.listens_for(engine, "connect")
        def prepare(connection: sqlite3.Connection, _record: Any) -> None:
            connection.isolation_level = None  # Transactions begin explicitly, see below.
            _enter_wal(connection)
            connection.execute(f"PRAGMA synchronous = {'OFF' if self.is_temporary else 'FULL'}")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA query_only = {'ON' if query_only else 'OFF'}")
            if query_only:
                connection.set_progress_handler(time_is_up, _STEPS_BETWEEN_CHECKS)

        @event.listens_for(engine, "begin")
        def begin_transaction(connection: Connection) -> None:
            if not _driver_of(connection).in_transaction:  # See `Database.start_transaction`.
                execute_text(connection, begin)

        engine.dialect, compiled = _share_statements()
        engine.update_execution_options(compiled_cache=compiled)
        return engine

    def explain(self, error: Exception) -> Exception:
        return explain_refused_write(self.path, explain_damage(self.path, error))

    def read(self, query: Callable[[Connection], T]) -> T:
        """Run the query in a transaction that only reads. The connection stays open for the next query.

        Taking a connection from the pool of SQLAlchemy and returning it would take longer than most queries.
        """
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = self.reading.connect()
        try:
            execute_text(connection, "BEGIN")
            result = query(connection)
            self.roll_back(connection)
        except BaseException:
            connection.close()
            raise
        self._readers.append(connection)
        return result

    def close(self) -> None:
        while self._readers:
            self._readers.pop().close()
        super().close()

    def lock(self, connection: Connection) -> None:
        """Does nothing, because BEGIN IMMEDIATE has already taken the lock."""

    def prepare_writer(self, connection: Connection) -> None:
        _driver_of(connection).execute(f"PRAGMA busy_timeout = {_WRITER_BUSY_SECONDS * 1000:.0f}")
        cache, pages = (_WRITER_CACHE_KIB, _PAGES_IN_LOG) if self.is_gateway else (_LARGE_CACHE_KIB, _PAGES_IN_LARGE_LOG)
        _driver_of(connection).execute(f"PRAGMA cache_size = -{cache}")
        if self.is_gateway:
            # Otherwise SQLite writes each page that a savepoint changes to a temporary file.
            _driver_of(connection).execute("PRAGMA temp_store = MEMORY")
        _driver_of(connection).execute(f"PRAGMA wal_autocheckpoint = {pages}")

    def is_busy(self, error: Exception) -> bool:
        cause = error.orig if isinstance(error, DBAPIError) else None
        return isinstance(cause, sqlite3.OperationalError) and cause.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY

    def erase_old_values(self) -> None:
        with closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS)) as connection:
            try:
                connection.execute("VACUUM")  # Free space in any page can have copies of old values.
            except sqlite3.OperationalError as error:
                _log.warning("free space of the database file may still have secrets that are not encrypted", reason=str(error))
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def change_token(self, connection: Connection) -> object:
        # The driver executes it directly, because inside a transaction the pragma returns an old value.
        return _driver_of(connection).execute("PRAGMA data_version").fetchone()[0]

    def prepare_feed(self) -> None:
        """Let the first commit complete the index of changes by plant.

        An earlier process may have ended before it added all its changes to this index.

        Cursors need no preparation: the next cursor is computed from the newest change.
        """
        self.index_from = 0.0

    def note_pruned(self, connection: Connection, last: int) -> None:
        """Does nothing, because cursors are consecutive: the oldest stored cursor shows which changes were removed."""

    def index_changes(self, last: int) -> Sequence[Write]:
        self.index_from = last + INDEXED_TOGETHER
        return [add_changes(last)]

    def note_structure(self, connection: Connection, position: int) -> None:
        """Does nothing. With SQLite, the recorders of other processes do not need this position to clear their caches.

        At the start of a write transaction, a process reads the changes of other processes. So it knows which plants changed.
        """

    def reserve_cursors(self, connection: Connection, events: int, *, exclusive: bool) -> None:
        """Does nothing: the next cursor is computed from the newest change, however many events a transaction has."""

    def connect_to_feed(self) -> Connection:
        return self.reading.connect()

    def read_feed(self, connection: Connection, after: int, limit: int) -> FeedRead:
        with connection.begin():
            newest = complete_cursor(connection)
            rows: Rows = (
                []
                if newest <= after
                else connection.execute(CHANGES_BETWEEN.limit(limit), {"after": after, "until": newest}).all()
            )
        return FeedRead(rows, newest, newest)

    def insert(self, table: Table) -> Any:
        return sqlite.insert(table)

    def insert_rows(self, connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
        self.bulk(_insert(table)).execute_tuples(connection, table.columns.keys(), rows)

    def is_listed(self, column: ColumnElement[str], name: str) -> ColumnElement[bool]:
        listed = func.json_each(bindparam(name, type_=JSON)).table_valued("value")
        return column.in_(select(listed.c.value))


@cache
def _share_statements() -> tuple[Dialect, LRUCache[Any, Any]]:
    """Return the dialect and the compiled statements of all databases of this process.

    Compiling a statement takes longer than executing it. A statement is compiled once for each dialect. So the dialect is
    shared too. A dialect initialises itself at its first connection. So this function opens a connection and closes it.
    """
    engine = create_engine("sqlite://")
    engine.connect().close()
    engine.dispose()
    return engine.dialect, LRUCache(_STATEMENTS_KEPT)


@cache
def _insert(table: Table) -> Insert:
    return insert(table)


def _driver_of(connection: Connection) -> sqlite3.Connection:
    """Return the connection of the database driver. A statement on this connection does not begin a transaction."""
    return cast(sqlite3.Connection, connection.connection.driver_connection)


def _enter_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode, with retries.

    SQLite ignores its timeout when it switches the mode.

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
