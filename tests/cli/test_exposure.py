"""`domogate serve` on other addresses than loopback, and the answers of a gateway with TLS."""

import json
import socket
import ssl
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any

import pytest

from domogate.settings import BadSettings, Settings, check_exposure
from support.command_line import CommandLine
from support.gateway import running, start
from support.http import PATIENCE
from support.ports import free_port
from support.processes import launch
from support.restartable import clean_environment
from support.small_estate import SMALL_ESTATE
from support.tls import make_self_signed

PUBLIC = {"public_url": "https://gateway.example.com"}
CERTIFICATE = {"tls_certificate": Path("c.pem"), "tls_key": Path("k.pem")}


def told(**settings: Any) -> set[str]:
    """The settings that are named as mistakes."""
    try:
        check_exposure(Settings(**settings))
    except BadSettings as bad:
        return {mistake.setting for mistake in bad.mistakes}
    return set()


@contextmanager
def listening(folder: Path, flags: list[str], environ: dict[str, str]) -> Iterator[str]:
    """`domogate serve` whose public address is not the one on which it listens. Yields the public address."""
    ready = folder / "ready.json"
    arguments = ["serve", *flags, "--data", str(folder / "data"), "--ready-file", str(ready)]
    with (folder / "log").open("wb") as log:
        process = launch(arguments, clean_environment(environ), log, log)
    try:
        deadline = time.monotonic() + PATIENCE
        while not ready.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert ready.exists(), (folder / "log").read_text()
        yield json.loads(ready.read_text())["base_url"]
    finally:
        process.kill()
        process.wait(PATIENCE)


class TestTheCheck:
    @pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
    def test_loopback_needs_nothing(self, host: str) -> None:
        assert told(host=host) == set()

    @pytest.mark.parametrize("host", ["192.0.2.7", "10.0.0.1", "2001:db8::1", "fe80::1"])
    def test_another_address_needs_tls_a_proxy_or_the_flag(self, host: str) -> None:
        assert told(host=host) == {"host"}
        assert told(host=host, **CERTIFICATE) == set()
        assert told(host=host, trusted_proxies=("10.0.0.2",)) == set()
        assert told(host=host, insecure_http=True) == set()

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "0", "0::0"])
    def test_every_address_also_needs_the_public_one(self, host: str) -> None:
        assert told(host=host) == {"host", "public_url"}
        assert told(host=host, insecure_http=True) == told(host=host, **CERTIFICATE) == {"public_url"}
        assert told(host=host, **CERTIFICATE, **PUBLIC) == set()

    def test_a_name_counts_as_its_addresses(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def resolve(host: str, *_: object, **__: object) -> list[tuple[Any, ...]]:
            return [(0, 0, 0, "", (address, 0)) for address in {"lan": ["127.0.0.1", "192.0.2.7"], "me": ["127.0.1.1"]}[host]]

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        assert told(host="lan") == {"host"}
        assert told(host="me") == set()


class TestServe:
    def test_it_refuses_and_says_what_to_change(self, domogate: CommandLine) -> None:
        said = domogate.refused("serve", "--host", "0.0.0.0", "--port", "0", code=2)
        assert "tls_certificate" in said
        assert "trusted_proxies" in said
        assert "--insecure-http" in said
        assert "public_url" in said
        assert not domogate.data.exists()

    @pytest.mark.slow
    def test_the_flag_lets_it_start(self, tmp_path: Path) -> None:
        flags = ["--host", "0.0.0.0", "--insecure-http", "--public-url", "http://gateway.example", "--port", "0"]
        with listening(tmp_path, flags, {}) as base_url:
            assert base_url == "http://gateway.example"

    def test_other_commands_do_not_care(self, domogate: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DOMOGATE_HOST", "0.0.0.0")
        domogate.create()
        assert domogate.read("user", "list") == []


@pytest.mark.slow
class TestStrictTransportSecurity:
    PATHS = ("/healthz", "/auth/.well-known/openid-configuration", "/nothing", "/manage/v1/users", "/homeauto/v1.0/plants")

    def test_every_answer_with_tls_has_it(self, tmp_path: Path) -> None:
        tls = make_self_signed(tmp_path)
        environ = {"DOMOGATE_TLS_CERTIFICATE": str(tls.certificate), "DOMOGATE_TLS_KEY": str(tls.key)}
        with running(start("serve", tmp_path / "run", environ)) as gateway:
            port = int(gateway.base_url.rpartition(":")[2])
            context = ssl.create_default_context(cafile=str(tls.certificate))
            for path in self.PATHS:
                assert self.ask(HTTPSConnection("127.0.0.1", port, context=context), path) == "max-age=31536000", path

    def test_behind_a_trusted_proxy_with_a_public_https_address_too(self, tmp_path: Path) -> None:
        environ = {"DOMOGATE_TRUSTED_PROXIES": "127.0.0.1", "DOMOGATE_PUBLIC_URL": "https://gateway.example"}
        with listening(tmp_path, ["--port", str(port := free_port())], environ):
            assert self.ask(HTTPConnection("127.0.0.1", port), "/healthz") == "max-age=31536000"

    def test_never_without_tls(self, tmp_path: Path) -> None:
        with running(start("serve", tmp_path)) as gateway:
            port = int(gateway.base_url.rpartition(":")[2])
            for path in self.PATHS:
                assert self.ask(HTTPConnection("127.0.0.1", port), path) is None, path

    def ask(self, connection: HTTPConnection, path: str) -> str | None:
        with closing(connection):
            connection.request("GET", path)
            return connection.getresponse().getheader("Strict-Transport-Security")

    def test_requests_that_cannot_be_parsed_get_it_too(self, tmp_path: Path) -> None:
        tls = make_self_signed(tmp_path)
        context = ssl.create_default_context(cafile=str(tls.certificate))
        environ = {"DOMOGATE_TLS_CERTIFICATE": str(tls.certificate), "DOMOGATE_TLS_KEY": str(tls.key)}
        with running(start("serve", tmp_path / "run", environ)) as gateway:
            port = int(gateway.base_url.rpartition(":")[2])
            with (
                socket.create_connection(("127.0.0.1", port), 30) as plain,
                context.wrap_socket(plain, server_hostname="127.0.0.1") as wire,
            ):
                wire.sendall(b"nonsense\r\n\r\n")
                answer = wire.recv(4096)
        assert b" 400 " in answer
        assert b"strict-transport-security: max-age=31536000" in answer.lower()


class TestExportsAreForTheirOwnerOnly:
    def test_audit_and_readings_and_estate(self, domogate: CommandLine, tmp_path: Path) -> None:
        domogate.good("estate", "import", "-", input=SMALL_ESTATE)
        plant = domogate.read("plant", "list")[0]["id"]
        domogate.good("audit", "export", str(tmp_path / "audit"))
        domogate.good("readings", "export", "--plant", plant, "--out", str(tmp_path / "readings"))
        domogate.good("estate", "export", str(tmp_path / "estate"))
        domogate.good("backup", str(tmp_path / "backup"))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir() if path.is_file()}
        assert modes == dict.fromkeys(("audit", "readings", "estate", "backup"), 0o600)

    def test_also_if_a_file_that_others_could_read_is_replaced(self, domogate: CommandLine, tmp_path: Path) -> None:
        domogate.create()
        for command in (("audit", "export"), ("backup",)):
            (tmp_path / "file").write_text("old")
            (tmp_path / "file").chmod(0o644)
            domogate.good(*command, str(tmp_path / "file"), "--force")
            assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
