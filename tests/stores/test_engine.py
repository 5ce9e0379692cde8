"""Opening databases."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, literal, make_url, select, text
from sqlalchemy.exc import OperationalError

from domogate.domain.commands import Order, OrderEnd, OrderState, SetLight
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.people import Grant, GrantType
from domogate.domain.plants import Topology
from domogate.domain.states import Reading, Report, Unit
from domogate.ports import OrderFilter
from domogate.stores import SqlStore, sqlite_url
from domogate.stores.direct import DirectStatement
from domogate.stores.engine import READERS, chunked
from domogate.stores.opening import open_database
from domogate.stores.sqlite import SqliteDatabase
from domogate.stores.subject import reads, writes
from support.clocks import NOW, ManualClock
from support.stores import (
    ANNA,
    APP,
    BRUNO,
    CARLA,
    HOUSE,
    KEY,
    LAMP,
    LAMP_IS_ON,
    SMALL,
    OpenStore,
    an_id,
    observe_statements,
    record_statements,
)


class TestSqliteUrl:
    @pytest.mark.parametrize("name", ["plain.db", "with space.db", "per%cent%20.db", "ümläut.db", "a#b.db"])
    async def test_any_file_name_is_kept(self, name: str, tmp_path: Path, open_store: OpenStore) -> None:
        await open_store(sqlite_url(tmp_path / name))
        assert (tmp_path / name).exists()

    async def test_folders_are_made_and_the_file_is_private(self, tmp_path: Path, open_store: OpenStore) -> None:
        path = tmp_path / "new" / "folder" / "x.db"
        await open_store(sqlite_url(path))
        assert path.stat().st_mode & 0o777 == 0o600
        assert Path(f"{path}-wal").stat().st_mode & 0o777 == 0o600


class TestRefusals:
    @pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
    def test_a_database_in_memory_is_refused(self, url: str) -> None:
        with pytest.raises(ValueError, match="must be a file"):
            open_database(url)

    def test_another_kind_of_database_is_refused_by_name(self) -> None:
        with pytest.raises(ValueError, match="mysql"):
            open_database("mysql://host/name")

    async def test_a_file_that_is_no_database_stops_the_start(self, tmp_path: Path) -> None:
        path = tmp_path / "x.db"
        path.write_text("This is a text, and no database at all. " * 100)
        store = SqlStore(sqlite_url(path), clock=ManualClock())
        with pytest.raises(Exception, match="does not begin as a SQLite file"):
            await store.start()

    async def test_starting_twice_is_refused(self, open_store: OpenStore, tmp_path: Path) -> None:
        store = await open_store(sqlite_url(tmp_path / "x.db"))
        with pytest.raises(RuntimeError, match="already started"):
            await store.start()

    async def test_stopping_what_never_started_does_nothing(self, tmp_path: Path) -> None:
        await SqlStore(sqlite_url(tmp_path / "x.db"), clock=ManualClock()).stop()


class TestPragmas:
    async def test_a_commit_is_on_disk_and_references_hold(self, open_store: OpenStore, tmp_path: Path) -> None:
        store = await open_store(sqlite_url(tmp_path / "x.db"))
        names = ("journal_mode", "synchronous", "foreign_keys")
        values = await writes(lambda tx: [tx.connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names])(store)
        assert values == ["wal", 2, 1]

    async def test_readers_cannot_write(self, open_store: OpenStore, database_url: str) -> None:
        store = await open_store(database_url)
        with pytest.raises(Exception, match=r"readonly|read-only"):
            await reads(lambda connection: connection.exec_driver_sql("DELETE FROM users"))(store)


class TestChunks:
    def test_nothing_is_lost(self) -> None:
        assert [list(piece) for piece in chunked(range(5), 2)] == [[0, 1], [2, 3], [4]]
        assert list(chunked([], 2)) == []


class TestQueries:
    async def test_a_plant_is_read_with_a_handful_however_many_modules_it_has(
        self, open_store: OpenStore, database_url: str
    ) -> None:
        filled_store = await open_store(database_url, poll=30.0)
        await filled_store.import_estate(SMALL, prune=False)
        lamps = tuple(msgspec.structs.replace(LAMP, id=an_id(1000 + n)) for n in range(1000))
        hotel = msgspec.structs.replace(HOUSE, id=an_id(70))
        states = tuple(FirstState(lamp.id, LAMP_IS_ON) for lamp in lamps)
        await filled_store.import_estate(Estate(plants=(EstatePlant(hotel, Topology(modules=lamps), states),)), prune=False)
        with record_statements() as statements:
            stored = await filled_store.find_plant(hotel.id)
        assert stored is not None
        assert len(stored.states) == 1000
        # The probe of the store and the change feed may read at the same time. Their statements have no condition on a plant.
        assert len([statement for statement in statements if "plants.id =" in statement or "plant_id =" in statement]) == 6

    async def test_no_lookup_walks_through_a_whole_table(self, open_store: OpenStore, tmp_path: Path) -> None:
        store = await open_store(sqlite_url(tmp_path / "x.db"))
        await store.import_estate(SMALL, prune=False)
        plans: list[str] = []

        def explain(cursor: Any, statement: str, parameters: Any) -> None:
            if statement.startswith(("SELECT", "UPDATE", "DELETE")):
                parameters = parameters[0] if parameters and isinstance(parameters[0], tuple) else parameters
                plans.extend(
                    f"{row[3]} in {statement}" for row in cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
                )

        with observe_statements(explain):
            await store.find_plant(HOUSE.id)
            await store.list_plants_of(ANNA.id)
            await store.list_plant_ids("simulator", 10)
            await store.find_unnamed_drivers()
            await store.find_user_by_email(ANNA.email)
            await store.find_client(APP.id)
            await store.find_grant(an_id(1))
            await store.find_subscription(KEY.key_hash)
            await store.find_usage(KEY.id, "2026-11-15")
            await store.find_spare_parts("unknown")
            await store.list_readings(LAMP.id, 0, NOW, 10)
            await store.list_changes(0, 10)
            await store.newest_cursor()
            await store.record([Report(HOUSE.id, LAMP.id, NOW, reachable=False)])
            await store.save_user(msgspec.structs.replace(CARLA, email="c@example.com", password_hash="x"))
            await store.set_module_options(LAMP.id, {})
            await store.withdraw_user(HOUSE.id, BRUNO.id)
            await store.allow_user(HOUSE.id, BRUNO.id)
            await store.invite(HOUSE.id, "dora@example.com")
            await store.withdraw_invitation(HOUSE.id, "dora@example.com")
            await store.delete_user(CARLA.id)
            order = Order("1", HOUSE.id, LAMP.id, SetLight(on=True), NOW + 5)
            await store.add_orders([order], NOW, sent=False)
            await store.mark_sent(HOUSE.id, "1", NOW)
            await store.end_order(
                HOUSE.id, OrderEnd("1", OrderState.CONFIRMED, NOW), Report(HOUSE.id, LAMP.id, NOW, reachable=False)
            )
            await store.end_overdue_orders(NOW)
            await store.find_order("1")
            await store.list_orders(OrderFilter(HOUSE.id, LAMP.id, OrderState.SENT), 10, NOW)
            watt = ("power", Reading(1.0, Unit.WATT, NOW))
            await store.record([Report(HOUSE.id, LAMP.id, NOW, readings=(watt,))])
            await store.list_readings(LAMP.id, 0, NOW, 10)
            await store.list_summaries(LAMP.id, 0, NOW, 3600.0, 10)
            await store.summarise_readings(NOW + 7200)
            await store.list_summaries(LAMP.id, 0, NOW, 86_400.0, 10)
            await store.prune_changes(NOW)
            await store.prune_orders(NOW)
            await store.prune_readings(NOW, 1_000)
        # A scan in key order with a limit is cheap.
        scans = [plan for plan in plans if plan.startswith("SCAN") and "CONSTANT ROW" not in plan and "LIMIT" not in plan]
        # Counting scans an index; and a query may scan its own intermediate result, or a list that is one of its parameters.
        scans = [plan for plan in scans if "SELECT count(*)" not in plan and "SCAN anon_" not in plan]
        scans = [plan for plan in scans if not plan.startswith("SCAN json_each")]
        assert scans == []
        # The start of a gateway does not read all modules.
        assert any("USING INDEX ix_modules_unnamed_driver" in plan for plan in plans)
        assert len(plans) > 30


def test_a_new_file_that_somebody_else_is_writing_to_is_waited_for(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        database = open_database(sqlite_url(tmp_path / "new.db"))
        threading.Timer(0.2, other.execute, ("COMMIT",)).start()
        try:
            with database.reading.connect() as connection:
                assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
        finally:
            database.close()


class TestReadsOnSqlite:
    @pytest.fixture
    def database(self, tmp_path: Path) -> Iterator[SqliteDatabase]:
        database = SqliteDatabase(make_url(sqlite_url(tmp_path / "x.db")))
        with database.writing.begin() as connection:
            connection.execute(text("CREATE TABLE numbers (number INTEGER)"))
        yield database
        database.close()

    def _add(self, database: SqliteDatabase) -> None:
        with database.writing.begin() as connection:
            connection.execute(text("INSERT INTO numbers VALUES (1)"))

    def test_each_read_sees_the_newest_data(self, database: SqliteDatabase) -> None:
        count = text("SELECT count(*) FROM numbers")
        for number in range(3):
            # SQLAlchemy executes the first query, and the database driver executes the second.
            assert database.read(lambda connection: connection.execute(count).scalar_one()) == number
            assert database.read(lambda connection: DirectStatement(select(literal(5))).scalar(connection, {})) == 5
            self._add(database)

    def test_a_read_is_a_snapshot(self, database: SqliteDatabase) -> None:
        count = text("SELECT count(*) FROM numbers")

        def count_twice(connection: Connection) -> tuple[int, int]:
            first = connection.execute(count).scalar_one()
            self._add(database)
            return first, connection.execute(count).scalar_one()

        assert database.read(count_twice) == (0, 0)

    def test_connections_are_used_again(self, database: SqliteDatabase) -> None:
        assert database.read(id) == database.read(id)

    def test_after_an_error_no_transaction_stays_open(self, database: SqliteDatabase) -> None:
        def fail(connection: Connection) -> None:
            connection.execute(text("SELECT * FROM numbers")).all()
            raise ValueError("it failed")

        for _ in range(2 * READERS + 4):
            with pytest.raises(ValueError, match="it failed"):
                database.read(fail)
        self._add(database)
        with closing(sqlite3.connect(database.path)) as connection:
            # The log can be removed only if no connection still reads an old snapshot.
            assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0

    def test_a_read_cannot_write(self, database: SqliteDatabase) -> None:
        with pytest.raises(OperationalError, match="readonly"):
            database.read(lambda connection: connection.execute(text("DELETE FROM numbers")))


class TestTransactionsOnSqlite:
    async def test_a_failed_write_leaves_no_open_transaction(self, tmp_path: Path, open_store: OpenStore) -> None:
        path = tmp_path / "x.db"
        store = await open_store(sqlite_url(path))
        grant = Grant(an_id(7), ANNA.id, "unknown", (), GrantType.AUTHORIZATION_CODE, created_at=NOW)
        with pytest.raises(ValueError, match="no user"):
            await store.add_grant(grant)  # The database driver executes its only statement.
        await store.add_user(ANNA)
        with pytest.raises(ValueError, match="no client"):
            await store.add_grant(grant)  # SQLAlchemy executes its last statement.
        with closing(sqlite3.connect(path, timeout=0.1)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
