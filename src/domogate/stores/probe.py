"""Asks a database server regularly whether it answers. A writer that waits for a statement cannot find this out."""

import threading

from sqlalchemy import Connection

from domogate.common.log import get_logger
from domogate.stores.cursors import complete_cursor
from domogate.stores.direct import time_limit
from domogate.stores.engine import Database

_PERIOD, _LIMIT = 0.5, 1.0
"""The seconds from the end of one query to the next query, and the seconds that the server has for an answer.

The sum is below 2 seconds. docs/operations/monitoring.md promises that `/readyz` shows within 2 seconds that the database does
not answer.
"""
_STOP_SECONDS = 0.5

_log = get_logger(__name__)


class Probe:
    """A thread with its own connection. It regularly asks the database server whether it answers."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.connection: Connection | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="domogate-store-probe", daemon=True)
        self.is_reachable = True
        """Whether the server answered the last query in time."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(_STOP_SECONDS)  # The thread may wait for a server that does not answer.

    def _run(self) -> None:
        while not self._stopping.wait(_PERIOD):
            reachable = self.ask()
            if reachable != self.is_reachable:
                _log.warning("the database answers again" if reachable else "the database does not answer")
                self.is_reachable = reachable
        self.close()

    def ask(self) -> bool:
        """Send one query to the database server. Return whether the server answered in time."""
        try:
            with time_limit(_LIMIT):
                if self.connection is None:
                    self.connection = self._database.reading.connect()
                with self.connection.begin():
                    complete_cursor(self.connection)
        except Exception:  # The database driver raises many kinds of errors for a lost server.
            self.close()
            return False
        return True

    def close(self) -> None:
        """Close the connection. The next call of `ask` opens a new connection."""
        connection, self.connection = self.connection, None
        if connection is not None:
            try:
                connection.invalidate()  # The pool may be closed already, so it would not close this connection.
                connection.close()
            except Exception:
                _log.warning("the connection of the probe could not be closed")
