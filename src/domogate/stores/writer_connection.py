"""The connection of the writer thread to the database."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from domogate.common.log import get_logger
from domogate.stores.cursors import TransactionStart
from domogate.stores.engine import Database, WriteLock, time_is_up

_log = get_logger(__name__)


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
