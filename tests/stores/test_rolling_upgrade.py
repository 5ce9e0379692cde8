"""Two versions on one database: the statements of the earlier version keep working after the database was upgraded."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Column, Connection, MetaData, Table, delete, insert, select, text, update
from sqlalchemy.exc import SQLAlchemyError

from domogate.stores import DatabaseInUse, DatabaseUnusable, SqlStore
from domogate.stores.engine import Database
from domogate.stores.migrate import find_revision, migrate, upgrade
from domogate.stores.opening import open_database
from domogate.stores.postgres import PostgresDatabase
from domogate.stores.revisions import HEAD, OLDEST_BESIDE
from support.clocks import ManualClock
from support.postgres import PostgresServer

Row = dict[str, Any]


@pytest.fixture
def database(empty_database_url: str) -> Iterator[Database]:
    database = open_database(empty_database_url)
    yield database
    database.close()


class EarlierVersion:
    """The tables of an earlier revision, and statements with exactly their columns."""

    def __init__(self, connection: Connection) -> None:
        known = MetaData()
        known.reflect(connection)
        self._tables = [table for table in known.sorted_tables if table.name != "alembic_version"]

    def insert_rows(self, connection: Connection, number: int) -> dict[str, Row]:
        """Insert a row into each table. Rows refer to rows of the same number."""
        rows: dict[str, Row] = {}
        for table in self._tables:
            row = {column.name: _value_of(column, number, rows) for column in table.columns}
            connection.execute(insert(table).values(row))
            rows[table.name] = row
        return rows

    def check_rows(self, connection: Connection, rows: dict[str, Row]) -> None:
        for table in self._tables:
            found = connection.execute(select(*table.columns).where(*_is_row(table, rows[table.name]))).all()
            assert [dict(row._mapping) for row in found] == [rows[table.name]], table.name

    def change_rows(self, connection: Connection, rows: dict[str, Row]) -> None:
        for table in self._tables:
            row = rows[table.name]
            changed = connection.execute(update(table).values(row).where(*_is_row(table, row)))
            assert changed.rowcount == 1, table.name

    def delete_rows(self, connection: Connection, rows: dict[str, Row]) -> None:
        for table in reversed(self._tables):
            connection.execute(delete(table).where(*_is_row(table, rows[table.name])))


def _is_row(table: Table, row: Row) -> list[Any]:
    return [column == row[column.name] for column in (table.primary_key.columns or table.columns)]


def _value_of(column: Column[Any], number: int, rows: dict[str, Row]) -> Any:
    for key in column.foreign_keys:
        if key.column.table.name in rows:
            return rows[key.column.table.name][key.column.name]
    kind = column.type.python_type
    return f"{column.name} {number}" if kind is str else b"%d" % number if kind is bytes else kind(number)


def use_as_earlier_version(connection: Connection, earlier: EarlierVersion, before: dict[str, Row]) -> None:
    """Read, change and delete the rows that were written before the upgrade, and write new rows."""
    earlier.check_rows(connection, before)
    new = earlier.insert_rows(connection, 2)
    for rows in (before, new):
        earlier.change_rows(connection, rows)
        earlier.check_rows(connection, rows)
        earlier.delete_rows(connection, rows)


WRONG_MIGRATIONS = (
    ("ALTER TABLE plants RENAME COLUMN name TO title", "name"),
    ("DROP TABLE usages", "usages"),
    ("CREATE UNIQUE INDEX one_row ON states ((reachable IS NULL))", "one_row"),
    ("CREATE TABLE doors (plant_id VARCHAR REFERENCES plants (id)); INSERT INTO doors SELECT id FROM plants", "(?i)foreign"),
)
"""Migrations of other kinds than those after OLDEST_BESIDE, and a word of the error of the earlier version."""


def make_earlier_database(database: Database) -> tuple[EarlierVersion, dict[str, Row]]:
    with database.writing.begin() as connection:
        upgrade(connection, OLDEST_BESIDE)
        earlier = EarlierVersion(connection)
        return earlier, earlier.insert_rows(connection, 1)


class TestTheEarlierVersion:
    def test_goes_on_after_the_database_was_upgraded(self, database: Database) -> None:
        earlier, before = make_earlier_database(database)
        migrate(database)
        with database.reading.connect() as connection:
            assert find_revision(connection) == HEAD
        with database.writing.begin() as connection:
            use_as_earlier_version(connection, earlier, before)

    def test_would_not_go_on_after_another_kind_of_migration(self, database: Database) -> None:
        """A check of this test itself."""
        earlier, before = make_earlier_database(database)
        for migration, problem in WRONG_MIGRATIONS:
            with database.writing.connect() as connection:  # rolled back at its end
                for statement in migration.split(";"):
                    connection.execute(text(statement))
                with pytest.raises(SQLAlchemyError, match=problem):
                    use_as_earlier_version(connection, earlier, before)
        with database.writing.begin() as connection:
            use_as_earlier_version(connection, earlier, before)


class TestAVersionThatCannotRunBesideThisOne:
    def make_database(self, database: Database, seen_at: float) -> None:
        with database.writing.begin() as connection:
            upgrade(connection, "0021")
            row = {"id": "another", "applied": 0, "seen_at": seen_at}
            connection.execute(text("INSERT INTO gateways (id, applied, seen_at) VALUES (:id, :applied, :seen_at)"), row)

    async def test_stops_the_start_while_it_runs(self, postgres: PostgresServer) -> None:
        url = postgres.empty_database()
        database = open_database(url)
        self.make_database(database, time.time())
        store = SqlStore(url, clock=ManualClock())
        with pytest.raises(DatabaseInUse, match=r"revision 0021.*1 of its gateways.*stop them"):
            await store.start()
        with database.writing.begin() as connection:
            assert find_revision(connection) == "0021"
            connection.execute(text("UPDATE gateways SET seen_at = 0"))
        database.close()
        await store.start()
        await store.stop()


class TestAMigration:
    async def test_does_not_wait_long_for_a_table_that_a_backup_reads(
        self, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """All gateways would wait behind it."""
        url = postgres.empty_database()
        monkeypatch.setattr("domogate.stores.postgres._LIMIT_WAITING", text("SET LOCAL lock_timeout = '20ms'"))
        database = open_database(url)
        assert isinstance(database, PostgresDatabase)
        make_earlier_database(database)
        with database.reading.begin() as backup:
            backup.execute(text("SELECT count(*) FROM plants"))
            with pytest.raises(DatabaseUnusable, match="lock timeout"):
                await SqlStore(url, clock=ManualClock()).start()
            assert find_revision(backup) == OLDEST_BESIDE
        database.close()
