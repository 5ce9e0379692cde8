"""A check of `domogate doctor` that fails is reported as a problem, and the other checks still run."""

import sqlite3
import sys
from contextlib import closing

import pytest

from support.command_line import CommandLine
from support.doctor import doctor
from support.ports import free_port
from support.postgres import postgres_server
from support.small_estate import SMALL_ESTATE


@pytest.fixture(autouse=True)
def _free_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOMOGATE_PORT", str(free_port()))


class TestDatabase:
    @pytest.mark.slow  # The doctor waits for the lock.
    def test_a_locked_file(self, small: CommandLine) -> None:
        with closing(sqlite3.connect(small.data / "domogate.sqlite3")) as database:
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("BEGIN EXCLUSIVE")
            found = doctor(small)
        assert (found.outcome("database"), found.code) == ("problem", 1)
        assert "database is locked" in found.says("database")
        assert "gateway" in found.findings

    def test_a_secret_that_cannot_be_decrypted(self, small: CommandLine) -> None:
        with closing(sqlite3.connect(small.data / "domogate.sqlite3")) as database, database:
            row = ("mqtt", "mqtt://127.0.0.1:1", "gateway", "not encrypted")
            database.execute("INSERT INTO driver_connections (driver, url, username, password) VALUES (?, ?, ?, ?)", row)
        found = doctor(small)
        assert (found.outcome("secret key"), found.code) == ("problem", 1)
        assert "a secret in the database is not encrypted" in found.says("secret key")
        assert "gateway" in found.findings

    @pytest.mark.slow
    def test_an_empty_database_on_a_server_that_the_folder_was_in_use_with(
        self, domogate: CommandLine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with postgres_server() as server:
            for name, value in server.settings_for_a_gateway().items():
                monkeypatch.setenv(name, value)
            assert "It is empty" in doctor(domogate).says("database")
            domogate.good("estate", "import", "-", input=SMALL_ESTATE)
            server.empty_database()
            found = doctor(domogate)
            refused = domogate.refused("user", "list")
        assert (found.outcome("database"), found.code) == ("problem", 1)
        assert refused == f"domogate: {found.findings['database']['says']}\n{found.findings['database']['advice']}\n"
        assert "NATS" in found.findings


class TestNats:
    def test_a_file_that_has_no_certificate(self, small: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        (file := small.data / "ca.pem").write_text("not a certificate\n")
        monkeypatch.setenv("DOMOGATE_NATS", "tls://127.0.0.1:4222")
        monkeypatch.setenv("DOMOGATE_NATS_TLS_CA", str(file))
        found = doctor(small, "--smtp-host", "127.0.0.1", "--smtp-port", str(free_port()))
        assert (found.outcome("NATS"), found.code) == ("problem", 1)
        assert "no certificate" in found.says("NATS")
        assert "nats_tls_ca" in found.says("NATS")
        assert found.outcome("mail") == "problem"

    def test_the_library_for_clusters_is_missing(self, small: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in [name for name in sys.modules if name.startswith(("domogate.app.cluster", "domogate.fabric."))]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, "nats", None)
        monkeypatch.setenv("DOMOGATE_NATS", "nats://127.0.0.1:4222")
        found = doctor(small)
        assert (found.outcome("NATS"), found.code) == ("problem", 1)
        assert "domogate[cluster]" in found.says("NATS")
