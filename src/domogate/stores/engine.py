"""An opened database. Its class hides the differences between SQLite and PostgreSQL.

Each database has two engines. Transactions of the engine `writing` write. A process has one connection of this engine, in the
writer thread. Transactions of the engine `reading` are read-only snapshots.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from math import inf
from typing import Any, TypeVar

from sqlalchemy import Column, ColumnElement, Connection, Engine, Insert, Select, Table, func, insert, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.dml import UpdateBase

from domogate.common.log import get_logger
from domogate.domain.events import Change, Event
from domogate.stores.codec import to_json
from domogate.stores.cursors import MOST_EVENTS, FeedRead, TransactionStart
from domogate.stores.direct import DirectStatement, Write, execute_text, time_is_up
from domogate.stores.tables.feed import changes
from domogate.stores.write_lock import WriteLock

T = TypeVar("T")

READERS = 4
# Errors are logged. They must not show the parameters, which contain hashes and keys.
ENGINE_OPTIONS: dict[str, Any] = {"max_overflow": 0, "hide_parameters": True}
_INSERT_CHANGES = DirectStatement(insert(changes))
_CHANGES_COLUMNS = changes.columns.keys()
_MANY_CHANGES = 1_000  # They are written before the commit. On PostgreSQL this is a round trip more, but much faster.
_NEWEST = DirectStatement(select(func.max(changes.c.cursor)))

_log = get_logger(__name__)


class _Statements:
    """The SQL statements of one kind of database (SQLite or PostgreSQL). A process builds each of them once."""

    def __init__(self) -> None:
        self.upserts: dict[Table, Insert] = {}
        self.bulks: dict[UpdateBase, DirectStatement] = {}
        self.finds: dict[tuple[ColumnElement[str], Select[Any] | None], DirectStatement] = {}


@cache
def _statements_of(_kind: "type[Database]") -> _Statements:
    return _Statements()


class Database(ABC):
    """An opened database: the methods that SQLite and PostgreSQL implement in different ways."""

    writing: Engine
    reading: Engine
    reads_in_parallel = False
    """Whether reads on several threads take less time than reads one after the other."""
    begin = "BEGIN"
    """The statement that begins a write transaction."""
    index_from: float = inf
    """At the first change with this cursor or a higher one, `index_changes` is called. Infinite if there is no index."""
    lock_retry = 0.0
    """In seconds: a process that waits for the lock for writing tries again within this time. With 0, it waits in a queue."""

    def __init__(self, name: str) -> None:
        """`name` is for messages and for the file `in-use`, a list of used databases. It contains no credentials."""
        self.name = name
        self.is_shared = False
        """Whether this process is a member of a cluster. Several members can commit reports and orders at the same time."""
        self.is_gateway = True
        """Whether this process is a gateway. False for a `domogate` command."""
        self.to_list: Callable[[list[str]], Any] = list
        """Converts a list of values to one parameter, for the condition `is_listed`."""
        self.is_temporary = False
        """Whether the data are needed only while this process runs. If True, a commit does not wait for the disk."""
        kept = _statements_of(type(self))
        self._upserts, self._bulks, self._finds = kept.upserts, kept.bulks, kept.finds

    @property
    def is_local(self) -> bool:
        """Whether only this machine can use the database. If so, a lock in the data folder prevents a second gateway."""
        return True

    def limit_waiting(self, _connection: Connection) -> None:
        """Make the transaction fail if it waits too long for a table lock. While it waits, other processes wait for it."""
        return

    @abstractmethod
    def lock(self, connection: Connection) -> None:
        """Wait until no other process writes. Then no other process can write until the transaction of the connection ends."""

    def start_transaction(self, connection: Connection, _locks: Collection[WriteLock], _long: bool, /) -> TransactionStart:
        """Begin a transaction, wait for the locks, and return the position of the transaction in the change feed.

        `_long` is True if the transaction may change a large part of the database. On SQLite, the transaction begins without
        SQLAlchemy, because the code of SQLAlchemy takes longer than SQLite itself. If SQLAlchemy later executes a statement of
        the transaction, `commit` and `roll_back` end the transaction through SQLAlchemy.
        """
        execute_text(connection, self.begin)
        newest = _NEWEST.scalar(connection, {}) or 0
        return TransactionStart(newest, newest)

    def commit(self, connection: Connection, writes: Sequence[Write]) -> None:
        """Execute the writes, and commit the transaction."""
        for write in writes:
            write.execute(connection)
        if connection.in_transaction():
            connection.commit()
        else:
            execute_text(connection, "COMMIT")

    def roll_back(self, connection: Connection) -> None:
        """Undo the transaction."""
        if connection.in_transaction():
            connection.rollback()
        else:
            execute_text(connection, "ROLLBACK")

    def read(self, query: Callable[[Connection], T]) -> T:
        """Run the query in a transaction that only reads. Can be called on several threads."""
        with self.reading.begin() as connection:
            return query(connection)

    @abstractmethod
    def prepare_writer(self, connection: Connection) -> None:
        """Set up a new connection of the writer. The method is called once for each connection."""

    @abstractmethod
    def is_busy(self, error: Exception) -> bool:
        """Whether the error means that another process holds the lock for writing."""

    def is_undone(self, _error: Exception) -> bool:
        """Whether the error means that the database rolled the transaction back, so that the transaction can be tried again."""
        return False

    @abstractmethod
    def change_token(self, connection: Connection) -> object:
        """Return a value that changes when another connection commits, or None if the database has no such value."""

    @abstractmethod
    def prepare_feed(self) -> None:
        """Prepare the database, so that the cursors of new changes are higher than all stored cursors."""

    @abstractmethod
    def connect_to_feed(self) -> Connection:
        """Return a connection for `change_token` and `read_feed`."""

    @abstractmethod
    def reserve_cursors(self, connection: Connection, events: int, *, exclusive: bool) -> None:
        """Reserve cursors for `events` events. Raises ValueError on PostgreSQL if WriteLock.EXCLUSIVE is not held."""

    @abstractmethod
    def read_feed(self, connection: Connection, after: int, limit: int) -> FeedRead:
        """Return changes after the cursor `after`. Stop before a change if a change with a lower cursor may still appear."""

    @abstractmethod
    def note_pruned(self, connection: Connection, last: int) -> None:
        """Remember that all changes up to the cursor `last` are removed."""

    def index_changes(self, _last: int) -> Sequence[Write]:
        """Return the writes that add changes up to the cursor `_last` to the index of changes by plant."""
        return ()

    @abstractmethod
    def note_structure(self, connection: Connection, position: int) -> None:
        """Store the position of an EXCLUSIVE write of plants or states. Then recorders of other gateways clear their caches."""

    @abstractmethod
    def insert(self, table: Table) -> Any:
        """Return an INSERT that supports ON CONFLICT."""

    @abstractmethod
    def insert_rows(self, connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert many new rows. The values of each row have the order of the columns."""

    @abstractmethod
    def is_listed(self, column: ColumnElement[str], name: str) -> ColumnElement[bool]:
        """Return a condition: the value of the column is in the list that is passed as the parameter `name`.

        The list is one parameter. For long lists this condition takes a fraction of the time of an expanding IN.
        """

    def upsert(self, table: Table) -> Insert:
        """Return an INSERT statement. If a row with the same key exists, the statement replaces all columns of this row."""
        if table in self._upserts:
            return self._upserts[table]
        statement = self.insert(table)
        keys = [column.name for column in table.primary_key]
        rest = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in keys}
        upserting: Insert = statement.on_conflict_do_update(index_elements=keys, set_=rest)
        return self._upserts.setdefault(table, upserting)

    def bulk(self, statement: UpdateBase) -> DirectStatement:
        """Return a form of the statement that writes many rows quickly.

        The result is cached permanently, so pass only statements that are constants of a Python module.
        """
        bulk = self._bulks.get(statement)
        if bulk is None:
            bulk = self._bulks[statement] = DirectStatement(statement)
        return bulk

    def find_rows(
        self, connection: Connection, column: Column[str], values: Iterable[str], query: Select[Any] | None = None
    ) -> list[tuple[Any, ...]]:
        """Return the rows of the query that have one of the values in this column.

        The query must be a constant of a Python module. Without a query, each row has the values of all columns of the table.
        """
        find = self._finds.get((column, query))
        if find is None:
            all_rows = select(column.table) if query is None else query
            find = self._finds[column, query] = DirectStatement(all_rows.where(self.is_listed(column, "listed")))
        return find.all(connection, {"listed": self.to_list(list(values))})

    def set_option(self, name: str, value: object) -> None:
        """Set this execution option of SQLAlchemy for every connection."""
        if self.writing.get_execution_options().get(name) is not value:
            self.writing = self.writing.execution_options(**{name: value})
            self.reading = self.reading.execution_options(**{name: value})

    @abstractmethod
    def erase_old_values(self) -> None:
        """Erase replaced values from the free space and the write-ahead log of the database, if the database can do this."""

    def explain(self, error: Exception) -> Exception:
        """Return the error itself, or an error of the port (such as StoreUnavailable) that says what is wrong."""
        return error

    def close(self) -> None:
        self.reading.dispose()
        self.writing.dispose()


class Transaction:
    """The current write transaction. Its events become changes when it commits."""

    __slots__ = ("_start", "connection", "database", "events", "last_writes", "now", "writes_late")

    def __init__(self, database: Database, connection: Connection, now: float, start: int) -> None:
        """`start` is the cursor before the first event of this transaction."""
        self.database = database
        self.connection = connection
        self.now = now
        self.events: list[Event] = []
        self.last_writes: list[Write] = []
        """Writes that are sent together with the commit."""
        self.writes_late = False
        """If True, `write` keeps the rows until the commit, so later statements of this transaction do not see the rows."""
        self._start = start

    @property
    def position(self) -> int:
        """The cursor of the last event of this transaction so far. No change of an earlier transaction has a higher cursor."""
        return self._start + len(self.events)

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def upsert(self, table: Table) -> Insert:
        return self.database.upsert(table)

    def execute_bulk(self, statement: UpdateBase, rows: Sequence[Mapping[str, Any]]) -> None:
        """Execute the statement once for each row. The statement must be a constant of a Python module."""
        self.database.bulk(statement).execute_many(self.connection, rows)

    def write(self, statement: DirectStatement, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Execute the statement once for each row: now, or together with the commit if `writes_late` is set."""
        write = Write(statement, names, rows)
        if not self.writes_late:
            write.execute(self.connection)
        elif rows:
            self.last_writes.append(write)

    def write_changes(self, *, exclusive: bool) -> Sequence[Change]:
        """Write the events as changes: many now, a few with the commit. Return them. `exclusive`: the lock is EXCLUSIVE."""
        if len(self.events) > MOST_EVENTS:
            self.database.reserve_cursors(self.connection, len(self.events), exclusive=exclusive)
        committed = [Change(cursor, self.now, event) for cursor, event in enumerate(self.events, self._start + 1)]
        rows = [(it.cursor, it.at, getattr(it.event, "plant_id", None), to_json(it.event)) for it in committed]
        if len(rows) >= _MANY_CHANGES:
            self.database.insert_rows(self.connection, changes, rows)
        elif rows:
            self.last_writes.append(Write(_INSERT_CHANGES, _CHANGES_COLUMNS, rows))
        if rows and self.position >= self.database.index_from:
            self.last_writes += self.database.index_changes(self.position)
        return committed


class WriterConnection:
    """The connection of the writer. It connects at the first use, and again after the connection was lost."""

    def __init__(self, database: Database, on_closed: Callable[[], None]) -> None:
        self._database = database
        self._on_closed = on_closed
        self._connection: Connection | None = None

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """Yield the connection. If the `with` block raises an error, close the connection."""
        try:
            yield self._get()
        except Exception:
            self.close()
            raise

    def _get(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.writing.connect()
            self._database.prepare_writer(self._connection)
        return self._connection

    def begin(self, locks: Collection[WriteLock], *, long: bool) -> tuple[Connection, TransactionStart]:
        """Begin a write transaction. A connection that was lost while it was idle is replaced."""
        try:
            return self._begin(locks, long=long)
        except DBAPIError as error:
            if not error.connection_invalidated or time_is_up():
                raise
        self.close()
        return self._begin(locks, long=long)

    def _begin(self, locks: Collection[WriteLock], *, long: bool) -> tuple[Connection, TransactionStart]:
        connection = self._get()
        return connection, self._database.start_transaction(connection, locks, long)

    def close(self) -> None:
        self._on_closed()
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception:  # The database driver raises many kinds of errors for a lost server.
                _log.exception("the connection of the writer could not be closed")


def chunked(items: Iterable[T], size: int = 500) -> Iterator[list[T]]:
    """Split the items into lists that are small enough for the parameters of one statement."""
    walk = iter(items)
    while piece := list(islice(walk, size)):
        yield piece


def execute_many(connection: Connection, statement: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Execute the statement for all rows. If there are no rows, do nothing: SQLAlchemy would insert one row of defaults."""
    if rows:
        connection.execute(statement, rows)
