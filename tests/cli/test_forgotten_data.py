"""A command that reads creates nothing, and says where it looked. Errors of databases and files are sentences."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.small_estate import PLANT, SMALL_ESTATE

READS = (
    ("user", "list"),
    ("user", "show", "ada@example.com"),
    ("client", "list"),
    ("client", "show", "app"),
    ("plant", "list"),
    ("plant", "show", PLANT),
    ("key", "list"),
    ("signing-key", "list"),
    ("secret-key", "show-id"),
    ("module", "list", PLANT),
    ("module", "show", PLANT),
    ("order", "list"),
    ("fault", "list"),
    ("webhook", "list"),
    ("safety", "schedule", PLANT),
    ("readings", "export", PLANT),
    ("audit", "list"),
    ("audit", "verify"),
    ("audit", "export"),
    ("estate", "export"),
    ("clock", "show"),
    ("backup", "copy"),
)


@pytest.mark.parametrize("words", READS, ids=" ".join)
def test_a_command_that_reads_creates_no_folder_and_names_it(
    domogate: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    said = domogate.refused(*words)
    assert str(domogate.data) in said
    assert "--data" in said
    assert list(tmp_path.iterdir()) == []


def test_without_a_flag_it_names_the_default_folder(
    domogate: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = domogate.bare("user", "list")
    assert result.exit_code == 1
    assert str(tmp_path / "domogate-data") in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_without_a_database_stays_as_it_is(domogate: CommandLine) -> None:
    domogate.data.mkdir()
    (domogate.data / "notes").touch()
    assert str(domogate.data) in domogate.refused("user", "list")
    assert [file.name for file in domogate.data.iterdir()] == ["notes"]


def test_a_database_on_a_server_needs_no_folder(domogate: CommandLine) -> None:
    said = domogate.refused("user", "list", "--database", "postgresql://127.0.0.1:1/homes")
    assert "postgresql://127.0.0.1:1/homes cannot be used" in said
    assert not domogate.data.exists()


class TestSentences:
    def test_a_database_that_fails(self, domogate: CommandLine) -> None:
        domogate.good("estate", "import", "-", input=SMALL_ESTATE)
        with closing(sqlite3.connect(domogate.data / "domogate.sqlite3")) as database:
            database.execute("DROP TABLE webhooks")
        said = domogate.refused("webhook", "list")
        assert said.startswith("domogate: the database cannot be used: no such table: webhooks.\n")
        assert "SELECT" not in said
        assert "OperationalError" not in said

    @pytest.mark.parametrize("command", [("user", "list"), ("key", "issue", "app"), ("serve", "--port", "0")], ids=" ".join)
    def test_a_file_in_the_place_of_the_folder(self, domogate: CommandLine, command: tuple[str, ...]) -> None:
        domogate.data.write_text("")
        said = domogate.refused(*command)
        assert str(domogate.data) in said
        assert "Error" not in said

    def test_an_output_in_a_folder_that_does_not_exist(self, domogate: CommandLine, tmp_path: Path) -> None:
        domogate.good("estate", "import", "-", input=SMALL_ESTATE)
        said = domogate.refused("estate", "export", str(tmp_path / "no" / "estate.yaml"))
        assert f"there is no folder {tmp_path / 'no'}" in said
