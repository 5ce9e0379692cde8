"""The folder with the backups that a gateway makes by itself: each is checked, and no failure removes an old one."""

import asyncio
import shutil
import sqlite3
import threading
from contextlib import closing
from math import inf
from pathlib import Path

import pytest

from domogate.stores import SqlStore, backup, log_check, restore, sqlite_url
from domogate.stores.backup_folder import SqliteBackupFolder, list_backup_files
from support.clocks import NOW
from support.stores import ANNA, SMALL, OpenStore

DAY = 86_400.0


@pytest.fixture
async def store(open_store: OpenStore, tmp_path: Path) -> SqlStore:
    store = await open_store(sqlite_url(tmp_path / "domogate.sqlite3"))
    await store.import_estate(SMALL, prune=False)
    return store


@pytest.fixture
def folder(store: SqlStore, tmp_path: Path) -> SqliteBackupFolder:
    return SqliteBackupFolder(tmp_path / "domogate.sqlite3", tmp_path / "backups")


def names_in(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "backups").iterdir())


class TestAdding:
    async def test_a_backup_has_a_number_and_a_time_and_can_be_restored(
        self, folder: SqliteBackupFolder, open_store: OpenStore, tmp_path: Path
    ) -> None:
        assert await folder.list_backups() == []
        made = [await folder.add_backup(at) for at in (NOW, NOW + DAY, NOW - 400 * DAY)]
        assert [one.number for one in made] == [1, 2, 3]
        assert names_in(tmp_path)[0] == "domogate-000001-20270115T080000Z.sqlite3"
        assert await folder.list_backups() == made
        assert (tmp_path / "backups").stat().st_mode & 0o777 == 0o700
        restore(tmp_path / "backups" / made[-1].name, tmp_path / "restored" / "domogate.sqlite3")
        restored = await open_store(sqlite_url(tmp_path / "restored" / "domogate.sqlite3"))
        assert [plant.plant.name for plant in (await restored.export_estate()).plants] == [
            plant.plant.name for plant in SMALL.plants
        ]

    @pytest.mark.parametrize("at", [-1e15, 1e15])
    async def test_an_impossible_time_does_not_prevent_it(self, folder: SqliteBackupFolder, at: float, tmp_path: Path) -> None:
        await folder.add_backup(at)
        assert len(list_backup_files(tmp_path / "backups")) == 1

    async def test_other_files_in_the_folder_do_not_count_and_stay(self, folder: SqliteBackupFolder, tmp_path: Path) -> None:
        (tmp_path / "backups").mkdir()
        others = ["notes.txt", "domogate-000009-20261317T000000Z.sqlite3", "domogate-1-20260101T000000Z.sqlite3"]
        for name in others:
            (tmp_path / "backups" / name).touch()
        for day in range(3):
            await folder.add_backup(NOW + day * DAY)
            await folder.remove_old(1)
        assert set(others) < set(names_in(tmp_path))
        assert [one.number for one in await folder.list_backups()] == [3]

    async def test_the_copy_of_a_killed_gateway_is_removed(self, folder: SqliteBackupFolder, tmp_path: Path) -> None:
        (tmp_path / "backups").mkdir()
        name = ".domogate-000007-20270101T000000Z.sqlite3.0123456789abcdef0123456789abcdef"
        for suffix in ("", "-journal"):
            (tmp_path / "backups" / f"{name}{suffix}").write_bytes(b"half")
        await folder.add_backup(NOW)
        assert names_in(tmp_path) == ["domogate-000001-20270115T080000Z.sqlite3"]

    async def test_a_stop_ends_the_copy_and_leaves_no_file(
        self, folder: SqliteBackupFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(backup, "_PAGES_A_STEP", 1)
        copying, go_on, read = threading.Event(), threading.Event(), backup._read_content

        def wait(connection: sqlite3.Connection) -> backup.Content:
            copying.set()
            assert go_on.wait(60)
            return read(connection)

        monkeypatch.setattr(backup, "_read_content", wait)
        task = asyncio.create_task(folder.add_backup(NOW))
        await asyncio.to_thread(copying.wait, 60)
        task.cancel()
        asyncio.get_running_loop().call_later(0.01, go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert names_in(tmp_path) == []

    async def test_a_stop_also_ends_the_check(self, store: SqlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The check of a large copy takes long, and the gateway has little time to stop."""
        monkeypatch.setattr(backup, "_CHECK_EVERY", 100)
        source, target = tmp_path / "domogate.sqlite3", tmp_path / "copy.sqlite3"
        asked = 0

        def count(most: float) -> bool:
            nonlocal asked
            asked += 1
            return asked <= most

        backup.back_up(source, tmp_path / "whole.sqlite3", is_wanted=lambda: count(inf))
        before_the_end, asked = asked - 2, 0
        with pytest.raises(backup.BackupStopped):
            backup.back_up(source, target, is_wanted=lambda: count(before_the_end))
        assert asked > before_the_end
        assert not target.exists()


class TestLog:
    def test_commits_of_another_process_are_not_damage(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        count = log_check._count_valid_frames
        with closing(sqlite3.connect(tmp_path / "live.sqlite3", isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE numbers (number INTEGER)")

            def count_and_commit(index: Path, header: bytes) -> int | None:
                """Another process commits after the frames were counted."""
                valid = count(index, header)
                for number in range(3):
                    connection.execute("INSERT INTO numbers VALUES (?)", (number,))
                return valid

            found = []
            for read in (count, count_and_commit):
                monkeypatch.setattr(log_check, "_count_valid_frames", read)
                # The size of the log is read first, so the file must be long enough already.
                with (tmp_path / "live.sqlite3-wal").open("r+b") as file:
                    file.truncate(100_000)
                found.append(log_check.find_damaged_log(tmp_path / "live.sqlite3"))
        assert found == [None, None]


class TestChecking:
    async def test_a_copy_with_other_content_is_not_kept(
        self, folder: SqliteBackupFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        check = backup._check

        def lose_users(path: Path, expected: backup.Content | None = None, *_: object) -> None:
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("DELETE FROM users")
                connection.commit()
            check(path, expected)

        monkeypatch.setattr(backup, "_check", lose_users)
        with pytest.raises(ValueError, match=r"0 users.* instead of .*3 users"):
            await folder.add_backup(NOW)
        assert names_in(tmp_path) == []

    async def test_a_damaged_database_gives_no_backup(
        self, folder: SqliteBackupFolder, store: SqlStore, tmp_path: Path
    ) -> None:
        await folder.add_backup(NOW)
        before = names_in(tmp_path)
        await store.stop()
        file = tmp_path / "domogate.sqlite3"
        with closing(sqlite3.connect(file)) as connection:
            page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'sessions'").fetchone()[0]
        with file.open("r+b") as opened:
            opened.seek((page - 1) * 4096)
            opened.write(b"\xff" * 4096)
        with pytest.raises(ValueError, match=r"malformed|damaged"):
            await folder.add_backup(NOW + DAY)
        assert names_in(tmp_path) == before


class TestSpace:
    async def test_without_enough_space_nothing_is_written(
        self, folder: SqliteBackupFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await folder.add_backup(NOW)
        before = names_in(tmp_path)
        usage = shutil.disk_usage(tmp_path)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1_000_000))
        with pytest.raises(ValueError, match=r"a backup needs .* MB .* backup_folder"):
            await folder.add_backup(NOW + DAY)
        assert names_in(tmp_path) == before


class TestRemoving:
    async def test_the_newest_by_number_stay_whatever_their_times_are(self, folder: SqliteBackupFolder) -> None:
        for at in (NOW + 400 * DAY, NOW + 401 * DAY, NOW, NOW + DAY):
            await folder.add_backup(at)
        assert await folder.remove_old(2) == []
        assert [one.number for one in await folder.list_backups()] == [3, 4]

    async def test_with_fewer_than_the_number_to_keep_none_is_removed(self, folder: SqliteBackupFolder) -> None:
        await folder.add_backup(NOW)
        assert await folder.remove_old(7) == []
        assert len(await folder.list_backups()) == 1

    async def test_an_old_backup_with_more_content_stays(
        self, folder: SqliteBackupFolder, store: SqlStore, open_store: OpenStore, tmp_path: Path
    ) -> None:
        """For example after the restore of an older backup."""
        await store.save_user(ANNA)
        await folder.add_backup(NOW)
        other = tmp_path / "other.sqlite3"
        await open_store(sqlite_url(other))
        fresh = SqliteBackupFolder(other, tmp_path / "backups")
        await fresh.add_backup(NOW + DAY)
        [reason] = await fresh.remove_old(1)
        assert "domogate-000001-20270115T080000Z.sqlite3 holds more" in reason
        assert len(await folder.list_backups()) == 2
