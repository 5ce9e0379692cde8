"""`domogate doctor` finds what keeps a gateway from its work, says what to do, and changes nothing."""

import json
import os
import shutil
import socket
import sqlite3
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from domogate.app.doctor import database, machine
from domogate.edge.server import Tls
from support.command_line import CommandLine
from support.doctor import doctor
from support.gateway import running, start
from support.mosquitto import mosquitto
from support.ports import free_port
from support.postgres import postgres_server
from support.read_only import read_only_copy
from support.small_estate import SMALL_ESTATE
from support.tls import make_self_signed

DAY = 86_400


@pytest.fixture(autouse=True)
def _free_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOMOGATE_PORT", str(free_port()))


def change(domogate: CommandLine, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(domogate.data / "domogate.sqlite3")) as database, database:
        database.execute(statement, values)


@contextmanager
def listening(answer: bytes, tls: Tls | None = None) -> Iterator[int]:
    """A program that sends these bytes to each client that connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as plain, encrypted(plain, tls) as connection:
                connection.recv(1_000)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]


def encrypted(connection: socket.socket, tls: Tls | None) -> socket.socket:
    if tls is None:
        return connection
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls.certificate, tls.key)
    return context.wrap_socket(connection, server_side=True)


class TestSettingsAndFolder:
    def test_a_good_store_has_no_problem(self, small: CommandLine) -> None:
        found = doctor(small)
        passed = ["settings", "data folder", "disk", "open files", "database", "secret key", "clock"]
        outcomes = {check: one["outcome"] for check, one in found.findings.items()}
        assert outcomes == {**dict.fromkeys(passed, "ok"), "gateway": "note"}
        assert found.code == 0

    def test_a_slow_file_is_not_on_a_distant_server(self, small: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(database, "SLOW", -1.0)
        assert doctor(small).outcome("database") == "ok"

    def test_before_the_first_start_nothing_is_created(self, domogate: CommandLine) -> None:
        found = doctor(domogate)
        assert (found.outcome("data folder"), found.outcome("database"), found.code) == ("warning", "warning", 0)
        assert not domogate.data.exists()

    def test_for_people_each_line_says_what_to_do(self, domogate: CommandLine) -> None:
        lines = domogate.good("doctor").splitlines()
        at = next(number for number, line in enumerate(lines) if line.startswith("warning  database: there is no database in "))
        assert lines[at + 1].strip() == "`domogate serve` creates it."
        assert lines[-1] == "5 checks: no problems, 2 warnings, 1 note."
        assert any(line.startswith("note     gateway: nothing listens on ") for line in lines)

    def test_settings_with_which_the_gateway_does_not_start(self, small: CommandLine) -> None:
        found = doctor(small, "--host", "0.0.0.0")
        assert (found.outcome("settings"), found.code) == ("problem", 1)
        assert "unencrypted" in found.says("settings") or "public_url" in found.says("settings")

    def test_unencrypted_http_is_a_warning(self, small: CommandLine) -> None:
        found = doctor(small, "--insecure-http")
        assert (found.outcome("settings"), found.code) == ("warning", 0)

    def test_https_without_a_known_proxy_is_a_warning(self, small: CommandLine) -> None:
        found = doctor(small, "--public-url", "https://gateway.example.com")
        assert (found.outcome("settings"), found.code) == ("warning", 0)
        assert "count as one address" in found.says("settings")
        assert "Set trusted_proxies" in found.says("settings")
        known = doctor(small, "--public-url", "https://gateway.example.com", "--trusted-proxies", "127.0.0.1")
        assert known.outcome("settings") == "ok"

    def test_a_relative_folder_is_shown_with_its_full_path(
        self, small: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        found = doctor(CommandLine(Path("away")))
        assert found.says("data folder").startswith(f"{tmp_path / 'away'} does not exist yet.")
        assert f"there is no database in {tmp_path / 'away'} yet." in found.says("database")
        found = doctor(CommandLine(small.data.relative_to(tmp_path)))
        assert f"{small.data} is writable" in found.says("data folder")
        assert f"free in {small.data}." in found.says("disk")

    def test_a_folder_that_others_can_read(self, small: CommandLine) -> None:
        small.data.chmod(0o755)
        (small.data / "secret-key").chmod(0o600)
        found = doctor(small)
        assert found.outcome("data folder") == "warning"
        assert f"chmod go-rwx {small.data}" in found.says("data folder")

    def test_a_file_in_place_of_the_folder(self, domogate: CommandLine) -> None:
        domogate.data.write_text("")
        assert doctor(domogate).outcome("data folder") == "problem"

    @pytest.mark.slow
    def test_a_read_only_disk(self, small: CommandLine, tmp_path: Path) -> None:
        with read_only_copy(small.data, tmp_path / "copy") as copy:
            found = doctor(CommandLine(copy))
        assert found.code == 1
        assert "problem" in (found.outcome("data folder"), found.outcome("database"))

    @pytest.mark.parametrize(("free", "outcome"), [(50_000_000, "problem"), (500_000_000, "warning"), (5_000_000_000, "ok")])
    def test_little_space(self, small: CommandLine, monkeypatch: pytest.MonkeyPatch, free: int, outcome: str) -> None:
        usage = shutil.disk_usage(small.data)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))
        assert doctor(small).outcome("disk") == outcome

    def test_too_many_connections_for_the_limit_of_open_files(
        self, small: CommandLine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(machine, "count_allowed_connections", lambda wanted: wanted - 1)
        found = doctor(small)
        assert (found.outcome("open files"), found.code) == ("problem", 1)


class TestCertificate:
    @pytest.mark.parametrize(
        ("begins", "ends", "outcome"), [(-9, 90, "ok"), (-9, 10, "warning"), (-9, -1, "problem"), (1, 90, "problem")]
    )
    def test_its_days(self, small: CommandLine, tmp_path: Path, begins: float, ends: float, outcome: str) -> None:
        tls = make_self_signed(tmp_path, begins=begins, ends=ends)
        found = doctor(small, "--tls-certificate", str(tls.certificate), "--tls-key", str(tls.key))
        assert found.outcome("certificate") == outcome

    @pytest.mark.parametrize(
        ("name", "host", "outcome"),
        [
            ("gateway.example.com", "gateway.example.com", "ok"),
            ("*.example.com", "gateway.example.com", "ok"),
            ("*.example.com", "other.org", "problem"),
            ("localhost", "127.0.0.1", "ok"),
            ("localhost", "127.0.0.2", "problem"),
        ],
    )
    def test_the_name_of_the_host(self, small: CommandLine, tmp_path: Path, name: str, host: str, outcome: str) -> None:
        tls = make_self_signed(tmp_path, ends=90, name=name)
        flags = ("--tls-certificate", str(tls.certificate), "--tls-key", str(tls.key), "--public-url", f"https://{host}")
        assert doctor(small, *flags).outcome("certificate") == outcome

    def test_a_key_of_another_certificate(self, small: CommandLine, tmp_path: Path) -> None:
        (folder := tmp_path / "other").mkdir()
        tls, other = make_self_signed(tmp_path, ends=90), make_self_signed(folder, ends=90)
        found = doctor(small, "--tls-certificate", str(tls.certificate), "--tls-key", str(other.key))
        assert (found.outcome("certificate"), found.code) == ("problem", 1)
        assert "are not a certificate and its key" in found.says("certificate")


class TestDatabase:
    def test_a_damaged_file(self, small: CommandLine) -> None:
        file = small.data / "domogate.sqlite3"
        content = bytearray(file.read_bytes())
        content[4096 : 4096 * 4] = os.urandom(4096 * 3)
        file.write_bytes(content)
        found = doctor(small)
        assert (found.outcome("database"), found.code) == ("problem", 1)
        assert "domogate restore" in found.says("database")

    def test_a_lost_file(self, small: CommandLine) -> None:
        (small.data / "domogate.sqlite3").unlink()
        assert doctor(small).outcome("database") == "problem"

    @pytest.mark.parametrize(("revision", "outcome"), [("9999", "problem"), ("0028", "warning")])
    def test_another_version_is_not_migrated(self, small: CommandLine, revision: str, outcome: str) -> None:
        change(small, "UPDATE alembic_version SET version_num = ?", revision)
        assert doctor(small).outcome("database") == outcome
        with closing(sqlite3.connect(small.data / "domogate.sqlite3")) as database:
            assert database.execute("SELECT version_num FROM alembic_version").fetchall() == [(revision,)]

    def test_a_missing_secret_key(self, small: CommandLine) -> None:
        (small.data / "secret-key").unlink()
        found = doctor(small)
        assert (found.outcome("secret key"), found.code) == ("problem", 1)
        assert not (small.data / "secret-key").exists()

    def test_a_clock_far_from_the_time_that_a_gateway_saw(self, small: CommandLine) -> None:
        change(small, "INSERT OR REPLACE INTO clock (id, seen_at) VALUES ('gateways', 1)")
        found = doctor(small)
        assert (found.outcome("clock"), found.code) == ("problem", 1)
        assert "domogate clock confirm" in found.says("clock")

    @pytest.mark.slow
    def test_postgresql_and_nats(self, domogate: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(database, "SLOW", 60.0)  # a busy machine is not slow in this test
        with postgres_server() as server:
            for name, value in server.settings_for_a_gateway().items():
                monkeypatch.setenv(name, value)
            domogate.good("estate", "import", "-", input=SMALL_ESTATE)
            found = doctor(domogate)
            assert [found.outcome(check) for check in ("database", "clock of the database", "clock", "NATS")] == ["ok"] * 4
            monkeypatch.setattr(database, "SLOW", -1.0)
            assert doctor(domogate).outcome("database") == "warning"
            monkeypatch.setenv("DOMOGATE_NATS", f"nats://127.0.0.1:{free_port()}")
            monkeypatch.setenv("DOMOGATE_DATABASE", f"postgresql://postgres:secret@127.0.0.1:{free_port()}/none")
            found = doctor(domogate)
            assert (found.outcome("database"), found.outcome("NATS"), found.code) == ("problem", "problem", 1)
            assert "secret" not in found.says("database")


class TestConnections:
    @pytest.mark.slow
    def test_a_gateway_that_runs(self, small: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with running(start("serve", tmp_path)) as gateway:
            monkeypatch.setenv("DOMOGATE_PORT", gateway.base_url.rpartition(":")[2])
            assert "is ready" in doctor(small).says("gateway")

    @pytest.mark.slow
    def test_a_gateway_with_other_data_on_the_same_port(self, small: CommandLine, tmp_path: Path) -> None:
        with running(start("serve", tmp_path / "other")) as gateway:
            port = gateway.base_url.rpartition(":")[2]
            for other in (small, CommandLine(tmp_path / "new")):
                found = doctor(other, "--port", port)
                assert (found.outcome("gateway"), found.code) == ("problem", 1)
                said = f"another gateway runs on 127.0.0.1:{port}: it does not use the data in {other.data}."
                assert said in found.says("gateway")
            assert doctor(CommandLine(gateway.data), "--port", port).outcome("gateway") == "ok"

    @pytest.mark.parametrize("exists", [False, True])
    def test_a_gateway_that_runs_on_other_data(self, domogate: CommandLine, exists: bool) -> None:
        if exists:
            domogate.data.mkdir(mode=0o700)
        with listening(b'HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{"status":"ready"}') as port:
            found = doctor(domogate, "--port", str(port))
        assert (found.outcome("data folder"), found.outcome("database")) == ("ok" if exists else "problem", "problem")
        assert f"{domogate.data}, but a gateway answers on 127.0.0.1:{port}." in found.says("database")
        assert "an absolute path" in found.says("database")
        assert "`domogate serve`" not in found.says("data folder") + found.says("database")
        assert found.code == 1

    @pytest.mark.slow
    def test_the_gateway_itself_may_use_the_port_of_metrics(
        self, small: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        metrics = str(free_port())
        with running(start("serve", tmp_path, {"DOMOGATE_METRICS_PORT": metrics})) as gateway:
            found = doctor(small, "--metrics-port", metrics)
            assert (found.outcome("metrics"), found.code) == ("problem", 1)
            assert "another gateway" in found.says("metrics")
            monkeypatch.setenv("DOMOGATE_PORT", gateway.base_url.rpartition(":")[2])
            assert doctor(small, "--metrics-port", metrics).outcome("metrics") == "ok"
            assert doctor(small, "--metrics-port", str(free_port())).outcome("metrics") == "warning"

    @pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nup"])
    def test_another_program_on_the_port_of_metrics(self, small: CommandLine, answer: bytes) -> None:
        with listening(answer) as port:
            found = doctor(small, "--metrics-port", str(port))
        assert (found.outcome("metrics"), found.code) == ("problem", 1)
        assert f"127.0.0.1:{port}" in found.says("metrics")
        assert doctor(small, "--metrics-port", str(free_port())).outcome("metrics") == "ok"

    def test_another_program_on_the_port(self, small: CommandLine) -> None:
        with listening(b"SSH-2.0-OpenSSH_9.2\r\n") as port:
            found = doctor(small, "--port", str(port))
        assert (found.outcome("gateway"), found.code) == ("problem", 1)

    def test_a_gateway_with_a_certificate_that_is_not_trusted(self, small: CommandLine, tmp_path: Path) -> None:
        tls = make_self_signed(tmp_path, begins=-9, ends=-1)
        with listening(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", tls) as port:
            flags = ("--tls-certificate", str(tls.certificate), "--tls-key", str(tls.key))
            found = doctor(small, "--port", str(port), *flags)
        assert (found.outcome("gateway"), found.outcome("certificate")) == ("ok", "problem")

    def test_a_gateway_that_still_uses_an_old_certificate(self, small: CommandLine, tmp_path: Path) -> None:
        old, new = tmp_path / "old", tmp_path / "new"
        for folder in (old, new):
            folder.mkdir()
        tls = make_self_signed(new, ends=90)
        with listening(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", make_self_signed(old)) as port:
            flags = ("--tls-certificate", str(tls.certificate), "--tls-key", str(tls.key))
            found = doctor(small, "--port", str(port), *flags)
        assert (found.outcome("certificate"), found.code) == ("warning", 0)
        assert "still uses another certificate" in found.says("certificate")

    def test_a_gateway_that_is_not_ready(self, small: CommandLine) -> None:
        with listening(b'HTTP/1.1 503 Busy\r\nContent-Length: 19\r\n\r\n{"ready": "not yet"}') as port:
            found = doctor(small, "--port", str(port))
        assert (found.outcome("gateway"), found.code) == ("warning", 0)
        assert "not yet" in found.says("gateway")

    def test_a_gateway_that_warns(self, small: CommandLine) -> None:
        body = b'{"status": "ready", "warnings": ["writes", "a newer code"]}'
        with listening(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)) as port:
            found = doctor(small, "--port", str(port))
        assert (found.outcome("gateway"), found.code) == ("warning", 0)
        assert "is ready, but: it cannot write to its database; a newer code." in found.says("gateway")

    @pytest.mark.slow
    def test_brokers(self, small: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with mosquitto(tmp_path, users={"gateway": "correct horse"}) as broker:
            brokers = [
                {"url": broker.url, "name": "good", "username": "gateway", "password": "correct horse"},
                {"url": broker.url, "name": "wrong", "username": "gateway", "password": "battery staple"},
                {"url": f"mqtt://127.0.0.1:{free_port()}", "name": "away"},
            ]
            monkeypatch.setenv("DOMOGATE_MQTT_BROKERS", json.dumps(brokers))
            found = doctor(small)
        assert [found.outcome(f"MQTT broker {name}") for name in ("good", "wrong", "away")] == ["ok", "problem", "problem"]
        assert not any("horse" in found.says(check) or "staple" in found.says(check) for check in found.findings)

    def test_myhome_gateways_and_mail(self, small: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        with listening(b"*#*1##") as port:
            buses = [
                {"name": "here", "host": "127.0.0.1", "port": port},
                {"name": "away", "host": "127.0.0.1", "port": free_port()},
            ]
            monkeypatch.setenv("DOMOGATE_OPENWEBNET_GATEWAYS", json.dumps(buses))
            found = doctor(small, "--smtp-host", "127.0.0.1", "--smtp-port", str(free_port()))
        assert [found.outcome(check) for check in ("OpenWebNet gateway here", "OpenWebNet gateway away", "mail")] == [
            "ok",
            "problem",
            "problem",
        ]
