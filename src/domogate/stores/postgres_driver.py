"""How this project uses psycopg, the database driver of PostgreSQL: time limits, and several statements in one round trip."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from domogate.stores.direct import time_is_up, wrap_error

if TYPE_CHECKING:
    import psycopg

_MOST_TOGETHER = 500
"""The number of statements in a full part of a pipeline. A full part is sent before the end of the pipeline."""


@contextmanager
def in_one_round_trip(connection: Connection) -> Iterator[None]:
    """Send the statements of the `with` block together at its end.

    If there are `_MOST_TOGETHER` statements or more, send them in several parts.

    The server executes them in order, and stops at the first error. Rows can be read after the block.
    """
    driver: Any = connection.connection.dbapi_connection
    errors = connection.dialect.loaded_dbapi.Error
    pipeline = driver.pipeline()
    try:
        pipeline.__enter__()
        try:
            yield
        except BaseException:
            with suppress(errors):  # The server has skipped the statements after the first error.
                pipeline.__exit__(None, None, None)
            raise
        pipeline.__exit__(None, None, None)
    except errors as error:
        raise wrap_error(connection, "statements in one round trip", error) from error


@cache
def limited_connection() -> "type[psycopg.Connection[Any]]":
    """Return a class of connections whose statements end at the time limit of their thread (`time_limit`).

    At this limit, the statement fails and the connection is closed.
    """
    import psycopg  # an extra, which is not installed with SQLite

    def give_up_in_time(waiting: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Wait for the server with the generator `waiting` of the database driver.

        Raises TimeoutError at the time limit, which is checked several times per second.
        """
        try:
            wanted = next(waiting)
            while True:
                ready = yield wanted
                if not ready and time_is_up():
                    raise TimeoutError
                wanted = waiting.send(ready)
        except StopIteration as done:
            return done.value

    class WholePipeline(psycopg.Pipeline):
        """Sends its statements together with the end of the pipeline. The base class sends each statement immediately.

        While the server has a part of a pipeline but not its end, it does not count the transaction as idle. If the process is
        frozen in this time, the server does not end the transaction, and its locks stay. This cannot happen if everything is
        sent together. It can happen after the first part of a long pipeline, which is sent in parts.
        """

        def _communicate_gen(self) -> Generator[Any, Any, None]:
            commands = self.command_queue
            if len(commands) >= _MOST_TOGETHER:
                yield from super()._communicate_gen()
            elif commands and commands[-1] == self.pgconn.pipeline_sync:
                while commands:
                    commands.popleft()()  # libpq sends up to 64 KB at once. The last command is the end of the pipeline.
                yield from super()._communicate_gen()

    class LimitedConnection(psycopg.Connection[Any]):
        def pipeline(self) -> Any:
            if self._pipeline is None and not self.closed:
                self._pipeline = WholePipeline(self)
            return super().pipeline()

        def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return super().wait(give_up_in_time(gen), *args, **kwargs)
            except TimeoutError:
                self.pgconn.finish()
                raise psycopg.OperationalError("the server did not answer in time") from None

    return LimitedConnection
