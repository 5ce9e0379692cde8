"""`domogate openapi`, `domogate backup` and `domogate restore`."""

import json
import shutil
import stat
from pathlib import Path

import pytest

from domogate.app.documents import DOCUMENTS
from support.command_line import CommandLine
from support.read_only import read_only_copy
from support.small_estate import SMALL_ESTATE


class TestOpenapi:
    @pytest.mark.parametrize("name", DOCUMENTS)
    def test_each_document_is_printed(self, domogate: CommandLine, name: str) -> None:
        document = json.loads(domogate.bare("openapi", name, "--public-url", "https://gateway.example.com").stdout)
        assert document["openapi"].startswith("3.1")
        assert "https://gateway.example.com" in json.dumps(document["servers"])

    def test_all_of_them_are_written_into_a_folder(self, domogate: CommandLine, tmp_path: Path) -> None:
        assert domogate.bare("openapi", "--all", str(tmp_path / "documents")).exit_code == 0
        written = {path.name for path in (tmp_path / "documents").iterdir()}
        assert written == {f"{name}.json" for name in DOCUMENTS}

    def test_no_store_is_made_for_it(self, domogate: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        domogate.bare("openapi", "echo")
        assert list(tmp_path.iterdir()) == []

    def test_an_unknown_name_is_refused_and_the_known_are_named(self, domogate: CommandLine) -> None:
        result = domogate.bare("openapi", "homeautomation")
        assert result.exit_code == 1
        assert "homeauto," in result.stderr
        assert domogate.bare("openapi").exit_code == 2


class TestBackupAndRestore:
    def test_what_was_saved_is_back(self, domogate: CommandLine, tmp_path: Path) -> None:
        domogate.good("estate", "import", "-", input=SMALL_ESTATE)
        before = domogate.good("estate", "export")
        domogate.create()
        file = tmp_path / "backup.db"
        domogate.good("backup", str(file))
        other = CommandLine(tmp_path / "other")
        other.data.mkdir()
        shutil.copy(domogate.data / "secret-key", other.data)
        other.good("restore", str(file))
        assert other.good("estate", "export") == before

    def test_a_backup_is_for_its_owner_only_and_replaces_nothing_unasked(self, domogate: CommandLine, tmp_path: Path) -> None:
        domogate.create()
        file = tmp_path / "backup.db"
        domogate.good("backup", str(file))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        file.write_bytes(b"mine")
        assert "--force" in domogate.refused("backup", str(file))
        assert file.read_bytes() == b"mine"
        domogate.good("backup", str(file), "--force")
        assert file.read_bytes().startswith(b"SQLite format 3")
        assert [path.name for path in tmp_path.glob("*backup*")] == ["backup.db"]

    def test_a_folder_that_is_not_there_is_said(self, domogate: CommandLine, tmp_path: Path) -> None:
        assert "nowhere" in domogate.refused("backup", str(tmp_path / "nowhere" / "backup.db"))

    def test_a_store_that_is_there_is_never_replaced(self, domogate: CommandLine, tmp_path: Path) -> None:
        domogate.create()
        file = tmp_path / "backup.db"
        domogate.good("backup", str(file))
        domogate.good("estate", "import", "-", input=SMALL_ESTATE)
        assert "move it away" in domogate.refused("restore", str(file))
        assert len(domogate.read("user", "list")) == 2

    @pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0 but not really"])
    def test_a_file_that_is_no_backup_is_refused(self, domogate: CommandLine, tmp_path: Path, content: bytes) -> None:
        file = tmp_path / "backup.db"
        file.write_bytes(content)
        assert "backup.db" in domogate.refused("restore", str(file))
        assert not list(domogate.data.glob("*"))

    def test_a_file_that_is_not_there_is_said(self, domogate: CommandLine, tmp_path: Path) -> None:
        assert "gone.db" in domogate.refused("restore", str(tmp_path / "gone.db"))

    def test_a_sqlite_file_that_the_setting_database_names_is_restored(self, domogate: CommandLine, tmp_path: Path) -> None:
        domogate.good("estate", "import", "-", input=SMALL_ESTATE)
        before = domogate.good("estate", "export")
        file, target = tmp_path / "backup.db", tmp_path / "elsewhere" / "gateway.db"
        domogate.good("backup", str(file))
        other = CommandLine(tmp_path / "other")
        other.data.mkdir()
        shutil.copy(domogate.data / "secret-key", other.data)
        database = ("--database", f"sqlite:///{target}")
        result = other.run("restore", str(file), *database)
        assert (result.exit_code, result.stderr) == (0, f"Restored {file} to {target}.\n")
        assert other.good("estate", "export", *database) == before
        assert "move it away" in other.refused("restore", str(file), *database)

    def test_a_read_only_sqlite_file_that_the_setting_database_names_is_saved(
        self, domogate: CommandLine, tmp_path: Path
    ) -> None:
        original = tmp_path / "original"
        original.mkdir()
        domogate.good("estate", "import", "-", "--database", f"sqlite:///{original / 'gateway.db'}", input=SMALL_ESTATE)
        file = tmp_path / "backup.db"
        with read_only_copy(original, tmp_path / "read-only") as folder:
            result = domogate.run("backup", str(file), "--database", f"sqlite:///{folder / 'gateway.db'}")
        assert result.exit_code == 0, result.stderr
        assert "cannot be written" in result.stderr
        domogate.good("restore", str(file))
        assert len(domogate.read("user", "list")) == 2

    def test_a_postgresql_database_is_not_restored(self, domogate: CommandLine, tmp_path: Path) -> None:
        file = tmp_path / "backup.db"
        file.write_bytes(b"any")
        assert "pg_restore" in domogate.refused("restore", str(file), "--database", "postgresql://localhost/name")
