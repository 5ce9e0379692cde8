"""A missing, empty or damaged database stops every command with a sentence. A backup never replaces a larger one unasked."""

import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pytest

from domogate import __version__
from domogate.stores.revisions import HEAD
from support.command_line import CommandLine
from support.gateway import running, start
from support.read_only import read_only_copy
from support.restartable import clean_environment

Lose = Callable[[CommandLine], None]
COMMANDS = (
    ("serve", "--port", "0"),
    ("user", "list"),
    ("key", "list"),
    ("key", "issue", "app"),
    ("backup", "B"),
    ("init", "--email", "a@b.c"),
)


@pytest.fixture
def used(small: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    return small


def database_of(domogate: CommandLine) -> Path:
    return domogate.data / "domogate.sqlite3"


def remove(domogate: CommandLine) -> None:
    for file in domogate.data.glob("domogate.sqlite3*"):
        file.unlink()


def empty(domogate: CommandLine) -> None:
    remove(domogate)
    database_of(domogate).touch()


def remove_tables(domogate: CommandLine) -> None:
    remove(domogate)
    with closing(sqlite3.connect(database_of(domogate))) as connection:
        connection.execute("PRAGMA user_version = 1")


class TestALostDatabase:
    @pytest.mark.parametrize("lose", [remove, empty, remove_tables])
    @pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
    def test_every_command_stops_and_says_how_to_restore(self, used: CommandLine, lose: Lose, command: tuple[str, ...]) -> None:
        lose(used)
        before = sorted(path.name for path in used.data.iterdir())
        said = used.refused(*command)
        assert str(database_of(used)) in said
        assert "was in use" in said
        assert f"domogate restore BACKUP --data {used.data}" in said
        assert sorted(path.name for path in used.data.iterdir()) == before

    def test_force_does_not_replace_the_good_backup_with_nothing(self, used: CommandLine, tmp_path: Path) -> None:
        file = tmp_path / "backup.db"
        used.good("backup", str(file))
        good = file.read_bytes()
        remove(used)
        used.refused("backup", str(file), "--force")
        assert file.read_bytes() == good

    @pytest.mark.parametrize("lose", [remove, empty])
    def test_a_restore_into_the_same_folder_brings_it_back(self, used: CommandLine, tmp_path: Path, lose: Lose) -> None:
        used.good("backup", str(tmp_path / "backup.db"))
        lose(used)
        used.good("restore", str(tmp_path / "backup.db"))
        assert len(used.read("user", "list")) == 2

    def test_without_the_list_of_used_databases_the_folder_is_new(self, used: CommandLine) -> None:
        remove(used)
        (used.data / "in-use").unlink()
        used.create()
        assert used.read("user", "list") == []

    def test_a_log_without_its_database_is_not_deleted(self, domogate: CommandLine) -> None:
        domogate.data.mkdir()
        log = domogate.data / "domogate.sqlite3-wal"
        log.write_bytes(b"the last changes")
        assert log.name in domogate.refused("user", "list")
        assert log.read_bytes() == b"the last changes"

    def test_the_folder_of_an_earlier_version_is_listed_at_its_first_use(self, used: CommandLine) -> None:
        (used.data / "in-use").unlink()
        used.read("user", "list")
        remove(used)
        used.refused("user", "list")


def kill_with_log(domogate: CommandLine, tmp_path: Path) -> CommandLine:
    """A copy of the data folder as a killed process leaves it, with three commits in the log."""
    with closing(sqlite3.connect(database_of(domogate))) as connection:
        for number in range(3):
            connection.execute("UPDATE users SET name = ?", (f"Name {number}",))
            connection.commit()
        shutil.copytree(domogate.data, tmp_path / "killed")
    (tmp_path / "killed" / "domogate.sqlite3-shm").unlink()
    return CommandLine(tmp_path / "killed")


class TestADamagedDatabase:
    def damage(self, domogate: CommandLine, change: Callable[[bytearray], bytes | bytearray]) -> str:
        file = database_of(domogate)
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for other in domogate.data.glob("domogate.sqlite3-*"):
            other.unlink()
        content = bytearray(file.read_bytes())
        file.write_bytes(change(content))
        said = domogate.refused("user", "list")
        assert said == domogate.refused("serve", "--port", "0")
        assert str(file) in said
        assert "is damaged" in said
        assert "domogate restore BACKUP" in said
        return said

    def test_a_file_of_something_else(self, used: CommandLine) -> None:
        self.damage(used, lambda content: b"x" * len(content))

    def test_a_file_that_was_cut(self, used: CommandLine) -> None:
        self.damage(used, lambda content: content[: len(content) // 2])

    def test_pages_in_the_middle(self, used: CommandLine) -> None:
        def overwrite(content: bytearray) -> bytearray:
            for page in range(2 * 4096, len(content), 4096):
                content[page : page + 4000] = b"\xff" * 4000
            return content

        self.damage(used, overwrite)

    def test_one_page_of_a_table(self, used: CommandLine) -> None:
        with closing(sqlite3.connect(database_of(used))) as connection:
            page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'modules'").fetchone()[0]

        def overwrite(content: bytearray) -> bytearray:
            content[(page - 1) * 4096 : page * 4096] = bytes(4096)
            return content

        self.damage(used, overwrite)

    @pytest.mark.parametrize("where", ["header", "first frame"])
    def test_a_log_with_garbage(self, used: CommandLine, tmp_path: Path, where: str) -> None:
        """SQLite ignores the log from there on, and would lose the commits in it without a message."""
        killed = kill_with_log(used, tmp_path)
        log = killed.data / "domogate.sqlite3-wal"
        with log.open("r+b") as file:
            file.seek(0 if where == "header" else 32 + 24 + 100)
            file.write(b"\xa5" * 64)
        before = {path.name: path.read_bytes() for path in (log, database_of(killed))}
        said = killed.refused("user", "list")
        assert said == killed.refused("serve", "--port", "0")
        assert f"the database {database_of(killed)} is damaged: its log domogate.sqlite3-wal" in said
        assert "domogate restore BACKUP" in said
        assert {path.name: path.read_bytes() for path in (log, database_of(killed))} == before

    @pytest.mark.parametrize("cut", [0, 1, 4_000])
    def test_a_log_that_ends_early_is_used(self, used: CommandLine, tmp_path: Path, cut: int) -> None:
        """As after a power failure. What was committed before stays."""
        killed = kill_with_log(used, tmp_path)
        log = killed.data / "domogate.sqlite3-wal"
        log.write_bytes(log.read_bytes()[: log.stat().st_size - cut])
        names = {user["name"] for user in killed.read("user", "list")}
        assert names == ({"Name 2"} if cut == 0 else {"Name 1"})

    def test_a_database_of_another_program_is_not_touched(self, domogate: CommandLine) -> None:
        domogate.data.mkdir()
        with closing(sqlite3.connect(database_of(domogate))) as connection:
            connection.execute("CREATE TABLE notes (text)")
        before = database_of(domogate).read_bytes()
        assert "another program" in domogate.refused("user", "list")
        assert database_of(domogate).read_bytes() == before


class TestADatabaseOfANewerVersion:
    @pytest.fixture
    def newer(self, used: CommandLine) -> CommandLine:
        with closing(sqlite3.connect(database_of(used))) as connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
            connection.commit()
        return used

    @pytest.mark.parametrize("command", [("serve", "--port", "0"), ("user", "list"), ("backup", "B")], ids=lambda one: one[0])
    def test_every_command_stops_and_names_both_versions(self, newer: CommandLine, command: tuple[str, ...]) -> None:
        before = database_of(newer).read_bytes()
        said = newer.refused(*command)
        assert "revision 9999" in said
        assert f"Domogate {__version__} knows the revisions up to {HEAD}" in said
        assert "Install the newer version again" in said
        assert "restore a backup that this version made" in said
        assert database_of(newer).read_bytes() == before

    def test_its_backup_is_not_restored(self, newer: CommandLine, tmp_path: Path) -> None:
        file = tmp_path / "backup.db"
        shutil.copy(database_of(newer), file)
        empty(newer)
        said = newer.refused("restore", str(file))
        assert f"{file} has revision 9999" in said
        assert "Install that version" in said
        assert database_of(newer).stat().st_size == 0


class TestReplacingABackup:
    def test_a_backup_that_holds_more_is_replaced_only_when_asked_for_by_name(self, used: CommandLine, tmp_path: Path) -> None:
        file, other = tmp_path / "backup.db", CommandLine(tmp_path / "other")
        used.good("backup", str(file))
        good = file.read_bytes()
        other.create()
        said = other.refused("backup", str(file), "--force")
        assert "holds more" in said
        assert "--replace-larger" in said
        assert file.read_bytes() == good
        other.good("backup", str(file), "--replace-larger")
        assert file.read_bytes() != good

    def test_another_store_with_more_changes_but_fewer_plants_does_not_replace_it(
        self, used: CommandLine, tmp_path: Path
    ) -> None:
        file, other = tmp_path / "backup.db", CommandLine(tmp_path / "other")
        used.good("backup", str(file))
        keys = "".join(f"  - {{name: key {number}, key: key-0123456789-{number}}}\n" for number in range(60))
        other.good("estate", "import", "-", input=f"plants: []\nsubscriptions:\n{keys}")
        assert "holds more" in other.refused("backup", str(file), "--force")

    def test_the_same_store_with_fewer_users_replaces_it(self, used: CommandLine, tmp_path: Path) -> None:
        file = tmp_path / "backup.db"
        used.good("user", "add", "gone@example.com")
        used.good("backup", str(file))
        used.good("user", "delete", "gone@example.com", "--yes")
        used.good("backup", str(file), "--force")
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("SELECT count(*) FROM users").fetchone() == (2,)


class TestBrokenOffBackups:
    def test_their_copies_are_removed_by_the_next_backup(self, used: CommandLine, tmp_path: Path) -> None:
        folder = tmp_path / "backups"
        folder.mkdir()
        for name in (".b.db.", ".b.db-2.", "..b.db."):
            (folder / f"{name}0123456789abcdef0123456789abcdef").write_bytes(b"half")
        (folder / ".b.db.0123456789abcdef0123456789abcdef-journal").write_bytes(b"half")
        used.good("backup", str(folder / "b.db"))
        # The second belongs to another backup.
        assert sorted(path.name for path in folder.iterdir()) == [".b.db-2.0123456789abcdef0123456789abcdef", "b.db"]

    @pytest.mark.slow
    def test_a_killed_backup_leaves_a_copy_that_the_next_one_removes(self, used: CommandLine, tmp_path: Path) -> None:
        folder = tmp_path / "backups"
        folder.mkdir()
        slow = (
            "import domogate.stores.backup as b, time, sys;"
            "b._check = lambda *_: (print('copied', flush=True), time.sleep(100));"
            "from domogate.cli import main; sys.argv = ['domogate', *sys.argv[1:]]; main()"
        )
        command = [sys.executable, "-c", slow, "backup", str(folder / "b.db"), "--data", str(used.data)]
        with subprocess.Popen(command, env=clean_environment({}), stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "copied\n"
            used.good("backup", str(folder / "b.db"))  # meanwhile: it does not remove the copy in use
            assert len(list(folder.iterdir())) == 2
            process.send_signal(signal.SIGKILL)
        (folder / "b.db").unlink()
        used.good("backup", str(folder / "b.db"))
        assert [path.name for path in folder.iterdir()] == ["b.db"]


class TestAReadOnlyFileSystem:
    @pytest.mark.parametrize("log", ["with a log", "without a log"])
    def test_a_backup_has_everything(self, used: CommandLine, tmp_path: Path, log: str) -> None:
        users = used.read("user", "list")
        if log == "with a log":
            # A killed process leaves its last changes in the log.
            with closing(sqlite3.connect(database_of(used))) as connection:
                connection.execute("UPDATE users SET name = 'In the log'")
                connection.commit()
                shutil.copytree(used.data, tmp_path / "killed")
            (tmp_path / "killed" / "domogate.sqlite3-shm").unlink()
            assert (tmp_path / "killed" / "domogate.sqlite3-wal").stat().st_size
        else:
            shutil.copytree(used.data, tmp_path / "killed")
        with read_only_copy(tmp_path / "killed", tmp_path / "read-only") as data:
            done = CommandLine(data).run("backup", str(tmp_path / "backup.db"))
            assert done.exit_code == 0, done.stderr
            for command in (("user", "list"), ("serve", "--port", "0")):
                assert "read-only" in CommandLine(data).refused(*command)
        assert [path.name for path in tmp_path.glob("*backup*")] == ["backup.db"]
        assert [path.name for path in tmp_path.glob(".*")] == []
        restored = CommandLine(tmp_path / "restored")
        restored.data.mkdir()
        shutil.copy(used.data / "secret-key", restored.data)
        restored.good("restore", str(tmp_path / "backup.db"))
        names = {user["name"] for user in restored.read("user", "list")}
        assert names == ({"In the log"} if log == "with a log" else {user["name"] for user in users})

    def test_a_backup_without_encrypted_secrets_says_so(self, used: CommandLine, tmp_path: Path) -> None:
        with closing(sqlite3.connect(database_of(used))) as connection:
            connection.execute("DELETE FROM secret_key")  # as in a database of a version that did not encrypt secrets
            connection.commit()
        with read_only_copy(used.data, tmp_path / "read-only") as data:
            done = CommandLine(data).run("backup", str(tmp_path / "backup.db"))
        assert done.exit_code == 0, done.stderr
        assert "The secrets in the backup are not encrypted" in done.stderr
        assert "None" not in done.stderr


@pytest.mark.slow
class TestDamageWhileServing:
    def test_the_gateway_stops_and_says_why(self, tmp_path: Path) -> None:
        with running(start("demo", tmp_path, new_interpreter=True)) as demo:
            file = demo.data / "domogate.sqlite3"
            with closing(sqlite3.connect(file, timeout=30)) as connection:
                pages = [
                    page
                    for (page,) in connection.execute(
                        "SELECT rootpage FROM sqlite_master WHERE tbl_name = 'subscriptions' AND rootpage > 0"
                    )
                ]
                while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    time.sleep(0.01)
            with file.open("r+b") as opened:
                for page in pages:
                    opened.seek((page - 1) * 4096)
                    opened.write(b"\xff" * 4096)
            with suppress(httpx.TransportError):
                # An unknown key is looked up in the damaged table.
                key = {"Ocp-Apim-Subscription-Key": "unknown"}
                assert httpx.get(f"{demo.base_url}/homeauto/v1.0/plants", headers=key, timeout=60).status_code == 500
            assert demo.process.wait(60) == 1
            assert f"the database {file} is damaged" in demo.log
            assert "domogate restore BACKUP" in demo.log
            assert demo.log.count("Traceback") <= 3
