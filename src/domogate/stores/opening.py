"""Opens the database that a URL names."""

from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.engine import URL

from domogate.stores.engine import Database
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
    """Open a SQLite or PostgreSQL database. Raises ValueError for any other URL."""
    parsed = _parse(url)
    match parsed.get_backend_name():
        case "sqlite":
            return SqliteDatabase(parsed)
        case "postgresql":
            from domogate.stores.postgres import PostgresDatabase  # not needed with SQLite

            return PostgresDatabase(parsed)
        case other:
            raise ValueError(f"a database of kind {other!r} is not supported: use sqlite or postgresql")
