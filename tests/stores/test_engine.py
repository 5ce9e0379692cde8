"""Opening databases."""

from pathlib import Path

import pytest

from domogate.stores import SqlStore, sqlite_url
from domogate.stores.engine import chunked, open_database
from support.stores import HandClock, OpenStore


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
        store = SqlStore(sqlite_url(path), clock=HandClock())
        with pytest.raises(Exception, match="not a database"):
            await store.start()

    async def test_starting_twice_is_refused(self, open_store: OpenStore, tmp_path: Path) -> None:
        store = await open_store(sqlite_url(tmp_path / "x.db"))
        with pytest.raises(RuntimeError, match="started already"):
            await store.start()

    async def test_stopping_what_never_started_does_nothing(self, tmp_path: Path) -> None:
        await SqlStore(sqlite_url(tmp_path / "x.db"), clock=HandClock()).stop()


class TestPragmas:
    async def test_a_commit_is_on_disk_and_references_hold(self, open_store: OpenStore, tmp_path: Path) -> None:
        store = await open_store(sqlite_url(tmp_path / "x.db"))
        names = ("journal_mode", "synchronous", "foreign_keys")
        values = await store._write(lambda tx: [tx.connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names])
        assert values == ["wal", 2, 1]

    async def test_readers_cannot_write(self, open_store: OpenStore, database_url: str) -> None:
        store = await open_store(database_url)
        with pytest.raises(Exception, match=r"readonly|read-only"):
            await store._read(lambda connection: connection.exec_driver_sql("DELETE FROM users"))


class TestChunks:
    def test_nothing_is_lost(self) -> None:
        assert [list(piece) for piece in chunked(range(5), 2)] == [[0, 1], [2, 3], [4]]
        assert list(chunked([], 2)) == []
