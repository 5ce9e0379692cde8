"""Backup while the store is in use, and restore."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from domogate.domain.commands import Order, OrderRecord, OrderState, SetLight
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.states import LightState, Reading, Report, Unit
from domogate.stores import SqlStore, restore, sqlite_url
from support.clocks import NOW
from support.stores import HOUSE, LAMP, SMALL, OpenStore, level_in


@pytest.fixture
async def filled(open_store: OpenStore, tmp_path: Path) -> SqlStore:
    store = await open_store(sqlite_url(tmp_path / "domogate.db"))
    await store.import_estate(SMALL, prune=False)
    return store


def on(level: int) -> Report:
    return Report(HOUSE.id, LAMP.id, NOW, LightState(on=True, level=level))


class TestBackup:
    async def test_taken_during_writes_it_restores_one_point_in_time(
        self, filled: SqlStore, open_store: OpenStore, tmp_path: Path
    ) -> None:
        levels: dict[int, int] = {}
        filled.listen(lambda changes: levels.update({change.cursor: level_in(change.event) for change in changes}))
        written, stop = asyncio.Event(), asyncio.Event()

        async def write() -> None:
            level = 0
            while not stop.is_set():
                level += 1
                await filled.record([on(level)])
                written.set()

        writing = asyncio.create_task(write())
        await written.wait()
        backups = [tmp_path / f"backup-{number}.db" for number in range(3)]
        for path in backups:
            await filled.backup(path)
        stop.set()
        await writing
        for number, path in enumerate(backups):
            restore(path, tmp_path / f"restored-{number}" / "domogate.db")
            restored = await open_store(sqlite_url(tmp_path / f"restored-{number}" / "domogate.db"))
            stored = await restored.find_plant(HOUSE.id)
            assert stored is not None
            assert level_in(stored.states[LAMP.id]) == levels[stored.cursor]
            assert stored.topology == SMALL.plants[0].topology
            await restored.record([on(0)])
            assert await restored.newest_cursor() == stored.cursor + 1

    async def test_orders_readings_and_injected_faults_are_in_it(
        self, filled: SqlStore, open_store: OpenStore, tmp_path: Path
    ) -> None:
        order = Order("one", HOUSE.id, LAMP.id, SetLight(on=True), NOW + 5)
        offline, watt = Injection(InjectedFault.OFFLINE, LAMP.id), ("power", Reading(1.0, Unit.WATT, NOW))
        await filled.add_orders([order], NOW, sent=True)
        await filled.inject(HOUSE.id, [offline])
        await filled.record([Report(HOUSE.id, LAMP.id, NOW, readings=(watt,))])
        await filled.backup(tmp_path / "backup.db")
        restore(tmp_path / "backup.db", tmp_path / "restored" / "domogate.db")
        restored = await open_store(sqlite_url(tmp_path / "restored" / "domogate.db"))
        assert await restored.find_order("one") == OrderRecord(order, OrderState.SENT, NOW, NOW)
        assert await restored.list_injections() == [(HOUSE.id, offline)]
        assert await restored.list_readings(LAMP.id, 0, NOW, 10) == [watt]

    async def test_it_is_one_private_file_and_nothing_else_is_left(self, filled: SqlStore, tmp_path: Path) -> None:
        folder = tmp_path / "backups"
        folder.mkdir()
        await filled.backup(folder / "b.db")
        assert [path.name for path in folder.iterdir()] == ["b.db"]
        assert (folder / "b.db").stat().st_mode & 0o777 == 0o600

    async def test_it_holds_no_running_gateway(self, filled: SqlStore, tmp_path: Path) -> None:
        await filled.backup(tmp_path / "b.db")
        with closing(sqlite3.connect(tmp_path / "b.db")) as connection:
            assert connection.execute("SELECT count(*) FROM gateways").fetchone() == (0,)

    async def test_it_never_overwrites(self, filled: SqlStore, tmp_path: Path) -> None:
        (tmp_path / "b.db").write_text("precious")
        with pytest.raises(FileExistsError, match="may not replace it"):
            await filled.backup(tmp_path / "b.db")
        assert (tmp_path / "b.db").read_text() == "precious"

    async def test_a_folder_that_is_not_there_is_an_error_and_leaves_nothing(self, filled: SqlStore, tmp_path: Path) -> None:
        with pytest.raises(OSError, match="nowhere"):
            await filled.backup(tmp_path / "nowhere" / "b.db")
        assert not (tmp_path / "nowhere").exists()

    @pytest.mark.slow
    async def test_for_postgresql_it_points_to_pg_dump(self, open_store: OpenStore, postgres_url: str, tmp_path: Path) -> None:
        store = await open_store(postgres_url)
        with pytest.raises(ValueError, match="pg_dump"):
            await store.backup(tmp_path / "b.db")


class TestRestore:
    @pytest.mark.parametrize("leftover", ["", "-wal", "-shm"])
    async def test_it_never_overwrites_a_database_or_what_belongs_to_one(
        self, filled: SqlStore, tmp_path: Path, leftover: str
    ) -> None:
        await filled.backup(tmp_path / "b.db")
        there = tmp_path / f"target.db{leftover}"
        there.write_text("precious")
        with pytest.raises(FileExistsError, match=there.name):
            restore(tmp_path / "b.db", tmp_path / "target.db")
        assert there.read_text() == "precious"

    async def test_a_damaged_backup_is_refused(self, filled: SqlStore, tmp_path: Path) -> None:
        path = tmp_path / "b.db"
        await filled.backup(path)
        content = bytearray(path.read_bytes())
        page = 4096
        for start in range(2 * page, len(content), page):
            content[start + 100 : start + page - 100] = b"\xff" * (page - 200)
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"damaged|cannot be read"):
            restore(path, tmp_path / "target.db")
        assert not (tmp_path / "target.db").exists()

    async def test_a_database_that_was_moved_away_is_restored_with_its_log(
        self, filled: SqlStore, open_store: OpenStore, tmp_path: Path
    ) -> None:
        """After a power cut, the newest changes are only in the log."""
        with closing(sqlite3.connect(tmp_path / "domogate.db")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        await filled.record([on(7)])
        (tmp_path / "away").mkdir()
        for file in tmp_path.glob("domogate.db*"):
            shutil.copy(file, tmp_path / "away" / file.name)
        assert (tmp_path / "away" / "domogate.db-wal").stat().st_size
        restore(tmp_path / "away" / "domogate.db", tmp_path / "restored" / "domogate.db")
        restored = await open_store(sqlite_url(tmp_path / "restored" / "domogate.db"))
        stored = await restored.find_plant(HOUSE.id)
        assert stored is not None
        assert level_in(stored.states[LAMP.id]) == 7

    def test_what_is_no_database_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "b.db").write_text("This is a text, and no database at all. " * 100)
        with pytest.raises(ValueError, match="cannot be read as a database"):
            restore(tmp_path / "b.db", tmp_path / "target.db")

    def test_somebody_elses_database_is_refused(self, tmp_path: Path) -> None:
        with closing(sqlite3.connect(tmp_path / "b.db")) as connection:
            connection.execute("CREATE TABLE plants (id)")
        with pytest.raises(ValueError, match="not a Domogate database"):
            restore(tmp_path / "b.db", tmp_path / "target.db")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["b.db"]

    def test_a_backup_that_is_not_there_is_said_so(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="there is no backup"):
            restore(tmp_path / "b.db", tmp_path / "target.db")
