"""Opens the database that a URL names, and prepares it for this version."""

from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, OperationalError

from domogate.ports import Sealer
from domogate.stores.engine import Database
from domogate.stores.inspection import DatabaseUnusable, UsedDatabases
from domogate.stores.migrate import is_empty, migrate
from domogate.stores.sealing import open_seals
from domogate.stores.sqlite import SqliteDatabase, database_file


def sqlite_url(path: Path) -> str:
    """Return the URL of the database in this file."""
    return URL.create("sqlite", database=str(path.absolute())).render_as_string(hide_password=False)


def _parse(url: str) -> URL:
    return make_url(url.replace("postgres://", "postgresql://", 1) if url.startswith("postgres://") else url)


def find_sqlite_file(url: str) -> Path | None:
    """Return the file of the database, or None if the URL is not a SQLite database."""
    parsed = _parse(url)
    return database_file(parsed) if parsed.get_backend_name() == "sqlite" else None


def open_database(url: str) -> Database:
    """Open a SQLite or PostgreSQL database. Raises ValueError for any other URL, and if psycopg is needed but not installed."""
    parsed = _parse(url)
    match parsed.get_backend_name():
        case "sqlite":
            return SqliteDatabase(parsed)
        case "postgresql":
            from domogate.stores.postgres import PostgresDatabase  # not needed with SQLite

            return PostgresDatabase(parsed)
        case other:
            raise ValueError(f"a database of kind {other!r} is not supported: use sqlite or postgresql")


def refuse_lost(database: Database, used: UsedDatabases) -> None:
    """Raise DatabaseUnusable if the data folder was used with this database, and the database has no tables now."""
    if used.has(database.name) and is_empty(database):
        raise used.refuse(database.name, f"the database {database.name} has no tables")


def prepare_database(database: Database, used: UsedDatabases, sealer: Sealer | None) -> None:
    """Migrate the database, find the key of its secrets, and add the database to the list of used databases.

    Raises DatabaseUnusable, DatabaseTooNew, DatabaseInUse, SecretKeyMissing or StoreUnavailable.
    """
    try:
        refuse_lost(database, used)
        migrate(database)
        open_seals(database, sealer)
    except DBAPIError as error:
        explained = database.explain(error)
        if not database.is_local and isinstance(error, OperationalError):
            reason = str(error.orig).split("\n", 1)[0]
            explained = DatabaseUnusable(f"the database {database.name} cannot be used: {reason}")
        raise explained from error
    used.add(database.name)
