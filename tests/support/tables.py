"""New SQLite databases of the tests get all their tables at once, as the migrations make them, because migrations are slow.

`tests/stores/test_migrate.py`, new processes and PostgreSQL databases still run all migrations.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from sqlalchemy import Connection, create_engine, text

from domogate.stores import migrate, sqlite_url
from domogate.stores.opening import open_database

_run_migrations = migrate.upgrade


@cache
def _statements() -> list[str]:
    """The statements that make the same database as the migrations."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        _run_migrations(connection)
        made = connection.execute(
            text("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, rowid")
        )
        statements = list(made.scalars())
    engine.dispose()
    return statements


def _make_tables(connection: Connection, revision: str = "head") -> None:
    if revision != "head" or connection.dialect.name != "sqlite" or migrate.find_revision(connection) is not None:
        _run_migrations(connection, revision)
        return
    for statement in _statements():
        connection.exec_driver_sql(statement)
    connection.execute(text("INSERT INTO alembic_version (version_num) VALUES (:head)"), {"head": migrate.HEAD})


def make_tables_at_once(*, prepared: bool = False) -> Callable[[], None]:
    """Make tables at once in this process and its forks. Call the result to undo it. `prepared`: compute the statements now."""
    if prepared:
        _statements()
    migrate.upgrade = _make_tables

    return make_tables_by_revisions


def make_tables_by_revisions() -> None:
    migrate.upgrade = _run_migrations


def migrated(folder: Path) -> Path:
    """A database with tables, to be copied, because creating tables takes longer than most tests."""
    path = folder / "migrated.db"
    database = open_database(sqlite_url(path))
    migrate.migrate(database)
    with database.writing.connect() as connection:
        connection.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return path
