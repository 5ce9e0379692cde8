"""When a database is opened: creates the tables of a new database, or migrates an older one to the revision of this code."""

from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, inspect, text
from sqlalchemy.schema import ExecutableDDLElement

from domogate.common.log import get_logger
from domogate.stores.engine import Database
from domogate.stores.presence import ALIVE
from domogate.stores.revisions import HEAD, OLDEST_BESIDE, explain_too_new

SQLITE_TABLES = Path(__file__).parent / "sqlite_tables.sql"
"""The file with the SQL that creates the tables of a new SQLite database. `./dev reference` writes this file."""

_log = get_logger(__name__)

_version_table = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""The table in which Alembic keeps the revision. It is the same table that Alembic would create."""

# Only the clock of the database is used here: the clock of this machine may be wrong (Decision 0096).
_COUNT_RUNNING = text("SELECT count(*) FROM gateways WHERE seen_at > extract(epoch FROM clock_timestamp()) - :alive")


class DatabaseTooNew(RuntimeError):
    """A newer version of Domogate has used the database. The store does not start, and the database is not changed."""


class DatabaseInUse(RuntimeError):
    """Gateways of another version use the database, and this version cannot run beside that version.

    The database is not changed.
    """


_IF_TOO_NEW = (
    "Install the newer version again. To stay with this version, stop the gateway, move the database away (keep it), and"
    " restore a backup that this version made: docs/operations/upgrading.md, section Upgrading."
)


def migrate(database: Database) -> None:
    """Create or upgrade the tables in one transaction. Processes that start together wait for each other.

    Raises DatabaseTooNew or DatabaseInUse. Then nothing is changed.
    """
    with database.reading.connect() as connection:
        if find_revision(connection) == HEAD:
            return
    with database.writing.begin() as connection:
        database.lock(connection)
        revision = find_revision(connection)
        if revision == HEAD:
            return
        if revision is None:
            create_tables(connection)
            return
        if revision < OLDEST_BESIDE:
            _check_unused(database, connection, revision)
        database.limit_waiting(connection)
        upgrade(connection)
    _log.info("upgraded the database", from_revision=revision, to_revision=HEAD)


def create_tables(connection: Connection) -> None:
    """Create all tables in an empty database, without Alembic (Decision 0103)."""
    if connection.dialect.name == "sqlite":
        # SQLAlchemy needs several times as long to make these statements as SQLite needs to execute them (Decision 0142).
        driver = connection.connection.cursor()
        for statement in SQLITE_TABLES.read_text("utf-8").split(";\n"):
            driver.execute(statement)
    else:
        from domogate.stores.tables.all_tables import metadata  # Only a new database needs all tables.

        metadata.create_all(connection, checkfirst=False)
        _version_table.create(connection, checkfirst=False)
    connection.execute(_version_table.insert().values(version_num=HEAD))


def print_sqlite_tables() -> str:
    """Return the SQL statements that create all tables in an empty SQLite database."""
    from sqlalchemy import create_mock_engine  # Only for `./dev reference`.

    from domogate.stores.tables.all_tables import metadata

    statements: list[str] = []

    def keep(statement: ExecutableDDLElement, *_: Any) -> None:
        lines = (line.strip() for line in str(statement.compile(dialect=engine.dialect)).splitlines())
        statements.append(" ".join(filter(None, lines)))

    engine = create_mock_engine("sqlite://", keep)
    for table in (*metadata.sorted_tables, _version_table):  # `create_all` would depend on the order of imports.
        table.create(engine, checkfirst=False)
    tables = [statement for statement in statements if statement.startswith("CREATE TABLE")]
    indexes = sorted(set(statements).difference(tables))  # SQLAlchemy makes them in any order.
    return ";\n".join([*tables, *indexes]) + ";\n"


def _check_unused(database: Database, connection: Connection, revision: str) -> None:
    """Raises DatabaseInUse if a gateway with a recent heartbeat may still use the database.

    A SQLite file is not checked. A lock in the data folder already stops a second gateway.
    """
    if database.is_local or not inspect(connection).has_table("gateways"):
        return
    running = connection.execute(_COUNT_RUNNING, {"alive": ALIVE}).scalar()
    if running:
        raise DatabaseInUse(
            f"this database is at revision {revision}, and {running} of its gateways still ran {ALIVE:.0f} seconds ago. "
            f"Gateways before revision {OLDEST_BESIDE} cannot run beside this version: stop them, wait, and start this one"
        )


def is_empty(database: Database) -> bool:
    with database.reading.connect() as connection:
        return find_revision(connection) is None


def find_revision(connection: Connection) -> str | None:
    """Return the revision of the database, or None if Domogate never opened this database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return revision


def upgrade(connection: Connection, revision: str = "head") -> None:
    # Imported here, because Alembic is large and a database is migrated once for each release.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    current = find_revision(connection)
    if current is not None and current not in known:
        raise DatabaseTooNew(f"{explain_too_new('the database', current)} Nothing was changed.\n{_IF_TOO_NEW}")
    command.upgrade(config, revision)
