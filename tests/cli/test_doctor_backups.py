"""`domogate doctor` finds a folder to which no backup can be written."""

import os
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.doctor import Found, doctor
from support.ports import free_port
from support.read_only import read_only_copy
from support.small_disk import SmallDisk, small_disk

DAY = 86_400


@pytest.fixture(autouse=True)
def _free_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOMOGATE_PORT", str(free_port()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder


def examine(domogate: CommandLine, folder: Path | None) -> Found:
    flags = () if folder is None else ("--backup-folder", str(folder))
    return doctor(domogate, "--backup-every", str(DAY), *flags)


class TestTheNewest:
    @pytest.mark.parametrize(("age", "outcome"), [(None, "warning"), (DAY, "ok"), (3 * DAY, "problem"), (-3 * DAY, "problem")])
    def test_the_newest_backup(self, small: CommandLine, tmp_path: Path, age: float | None, outcome: str) -> None:
        folder = tmp_path / "backups"
        folder.mkdir()
        if age is not None:
            at = datetime.fromtimestamp(time.time() - age, UTC)
            (folder / f"domogate-000001-{at:%Y%m%dT%H%M%SZ}.sqlite3").touch()
        found = doctor(small, "--backup-every", "86400", "--backup-folder", str(folder))
        assert found.outcome("backups") == outcome
        assert str(folder) in found.says("backups")


class TestTheFolder:
    def test_the_folder_of_the_data_is_on_the_same_disk(self, small: CommandLine) -> None:
        found = examine(small, None)
        assert (found.outcome("backup folder"), found.code) == ("warning", 0)
        assert f"{small.data / 'backups'} is on the same disk as the data folder." in found.says("backup folder")
        assert "Set backup_folder to a folder on another disk." in found.says("backup folder")
        assert not (small.data / "backups").exists()

    def test_a_folder_that_exists_on_the_same_disk(self, small: CommandLine, folder: Path) -> None:
        assert examine(small, folder).outcome("backup folder") == "warning"
        assert list(folder.iterdir()) == []

    def test_a_missing_folder(self, small: CommandLine, folder: Path) -> None:
        found = examine(small, folder / "mount" / "domogate")
        assert (found.outcome("backup folder"), found.code) == ("warning", 0)
        assert found.says("backup folder") == (
            f"{folder / 'mount' / 'domogate'} does not exist yet. "
            "The gateway creates it at the first backup. If it should be on another disk, mount this disk first."
        )
        assert list(folder.iterdir()) == []

    def test_a_file_in_place_of_a_parent(self, small: CommandLine, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        found = examine(small, tmp_path / "file" / "deep")
        assert (found.outcome("backup folder"), found.code) == ("problem", 1)
        assert f"{tmp_path / 'file'} is not a folder. Set backup_folder to a folder." in found.says("backup folder")

    @pytest.mark.parametrize("below", ["", "deep/deeper"])
    def test_a_folder_that_cannot_be_written(self, small: CommandLine, folder: Path, tmp_path: Path, below: str) -> None:
        with read_only_copy(folder, tmp_path / "read-only") as copy:
            found = examine(small, copy / below)
        assert (found.outcome("backup folder"), found.code) == ("problem", 1)
        assert f"nothing can be written to {copy}" in found.says("backup folder")
        assert "or set backup_folder to another folder." in found.says("backup folder")

    def test_a_folder_of_another_user(self, small: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder.chmod(0o500)
        if os.geteuid() == 0:  # No mode stops root from writing.
            monkeypatch.setattr("tempfile.TemporaryFile", self.refuse)
        found = examine(small, folder)
        assert (found.outcome("backup folder"), found.code) == ("problem", 1)
        assert "Permission denied. Give this folder to the user of the gateway (chown)" in found.says("backup folder")

    @staticmethod
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    def test_too_little_space_for_a_backup(self, small: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        usage = shutil.disk_usage(folder)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10_000_000))
        found = examine(small, folder)
        assert (found.outcome("backup folder"), found.code) == ("problem", 1)
        assert "and 10 MB are free. Delete files, or set backup_folder" in found.says("backup folder")


class TestAnotherDisk:
    @pytest.fixture
    def disk(self, tmp_path: Path) -> Iterator[SmallDisk]:
        with small_disk(tmp_path / "disk") as disk:
            if not disk.is_mounted:
                pytest.skip("nothing may be mounted here")
            yield disk

    def test_it_is_good_and_nothing_stays_on_it(self, small: CommandLine, disk: SmallDisk) -> None:
        found = examine(small, disk.folder)
        assert found.outcome("backup folder") == "ok"
        assert list(disk.folder.iterdir()) == []

    def test_it_is_full(self, small: CommandLine, disk: SmallDisk) -> None:
        disk.fill(os.getpid())
        found = examine(small, disk.folder)
        assert (found.outcome("backup folder"), found.code) == ("problem", 1)
        assert "No space left on device. Delete files, or set backup_folder" in found.says("backup folder")
        assert [path.name for path in disk.folder.iterdir()] == ["filling"]
