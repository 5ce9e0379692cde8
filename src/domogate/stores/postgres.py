"""A database on a PostgreSQL server."""

import time
from collections.abc import Collection, Sequence
from functools import cache
from importlib.util import find_spec
from math import inf
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    String,
    Table,
    any_,
    bindparam,
    cast,
    create_engine,
    event,
    func,
    literal,
    select,
    text,
    true,
    update,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from domogate.ports import StoreUnavailable
from domogate.stores.cursors import (
    MOST_EVENTS,
    SELECT_CHANGES,
    CompleteCursor,
    CompleteCursorOf,
    FeedRead,
    OldestCursor,
    TransactionStart,
)
from domogate.stores.direct import DirectStatement, Write, execute_text, wrap_error
from domogate.stores.engine import ENGINE_OPTIONS, READERS, Database
from domogate.stores.postgres_driver import in_one_round_trip, limited_connection
from domogate.stores.readers import LONG_READERS
from domogate.stores.tables.all_tables import partial_indexes
from domogate.stores.tables.feed import changes, feed
from domogate.stores.tables.notices import parked, webhooks
from domogate.stores.tables.plants import members
from domogate.stores.write_lock import WriteLock

for _index in partial_indexes:
    _index.dialect_options["postgresql"]["where"] = _index.dialect_options["sqlite"]["where"]

# All Domogate processes use this number. With an exclusive lock, no other process writes. Processes with a shared lock write
# at the same time.
_WRITE_LOCK = 0x646F6D6F67617465
_WAIT = "set_config('lock_timeout', '500ms', true)"
"""A member of a cluster waits this long for the lock for writing. Then it reads the feed and tries again."""
_WAIT_NO_LONGER = "set_config('lock_timeout', '0', true)"
_LOCK = f"SELECT pg_advisory_xact_lock({_WRITE_LOCK})"
_LOCK_AS_MEMBER = f"SELECT {_WAIT}, pg_advisory_xact_lock({_WRITE_LOCK}), {_WAIT_NO_LONGER}"
_LIMIT_IDLE = text("SET idle_in_transaction_session_timeout = '1s'")
"""A process that hangs or loses its connection during a transaction delays the other processes for at most this time."""
_LIMIT_MEMBER = text("SELECT set_config(name, '30s', false) FROM pg_settings WHERE name = 'transaction_timeout'")
"""If the connection is lost during a round trip, the server does not count the transaction as idle. PostgreSQL 17 and later end
such a transaction after this time.
"""
_SHORT_SECONDS = 0.5
"""If a transaction began more than this number of seconds ago, the gateway may have been frozen since then.

In this case the server may have ended the transaction (after 1 s without a statement). The commit must expect this.
"""
_LIMIT_LONG_IDLE = "SET LOCAL idle_in_transaction_session_timeout = '60s'"
"""The server ends a long transaction (an import, a migration, a move from SQLite) after this time without a statement."""
_NO_LIMIT = "SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'transaction_timeout'"
_LIMIT_WAITING = text("SET LOCAL lock_timeout = '3s'")
"""The time that a migration waits for a locked table. While it waits, all gateways wait, and a backup can last for hours."""
_LOCK_NOT_AVAILABLE = "55P03"
_EVENTS = 1 << 16
_UNDONE = ("25P03", "25P04", "40P01")
"""The error codes for a transaction that the server ends: it is deadlocked, or was idle or open for too long."""
_UNAVAILABLE = ("08", "53300", "57P")
"""The first characters of the codes of errors with which a server refuses or ends a connection.

The reasons are: the connection was lost, there are too many connections, or the server stops or starts.
"""


def _number_of(xid: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(cast(xid, String), BigInteger)


def _cursor_at(xid: ColumnElement[Any]) -> ColumnElement[int]:
    """Return the cursor before the first change of a transaction.

    A cursor is the number of its transaction plus an offset, followed by 16 bits: the number of the event in the transaction.
    """
    return (_number_of(xid) + feed.c.cursor_offset) * _EVENTS


_OWN = func.pg_current_xact_id()
# All transactions before xmin have ended, so no further change can appear up to this cursor.
_COMPLETE = _cursor_at(func.pg_snapshot_xmin(func.pg_current_snapshot())) - 1
_NEXT = _cursor_at(func.pg_snapshot_xmax(func.pg_current_snapshot()))
_NEWEST = func.coalesce(select(func.max(changes.c.cursor)).scalar_subquery(), 0)
_START = DirectStatement(select(_cursor_at(_OWN), _NEWEST, feed.c.structure, feed.c.pruned))

_span = (
    select(_COMPLETE.label("position"), _NEWEST.label("newest"), _NEXT.label("next"), feed.c.pruned)
    .cte("span")
    .prefix_with("MATERIALIZED")
)
_page = (
    SELECT_CHANGES.where(changes.c.cursor > bindparam("after"), changes.c.cursor <= _span.c.position)
    .limit(bindparam("limit"))
    .lateral("page")
)
_READ_FEED = select(_span, _page).select_from(_span.outerjoin(_page, true())).order_by(_page.c.cursor)

# After a restore on another server, or a move from SQLite, the stored cursors can be higher than the cursors of new changes.
_stored = (changes.c.cursor, parked.c.cursor, webhooks.c.position, members.c.since)
_HIGHEST = func.greatest(*(select(func.max(column)).scalar_subquery() for column in _stored), 0)
_IS_FEED_READY = select(_HIGHEST < _NEXT).select_from(feed)
_RAISE_CURSORS = (
    update(feed).values(cursor_offset=_HIGHEST // _EVENTS + 1 - _number_of(_OWN)).where(_cursor_at(_OWN) <= _HIGHEST)
)
_ADD_FEED = (
    postgresql.insert(feed)
    .from_select(
        ["id", "cursor_offset", "pruned", "structure"],
        select(literal("feed"), literal(0), func.coalesce(func.min(changes.c.cursor) - 1, 0), literal(0)),
    )
    .on_conflict_do_nothing()
)
_RESERVE = update(feed).values(cursor_offset=feed.c.cursor_offset + bindparam("more"))
_NOTE_PRUNED = update(feed).values(pruned=bindparam("last"))
_NOTE_STRUCTURE = update(feed).values(structure=bindparam("position"))
_CONNECT_SECONDS = "2"
"""The number of seconds for connecting: the smallest value that the database driver allows."""


class PostgresDatabase(Database):
    """A database on a PostgreSQL server. Snapshots are REPEATABLE READ. An advisory lock orders the writers (Decision 0086).

    A server that hangs keeps its connections open and does not answer. So there is a time limit for the statements of
    a thread (`time_limit` in direct.py). At this limit, the gateway stops waiting for the statement and closes the connection.
    """

    reads_in_parallel = True  # A read waits for the server most of the time.

    def __init__(self, url: URL) -> None:
        super().__init__(_name_of(url))
        if find_spec("psycopg") is None:
            raise ValueError("a PostgreSQL database needs the driver psycopg: install domogate[postgres]")
        url = url.set(drivername="postgresql+psycopg")
        if "connect_timeout" not in url.query:
            url = url.update_query_dict({"connect_timeout": _CONNECT_SECONDS})
        self._idle_after = -inf
        """The time (monotonic) after which the server may have ended the current transaction."""
        self.writing = self._engine(url, 1)
        reading = self._engine(url, READERS + LONG_READERS + 2)  # The feed and the probe have one connection each.
        self.reading = reading.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @staticmethod
    def _engine(url: URL, size: int) -> Engine:
        engine = create_engine(url, pool_size=size, pool_pre_ping=True, **ENGINE_OPTIONS)

        @event.listens_for(engine, "do_connect")
        def connect(_dialect: Any, _record: Any, arguments: Any, options: Any) -> Any:
            return limited_connection().connect(*arguments, **options)

        return engine

    def lock(self, connection: Connection) -> None:
        execute_text(connection, _LIMIT_LONG_IDLE)
        execute_text(connection, _LOCK)

    @property
    def is_local(self) -> bool:
        return False

    def limit_waiting(self, connection: Connection) -> None:
        connection.execute(_LIMIT_WAITING)

    def start_transaction(self, connection: Connection, locks: Collection[WriteLock], long: bool, /) -> TransactionStart:
        connection.begin()
        with in_one_round_trip(connection):
            execute_text(connection, "BEGIN")
            if not self.is_shared:
                execute_text(connection, _LOCK)
            else:
                execute_text(connection, _LOCK_AS_MEMBER if WriteLock.EXCLUSIVE in locks else _lock_shared(frozenset(locks)))
            if long:
                execute_text(connection, _LIMIT_LONG_IDLE)
                execute_text(connection, _NO_LIMIT)
            # The transaction gets its number after the lock: so the order of cursors is the order of commits for each plant.
            start = _START.start(connection)
        self._idle_after = time.monotonic() + _SHORT_SECONDS
        return TransactionStart._make(start.fetchone())

    def commit(self, connection: Connection, writes: Sequence[Write]) -> None:
        if not writes or time.monotonic() > self._idle_after:
            # The server may have ended the transaction, because this process was frozen. After single statements, the database
            # driver says so. After statements in one round trip, it only says that the connection is lost.
            super().commit(connection, writes)
            return
        with in_one_round_trip(connection):
            for write in writes:
                write.execute(connection)
            execute_text(connection, "COMMIT")
        connection.commit()

    def prepare_writer(self, connection: Connection) -> None:
        """Let this class begin the transactions of the connection, and limit the time of an idle transaction.

        By default, the database driver begins each transaction with an additional round trip. This is switched off for this
        connection. So the connection never returns to the pool: other code expects that the driver begins transactions.
        The time of a statement is limited by `time_limit` (direct.py).
        """
        connection.detach()
        driver: Any = connection.connection.dbapi_connection
        driver.autocommit = True
        connection.execute(_LIMIT_IDLE)
        if self.is_shared:
            connection.execute(_LIMIT_MEMBER)
        connection.commit()

    def is_busy(self, error: Exception) -> bool:
        return _code_of(error) == _LOCK_NOT_AVAILABLE

    def is_undone(self, error: Exception) -> bool:
        return _code_of(error) in _UNDONE

    def explain(self, error: Exception) -> Exception:
        """Return the error itself, or a StoreUnavailable if the error means that the server cannot be reached."""
        if not isinstance(error, OperationalError | InterfaceError):
            return error
        code = _code_of(error)
        is_lost = error.connection_invalidated or code is None or code.startswith(_UNAVAILABLE)
        reason = str(error.orig).strip().partition("\n")[0]
        return StoreUnavailable(f"the database cannot be reached: {reason}") if is_lost else error

    def erase_old_values(self) -> None:
        """Does nothing: the server overwrites its free space later by itself, and only the server can erase its log."""

    def change_token(self, _connection: Connection) -> object:
        return None  # A query for such a value would take as long as reading the feed.

    def prepare_feed(self) -> None:
        with self.reading.begin() as connection:
            if connection.execute(_IS_FEED_READY).scalar():
                return
        with self.writing.begin() as connection:
            self.lock(connection)
            connection.execute(_ADD_FEED)
            connection.execute(_RAISE_CURSORS)

    def reserve_cursors(self, connection: Connection, events: int, *, exclusive: bool) -> None:
        """Reserve cursors for all events of the transaction: increase the offset (`_cursor_at`) of later transactions.

        Raises ValueError if `exclusive` is false, because then another transaction may already have these cursors.
        """
        if not exclusive:
            raise ValueError(f"one write with a shared lock can have at most {MOST_EVENTS} changes, not {events}: split it")
        connection.execute(_RESERVE, {"more": events // _EVENTS})

    def connect_to_feed(self) -> Connection:
        # The connection uses no transactions, so that reading the feed is one round trip to the server.
        return self.reading.connect().execution_options(isolation_level="AUTOCOMMIT")

    def read_feed(self, connection: Connection, after: int, limit: int) -> FeedRead:
        rows = connection.execute(_READ_FEED, {"after": after, "limit": limit}).all()
        first = rows[0]
        # The cursor of a new transaction can be below `after` if the server was replaced by an older copy.
        is_lost = first.pruned > after or first.next <= after
        return FeedRead(rows if first.cursor is not None else (), first.position, first.newest, is_lost)

    def note_pruned(self, connection: Connection, last: int) -> None:
        connection.execute(_NOTE_PRUNED, {"last": last})

    def note_structure(self, connection: Connection, position: int) -> None:
        connection.execute(_NOTE_STRUCTURE, {"position": position})

    def insert(self, table: Table) -> Any:
        return postgresql.insert(table)

    def insert_rows(self, connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert many new rows with COPY, which takes a fraction of the time of INSERT."""
        if not rows:
            return
        columns = ", ".join(f'"{column.name}"' for column in table.columns)
        statement = f'COPY "{table.name}" ({columns}) FROM STDIN'
        driver: Any = connection.connection.dbapi_connection
        try:
            with driver.cursor() as cursor, cursor.copy(statement) as copy:
                for row in rows:
                    copy.write_row(row)
        except connection.dialect.loaded_dbapi.Error as error:
            raise wrap_error(connection, statement, error) from error

    def is_listed(self, column: ColumnElement[str], name: str) -> ColumnElement[bool]:
        return column == any_(bindparam(name, type_=postgresql.ARRAY(String)))


@cache
def _lock_shared(locks: frozenset[WriteLock]) -> str:
    """Return the statement that takes the lock for writing in shared mode, then the locks of `locks` in a fixed order."""
    named = [f"pg_advisory_xact_lock({_WRITE_LOCK + lock})" for lock in sorted(locks - {WriteLock.SHARED})]
    return f"SELECT {', '.join((_WAIT, f'pg_advisory_xact_lock_shared({_WRITE_LOCK})', *named, _WAIT_NO_LONGER))}"


def _code_of(error: Exception) -> str | None:
    """Return the error code that the server sent, or None if it sent no code."""
    code: str | None = getattr(error.orig if isinstance(error, DBAPIError) else error, "sqlstate", None)
    return code


_COMPLETE_IN_FEED = (
    select(func.max(changes.c.cursor)).where(changes.c.cursor <= select(_COMPLETE).scalar_subquery()).scalar_subquery()
)
_OLDEST = select(feed.c.pruned + 1).scalar_subquery()


@compiles(CompleteCursor, "postgresql")
def _print_complete(_element: CompleteCursor, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(_COMPLETE_IN_FEED, **options)


@compiles(CompleteCursorOf, "postgresql")
def _print_complete_of(element: CompleteCursorOf, compiler: SQLCompiler, **options: Any) -> str:
    # The changes of one plant are committed in the order of their cursors.
    (plant_id,) = element.clauses
    newest = select(func.max(changes.c.cursor)).where(changes.c.plant_id == plant_id).scalar_subquery()
    return compiler.process(func.greatest(_COMPLETE_IN_FEED, newest), **options)


@compiles(OldestCursor, "postgresql")
def _print_oldest(_element: OldestCursor, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(_OLDEST, **options)


def _name_of(url: URL) -> str:
    """Return host, port and database of a server as text, without credentials."""
    host = url.host or url.query.get("host") or "localhost"
    port = url.port or url.query.get("port") or 5432
    return f"postgresql://{host}:{port}/{url.database or ''}"
