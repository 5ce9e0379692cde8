"""A database with tables, for tests that need many new databases."""

from pathlib import Path

from domogate.stores import migrate, sqlite_url
from domogate.stores.opening import open_database


def migrated(folder: Path) -> Path:
    """A database with tables, to be copied, because creating tables takes longer than most tests."""
    path = folder / "migrated.db"
    database = open_database(sqlite_url(path))
    migrate.migrate(database)
    with database.writing.connect() as connection:
        connection.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return path
