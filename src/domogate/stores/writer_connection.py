"""The connection of the writer thread."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from domogate.stores.cursors import TransactionStart
from domogate.stores.engine import Database, time_is_up

_log = structlog.get_logger(__name__)


class WriterConnection:
    """Connects when it is needed, and again after the connection was lost."""

    def __init__(self, database: Database, on_closed: Callable[[], None]) -> None:
        self._database = database
        self._on_closed = on_closed
        self._connection: Connection | None = None

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """Close the connection if the block fails."""
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

    def begin(self, *, shared: bool, long: bool) -> tuple[Connection, TransactionStart]:
        """Begin a write transaction. If the connection was lost while it was idle, it is replaced."""
        try:
            return self._begin(shared=shared, long=long)
        except DBAPIError as error:
            if not error.connection_invalidated or time_is_up():
                raise
        self.close()
        return self._begin(shared=shared, long=long)

    def _begin(self, *, shared: bool, long: bool) -> tuple[Connection, TransactionStart]:
        connection = self._get()
        self._database.lock(connection, shared=shared, long=long)
        return connection, self._database.start_transaction(connection)

    def close(self) -> None:
        self._on_closed()
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception:  # The database driver raises many kinds of errors for a lost server.
                _log.exception("the connection of the writer could not be closed")
