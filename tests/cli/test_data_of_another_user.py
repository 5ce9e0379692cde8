"""Root does not write to the data folder of another user, and messages about missing rights name both users."""

import asyncio
import os
import pwd
import sys
from pathlib import Path
from typing import Any

import pytest

from domogate.cli._command import opened, reading
from domogate.cli._owner import OtherOwner
from domogate.settings import Settings
from support.command_line import CommandLine
from support.doctor import doctor
from support.ports import free_port
from support.small_estate import SMALL_ESTATE

NOBODY = 65_534


def name_of(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"#{number}"


def become_root(monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:
    """Make this process root, and the folder the folder of another user. Returns the name of this user."""
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 0)
    return name_of(folder.stat().st_uid)


@pytest.fixture
def filled(small: CommandLine) -> CommandLine:
    return small


class TestRoot:
    @pytest.mark.parametrize(
        "command",
        [
            ["estate", "import", "estate.yaml"],
            ["init", "--email", "anna@example.com"],
            ["serve", "--port", "0"],
            ["demo", "--port", "0"],
            ["restore", "estate.yaml"],
        ],
        ids=lambda words: words[0],
    )
    def test_a_command_that_creates_data_is_refused_before_it_creates_a_file(
        self, domogate: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("estate.yaml").write_text(SMALL_ESTATE)
        domogate.data.mkdir()
        owner = become_root(monkeypatch, domogate.data)
        monkeypatch.setattr(sys, "argv", ["domogate", *command, "--data", str(domogate.data)])
        for name in [one for one in os.environ if one.startswith("DOMOGATE_")]:
            monkeypatch.delenv(name)
        said = domogate.refused(*command)
        assert f"the folder {domogate.data} belongs to the user {owner}, and this command runs as root." in said
        assert f"sudo -u {owner} " in said
        assert f"domogate {' '.join(command)} --data {domogate.data}\n" in said
        assert list(domogate.data.iterdir()) == []

    @pytest.mark.parametrize(
        "command",
        [
            ["user", "add", "new@example.com"],
            ["secret-key", "rotate"],
            ["clock", "confirm"],
            ["webhook", "remove", "ca5a0001-0000-4000-8000-000000000000"],
        ],
        ids=" ".join,
    )
    def test_a_command_that_changes_data_is_refused(
        self, filled: CommandLine, monkeypatch: pytest.MonkeyPatch, command: list[str]
    ) -> None:
        owner = become_root(monkeypatch, filled.data)
        assert f"belongs to the user {owner}" in filled.refused(*command)

    @pytest.mark.parametrize("command", [["user", "list"], ["plant", "list"], ["audit", "list"], ["doctor"]], ids=" ".join)
    def test_a_command_that_reads_is_allowed_and_leaves_no_file(
        self, filled: CommandLine, monkeypatch: pytest.MonkeyPatch, command: list[str]
    ) -> None:
        monkeypatch.setenv("DOMOGATE_PORT", str(free_port()))
        (filled.data / "in-use").unlink()  # as in a folder of an earlier version, or after a copy of only the database
        before = sorted(filled.data.iterdir())
        become_root(monkeypatch, filled.data)
        assert filled.run(*command, "--json").exit_code == 0
        assert sorted(filled.data.iterdir()) == before

    def test_the_owner_still_writes_the_list_of_used_databases(self, filled: CommandLine) -> None:
        (filled.data / "in-use").unlink()
        filled.good("user", "list")
        assert (filled.data / "in-use").exists()

    def test_a_command_is_refused_unless_it_says_that_it_only_reads(
        self, filled: CommandLine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        become_root(monkeypatch, filled.data)
        settings = Settings(data=filled.data)

        async def use() -> None:
            async with reading(settings) as tools:
                assert await tools.store.list_users()
            with pytest.raises(OtherOwner):
                async with opened(settings):
                    pytest.fail("root writes to the folder of another user")

        asyncio.run(use())

    def test_the_command_keeps_the_settings_of_the_environment(
        self, domogate: CommandLine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        domogate.data.mkdir()
        owner = become_root(monkeypatch, domogate.data)
        monkeypatch.setenv("DOMOGATE_DATA", str(domogate.data))
        said = domogate.bare("init", "--email", "anna@example.com").stderr
        assert f"sudo -u {owner} --preserve-env=" in said
        assert "DOMOGATE_DATA" in said

    def test_the_folder_of_the_database_counts_too(
        self, domogate: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = tmp_path / "other"
        other.mkdir()
        become_root(monkeypatch, other)
        said = domogate.refused("init", "--email", "anna@example.com", "--database", f"sqlite:///{other}/homes.sqlite3")
        assert f"the folder {other} belongs to" in said
        assert not domogate.data.exists()

    def test_a_new_folder_is_created(self, domogate: CommandLine) -> None:
        domogate.create()
        assert domogate.data.stat().st_uid == os.geteuid()


class TestMissingRights:
    @pytest.fixture
    def denied(self, filled: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
        """The command line of another user, who may not read the database."""
        database, open_file = filled.data / "domogate.sqlite3", Path.open
        stranger = NOBODY if database.stat().st_uid != NOBODY else NOBODY - 1

        def refuse(path: Path, *arguments: Any, **options: Any) -> Any:
            if path == database:
                raise PermissionError(13, "Permission denied", str(path))
            return open_file(path, *arguments, **options)

        monkeypatch.setattr(Path, "open", refuse)
        monkeypatch.setattr(os, "geteuid", lambda: stranger)
        monkeypatch.setenv("DOMOGATE_PORT", str(free_port()))
        return filled

    def test_a_command_names_the_owner_and_the_present_user(self, denied: CommandLine) -> None:
        said = denied.refused("user", "list")
        file = denied.data / "domogate.sqlite3"
        assert f"{file} cannot be used: Permission denied." in said
        owner, own = name_of(file.stat().st_uid), name_of(os.geteuid())
        assert f"It belongs to the user {owner}, and this program runs as the user {own}." in said
        assert "chown -R" in said or f"sudo -u {owner} domogate" in said

    def test_the_doctor_gives_the_same_advice(self, denied: CommandLine) -> None:
        found = doctor(denied)
        assert found.outcome("database") == "problem"
        said = denied.refused("user", "list").removeprefix("domogate: ")
        assert " ".join(said.split()) == " ".join(found.says("database").split())

    def test_the_secret_key_that_cannot_be_read(self, filled: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        secret = filled.data / "secret-key"

        def refuse(*_: Any, **__: Any) -> Any:
            raise PermissionError(13, "Permission denied", str(secret))

        monkeypatch.setattr("domogate.identity.secret_keys._read", refuse)
        monkeypatch.setattr(os, "geteuid", lambda: secret.stat().st_uid + 1)
        said = filled.refused("user", "list")
        assert f"{secret} cannot be read: Permission denied. It belongs to the user {name_of(secret.stat().st_uid)}" in said

    def test_another_file_that_cannot_be_read(
        self, domogate: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path / "estate.yaml"
        file.write_text(SMALL_ESTATE)

        def refuse(*_: Any, **__: Any) -> Any:
            raise PermissionError(13, "Permission denied", str(file))

        monkeypatch.setattr("domogate.cli.estate.open_input", refuse)
        monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
        said = domogate.bare("estate", "check", str(file)).stderr
        assert f"{file} cannot be used: Permission denied. It belongs to the user {name_of(file.stat().st_uid)}, and" in said
