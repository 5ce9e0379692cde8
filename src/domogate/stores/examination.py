"""Reads the revision and the clock of a database for `domogate doctor`. Nothing is changed."""

import time

import msgspec
from sqlalchemy import Connection, select, text

from domogate.stores.direct import time_limit
from domogate.stores.inspection import UsedDatabases
from domogate.stores.migrate import find_revision
from domogate.stores.opening import find_sqlite_file, open_database, refuse_lost
from domogate.stores.revisions import HEAD
from domogate.stores.tables.feed import gateways

_CLOCK = text("SELECT extract(epoch FROM clock_timestamp())")
_PING = text("SELECT 1")


class Examination(msgspec.Struct, frozen=True):
    """What `domogate doctor` has read from a database."""

    product: str
    """For example "PostgreSQL 18.1"."""
    revision: str | None
    """The revision of the tables, or None if Domogate never opened this database."""
    round_trip: float
    """The seconds that a small query takes."""
    clock: float | None
    """The seconds that the clock of the database server is ahead of this machine. None for a SQLite file."""
    gateways: frozenset[str] | None
    """The ids in the list of running gateways. A gateway that was killed can still be in this list.

    None if the tables have another revision than this program needs.
    """

    @property
    def is_current(self) -> bool:
        return self.revision == HEAD

    @property
    def is_newer(self) -> bool:
        return self.revision is not None and self.revision > HEAD


def examine_database(url: str, used: UsedDatabases, seconds: float) -> Examination:
    """Read the values of an `Examination` from the database. Raises DBAPIError if it cannot be read.

    DBAPIError is also raised if the database has not answered after this number of seconds. Raises ValueError if
    `open_database` refuses the URL. Raises DatabaseUnusable if the database is empty although it is in the list `used`.
    """
    database = open_database(url)
    try:
        with time_limit(seconds), database.reading.connect() as connection:
            refuse_lost(database, used)
            version = ".".join(map(str, connection.dialect.server_version_info or ()))
            is_file, revision = find_sqlite_file(url) is not None, find_revision(connection)
            return Examination(
                product=f"{'SQLite' if is_file else 'PostgreSQL'} {version}",
                revision=revision,
                round_trip=_measure_round_trip(connection),
                clock=None if is_file else float(connection.execute(_CLOCK).scalar_one()) - time.time(),
                gateways=_list_gateways(connection, revision),
            )
    finally:
        database.close()


def _list_gateways(connection: Connection, revision: str | None) -> frozenset[str] | None:
    if revision is None:
        return frozenset()
    return frozenset(connection.execute(select(gateways.c.id)).scalars()) if revision == HEAD else None


def _measure_round_trip(connection: Connection) -> float:
    begun = time.perf_counter()
    connection.execute(_PING)
    return time.perf_counter() - begun
