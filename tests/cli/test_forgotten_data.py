"""Only some commands create a gateway; the others say where they looked. Errors of databases and files are sentences."""

import sqlite3
from contextlib import closing
from pathlib import Path

import click
import pytest

from domogate.cli.commands import cli
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
    ("order", "show", PLANT),
    ("fault", "list"),
    ("webhook", "list"),
    ("webhook", "show", "1"),
    ("webhook", "dead", "1"),
    ("safety", "report", PLANT, "--out", "report"),
    ("safety", "schedule", PLANT),
    ("safety", "logbook", PLANT),
    ("safety", "order-list", PLANT),
    ("readings", "export", PLANT),
    ("audit", "list"),
    ("audit", "verify"),
    ("audit", "export"),
    ("estate", "export"),
    ("clock", "show"),
    ("backup", "copy"),
)
WRITES = (
    ("user", "add", "ada@example.com"),
    ("user", "change", "ada@example.com", "--name", "Ada"),
    ("user", "standing", "ada@example.com", "good"),
    ("user", "password-link", "ada@example.com"),
    ("user", "operator", "ada@example.com"),
    ("user", "second-factor-reset", "ada@example.com"),
    ("user", "passkey-remove", "ada@example.com", "1"),
    ("user", "external-unbind", "ada@example.com"),
    ("user", "logout", "ada@example.com"),
    ("user", "delete", "ada@example.com", "--yes"),
    ("client", "add", "app"),
    ("client", "change", "app", "--name", "App"),
    ("client", "rotate-secret", "app"),
    ("client", "delete", "app", "--yes"),
    ("plant", "invite", PLANT, "ada@example.com"),
    ("plant", "withdraw", PLANT, "ada@example.com"),
    ("plant", "allow", PLANT, "ada@example.com"),
    ("plant", "limit", PLANT, "ada@example.com"),
    ("plant", "remove", PLANT),
    ("plant", "restore", PLANT),
    ("key", "issue", "app"),
    ("key", "revoke", "app"),
    ("token", "issue", "--user", "ada@example.com"),
    ("token", "revoke", PLANT),
    ("signing-key", "rotate"),
    ("secret-key", "rotate"),
    ("fault", "inject", PLANT, "500"),
    ("fault", "clear", "--all"),
    ("simulate", "module", PLANT, "slow"),
    ("webhook", "remove", "1"),
    ("webhook", "replay", "1"),
    ("safety", "log", PLANT, "--kind", "note", "--by", "Ada", "--words", "Seen"),
    ("clock", "confirm"),
)
CREATE = {"init", "serve", "demo", "restore", "estate import"}
REFUSE_OTHERWISE = (
    ("move", "--to", "postgresql://127.0.0.1:1/homes"),
    ("cluster", "show"),
    ("discover", "mqtt"),
)
EXAMINE = {"doctor", "support-bundle"}
"""Their own tests show that they create no data folder."""
WITHOUT_A_STORE = {
    *("estate new", "estate check", "estate schema", "simulate day", "service install", "service uninstall"),
    *("conformance", "record", "replay", "openapi", "version"),
}


def name_of(words: tuple[str, ...]) -> str:
    return " ".join(words[:2]) if isinstance(cli.load(words[0]), click.Group) else words[0]


def test_the_lists_of_this_file_have_every_command() -> None:
    every: set[str] = set()
    for name, command in cli.load_all():
        every |= {f"{name} {verb}" for verb in command.commands} if isinstance(command, click.Group) else {name}
    listed = {name_of(words) for words in (*READS, *WRITES, *REFUSE_OTHERWISE)}
    assert every == listed | CREATE | EXAMINE | WITHOUT_A_STORE


@pytest.mark.parametrize("words", REFUSE_OTHERWISE, ids=" ".join)
def test_a_command_with_another_reason_to_refuse_creates_nothing(
    domogate: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert domogate.run(*words).exit_code in (1, 2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [*READS, *WRITES], ids=" ".join)
def test_a_command_on_an_existing_gateway_creates_no_folder_and_names_it(
    domogate: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    said = domogate.refused(*words)
    assert f"there is no gateway in the folder {domogate.data}" in said
    assert "Nothing was created." in said
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
