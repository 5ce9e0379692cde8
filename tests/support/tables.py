"""New SQLite databases of the tests get their tables at once, as the migrations make them: one by one would take long.

`tests/stores/test_migrate.py`, every process that is started anew and every PostgreSQL database still go through all of them.
"""

from collections.abc import Callable
from functools import cache

from sqlalchemy import Connection, create_engine, text

from domogate.stores import migrate

_migrate_by_revisions = migrate._upgrade


@cache
def _statements() -> list[str]:
    """What a database is made by that the migrations have made."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        _migrate_by_revisions(connection)
        made = connection.execute(
            text("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, rowid")
        )
        statements = list(made.scalars())
    engine.dispose()
    return statements


def _make_tables(connection: Connection) -> None:
    if connection.dialect.name != "sqlite" or migrate.find_revision(connection) is not None:
        _migrate_by_revisions(connection)
        return
    for statement in _statements():
        connection.exec_driver_sql(statement)
    connection.execute(text("INSERT INTO alembic_version (version_num) VALUES (:head)"), {"head": migrate.HEAD})


def make_tables_at_once(*, prepared: bool = False) -> Callable[[], None]:
    """From now on, in this process and those that it forks; what is returned undoes it. `prepared`: know how already."""
    if prepared:
        _statements()
    migrate._upgrade = _make_tables

    return make_tables_by_revisions


def make_tables_by_revisions() -> None:
    migrate._upgrade = _migrate_by_revisions
