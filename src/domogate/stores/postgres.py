"""A database on a PostgreSQL server."""

from collections.abc import Generator
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Engine, String, Table, any_, bindparam, create_engine, event, func, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import URL

from domogate.stores.engine import ENGINE_OPTIONS, READERS, Database, newest_cursor, time_is_up

if TYPE_CHECKING:
    import psycopg

# All Domogate processes use the same number. Only the process that holds this lock may write.
_WRITE_LOCK = 0x646F6D6F67617465
_CONNECT_SECONDS = "2"
"""The time for connecting: the smallest value that the database driver allows."""


class PostgresDatabase(Database):
    """A PostgreSQL server. Snapshots are REPEATABLE READ. An advisory lock admits one writer at a time.

    A server that stopped keeps its connections open and does not answer. So the gateway gives up a statement when the time
    limit of its thread is over, and closes its connection.
    """

    def __init__(self, url: URL) -> None:
        super().__init__(_name_of(url))
        if find_spec("psycopg") is None:
            raise ValueError("a PostgreSQL database needs the driver psycopg: install domogate[postgres]")
        url = url.set(drivername="postgresql+psycopg")
        if "connect_timeout" not in url.query:
            url = url.update_query_dict({"connect_timeout": _CONNECT_SECONDS})
        self.writing = self._engine(url, 1)
        reading = self._engine(url, READERS + 2)  # The feed and the probe have one each.
        self.reading = reading.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @staticmethod
    def _engine(url: URL, size: int) -> Engine:
        engine = create_engine(url, pool_size=size, pool_pre_ping=True, **ENGINE_OPTIONS)

        @event.listens_for(engine, "do_connect")
        def connect(_dialect: Any, _record: Any, arguments: Any, options: Any) -> Any:
            return _limited_connection().connect(*arguments, **options)

        return engine

    def lock(self, connection: Connection) -> None:
        connection.execute(select(func.pg_advisory_xact_lock(_WRITE_LOCK)))

    def prepare_writer(self, connection: Connection) -> None:
        """Does nothing, because statements obey the time limit of their thread."""

    def is_busy(self, _error: Exception) -> bool:
        return False  # Waiting for the lock is a statement like others.

    def erase_old_values(self) -> None:
        """Does nothing. The server overwrites free space later, and the log belongs to the server."""

    def change_token(self, connection: Connection) -> object:
        with connection.begin():
            return newest_cursor(connection)

    def insert(self, table: Table) -> Any:
        return postgresql.insert(table)

    def is_listed(self, column: ColumnElement[str], name: str) -> ColumnElement[bool]:
        return column == any_(bindparam(name, type_=postgresql.ARRAY(String)))


@cache
def _limited_connection() -> "type[psycopg.Connection[Any]]":
    """Return a class of connections that obey the time limit of their thread."""
    import psycopg  # an extra, which is not installed with SQLite

    def give_up_in_time(waiting: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Wait for the server as the database driver does, but check the time limit several times per second."""
        try:
            wanted = next(waiting)
            while True:
                ready = yield wanted
                if not ready and time_is_up():
                    raise TimeoutError
                wanted = waiting.send(ready)
        except StopIteration as done:
            return done.value

    class LimitedConnection(psycopg.Connection[Any]):
        def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return super().wait(give_up_in_time(gen), *args, **kwargs)
            except TimeoutError:
                self.pgconn.finish()
                raise psycopg.OperationalError("the server did not answer in time") from None

    return LimitedConnection


def _name_of(url: URL) -> str:
    """Return host, port and database of a server as text, without credentials."""
    host = url.host or url.query.get("host") or "localhost"
    port = url.port or url.query.get("port") or 5432
    return f"postgresql://{host}:{port}/{url.database or ''}"
