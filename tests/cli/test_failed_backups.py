"""A backup that cannot be made: `domogate backup` says why, and leaves no file behind."""

import os
from pathlib import Path

from support.command_line import CommandLine
from support.read_only import read_only_copy
from support.small_disk import limit_files


def test_a_disk_that_becomes_full_during_the_copy(small: CommandLine, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    database = small.data / "domogate.sqlite3"
    limit_files(os.getpid(), database.stat().st_size // 2)
    try:
        said = small.refused("backup", str(target / "backup.db"))
    finally:
        limit_files(os.getpid(), None)
    assert said.startswith(f"domogate: {database} cannot be copied to {target}: ")
    assert "bug report" not in said
    assert list(target.iterdir()) == []


def test_a_read_only_database_with_a_damaged_schema(small: CommandLine, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    with (small.data / "domogate.sqlite3").open("r+b") as file:
        file.seek(100)  # after the header
        file.write(b"\xff" * 3_996)
    with read_only_copy(small.data, tmp_path / "read-only") as data:
        said = CommandLine(data).refused("backup", str(target / "backup.db"))
    assert said == f"domogate: {data / 'domogate.sqlite3'} cannot be copied to {target}: database disk image is malformed\n"
    assert list(target.iterdir()) == []
