"""Bringing a database to the revision this code is written for, when it is opened."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from domogate.stores.engine import Database

HEAD = "0005"
"""The newest revision in `migrations/`; a database that is there already starts without loading Alembic."""


class DatabaseTooNew(RuntimeError):
    """The database was written by a newer Domogate than this one."""


def migrate(database: Database) -> None:
    """Create or upgrade the tables, in one transaction; processes that start together take turns."""
    with database.reading.connect() as connection:
        if find_revision(connection) == HEAD:
            return
    with database.writing.begin() as connection:
        database.lock(connection)
        if find_revision(connection) != HEAD:
            _upgrade(connection)


def find_revision(connection: Connection) -> str | None:
    """None: no Domogate has ever opened this database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return revision


def _upgrade(connection: Connection) -> None:
    # Loaded here because it is large and needed once in the life of a release.
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory(str(Path(__file__).parent / "migrations"))
    known = {script.revision for script in scripts.walk_revisions()}
    current = find_revision(connection)
    if current is not None and current not in known:
        raise DatabaseTooNew(
            f"this database is at revision {current}, which this version of Domogate does not know (its newest is {HEAD}): "
            "it was used by a newer version; start that one, or restore a backup"
        )
    with EnvironmentContext(Config(), scripts, fn=lambda revision, _: scripts._upgrade_revs("head", revision)) as environment:
        environment.configure(connection=connection)
        environment.run_migrations()
