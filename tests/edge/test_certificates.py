"""Renewed certificates: new connections get them without a restart, and files that cannot be used change nothing."""

import asyncio
import io
import json
import math
import shutil
import ssl
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from domogate.edge import certificates, server
from support.command_line import CommandLine
from support.doctor import doctor
from support.edge_server import GET, raw_connection, serving
from support.gateway import eventually, running, start
from support.http import PATIENCE, client
from support.ports import free_port
from support.tls import make_self_signed

pytestmark = pytest.mark.slow


class CountedTls(server.Tls):
    """Counts how often its files were checked, and how often they were read."""

    checks = loads = 0

    def refresh(self) -> None:
        super().refresh()
        self.checks += 1

    def load(self) -> None:
        self.loads += 1
        super().load()


@pytest.fixture
def tls(tmp_path: Path) -> CountedTls:
    made = make_self_signed(tmp_path)
    return CountedTls(made.certificate, made.key)


@pytest.fixture
def renewed(tmp_path: Path) -> server.Tls:
    (folder := tmp_path / "renewed").mkdir()
    return make_self_signed(folder, ends=90)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "CHECK_EVERY", 0.02)


async def describe(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def trusting(tls: server.Tls) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(tls.certificate))


def served(port: int) -> str:
    return ssl.get_server_certificate(("127.0.0.1", port), timeout=PATIENCE)


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


def events(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


@pytest.mark.usefixtures("often")
class TestRenewal:
    on_both_loops = True

    async def test_new_connections_get_the_new_certificate_and_open_ones_stay(
        self, tls: CountedTls, renewed: server.Tls, json_log: io.StringIO
    ) -> None:
        async with serving(describe, tls=tls) as bound, raw_connection(bound.port, trusting(tls)) as before:
            # As certbot does it: each file is replaced by another file.
            renewed.key.replace(tls.key)
            await asyncio.sleep(0.1)  # The server may see one new file without the other.
            shutil.copy(renewed.certificate, tls.certificate)
            await wait_until(lambda: "uses a new certificate" in json_log.getvalue())
            async with raw_connection(bound.port, trusting(renewed)) as after:
                for connection in (after, before):
                    await connection.send(GET)
                    assert (await connection.read_answer())[0] == 200
        assert tls.end > make_end(days=80)

    async def test_a_link_to_another_folder_is_a_new_certificate(
        self, tls: CountedTls, renewed: server.Tls, tmp_path: Path, json_log: io.StringIO
    ) -> None:
        """As Kubernetes does it: both files are below a link that is replaced."""
        (link := tmp_path / "link").symlink_to(tmp_path)
        linked = server.Tls(link / tls.certificate.name, link / tls.key.name)
        async with serving(describe, tls=linked) as bound:
            (tmp_path / "next").symlink_to(renewed.certificate.parent)
            (tmp_path / "next").replace(link)
            await wait_until(lambda: "uses a new certificate" in json_log.getvalue())
            async with raw_connection(bound.port, trusting(renewed)):
                pass

    async def test_files_that_do_not_change_are_read_once(self, tls: CountedTls) -> None:
        async with serving(describe, tls=tls):
            await wait_until(lambda: tls.checks > 3)
        assert tls.loads == 1


@pytest.mark.usefixtures("often")
class TestBrokenFiles:
    async def broken(self, tls: CountedTls, log: io.StringIO, change: Callable[[], object]) -> dict[str, Any]:
        """Changes the files of a server. Returns the only line of the log, after a connection with the old certificate."""
        trust = trusting(tls)
        async with serving(describe, tls=tls) as bound:
            change()
            await wait_until(lambda: "cannot be used" in log.getvalue())
            seen = tls.checks
            await wait_until(lambda: tls.checks > seen + 2)
            async with raw_connection(bound.port, trust) as connection:
                await connection.send(GET)
                assert (await connection.read_answer())[0] == 200
        [line] = events(log)
        assert line["event"] == "the new certificate cannot be used; the gateway keeps the old one"
        assert line["level"] == "error"
        assert line["ends"]
        return line

    async def test_a_file_that_is_no_certificate(self, tls: CountedTls, json_log: io.StringIO) -> None:
        line = await self.broken(tls, json_log, lambda: tls.certificate.write_text("nonsense"))
        assert str(tls.certificate) in line["problem"]

    async def test_a_key_of_another_certificate(self, tls: CountedTls, renewed: server.Tls, json_log: io.StringIO) -> None:
        line = await self.broken(tls, json_log, lambda: renewed.key.replace(tls.key))
        assert "are not a certificate and its key" in line["problem"]

    async def test_a_file_that_is_gone(self, tls: CountedTls, json_log: io.StringIO) -> None:
        assert "No such file" in (await self.broken(tls, json_log, tls.key.unlink))["problem"]

    async def test_a_key_with_a_passphrase_is_refused_and_nobody_is_asked(self, tls: CountedTls, json_log: io.StringIO) -> None:
        def encrypt() -> None:
            new = tls.key.with_suffix(".new")
            command = f"openssl pkey -in {tls.key} -aes256 -passout pass:secret -out {new}"
            subprocess.run(command.split(), check=True, timeout=60)
            new.replace(tls.key)

        line = await self.broken(tls, json_log, encrypt)
        assert line["problem"] == f"tls_key: {tls.key} has a passphrase. Write the key without one."

    async def test_good_files_after_broken_ones_are_used(
        self, tls: CountedTls, renewed: server.Tls, json_log: io.StringIO
    ) -> None:
        async with serving(describe, tls=tls) as bound:
            tls.certificate.write_text("nonsense")
            await wait_until(lambda: "cannot be used" in json_log.getvalue())
            shutil.copy(renewed.key, tls.key)
            shutil.copy(renewed.certificate, tls.certificate)
            await wait_until(lambda: "uses a new certificate" in json_log.getvalue())
            async with raw_connection(bound.port, trusting(renewed)):
                pass


class TestReadability:
    def test_a_file_that_becomes_readable_is_tried_again(
        self, tls: CountedTls, renewed: server.Tls, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Root may read every file, so the test refuses to read it. A new mode is a change."""
        tls.load()
        before = tls.end
        shutil.copy(renewed.key, tls.key)
        shutil.copy(renewed.certificate, tls.certificate)
        with monkeypatch.context() as refusing:
            refusing.setattr(certificates, "_read_end", refuse)
            tls.refresh()
            tls.refresh()
        tls.refresh()
        assert tls.end == before
        tls.certificate.chmod(0o640)
        tls.refresh()
        assert tls.end > before


def refuse(path: Path) -> float:
    raise PermissionError(13, "Permission denied", path)


def make_end(days: float) -> float:
    return time.time() + days * 86_400


class TestGateway:
    def test_a_running_gateway_its_metrics_and_the_doctor(self, tmp_path: Path, renewed: server.Tls) -> None:
        tls, metrics_port = make_self_signed(tmp_path), free_port()
        settings = {
            "DOMOGATE_TLS_CERTIFICATE": str(tls.certificate),
            "DOMOGATE_TLS_KEY": str(tls.key),
            "DOMOGATE_METRICS_PORT": str(metrics_port),
        }
        with running(start("serve", tmp_path / "gateway", settings)) as gateway:
            port = int(gateway.base_url.rpartition(":")[2])
            flags = ("--port", str(port), "--tls-certificate", str(tls.certificate), "--tls-key", str(tls.key))
            line = CommandLine(gateway.data)
            shutil.copy(renewed.key, tls.key)
            broken = doctor(line, *flags)
            assert (broken.outcome("certificate"), broken.code) == ("problem", 1)
            assert "keeps its old certificate" in broken.says("certificate")
            shutil.copy(renewed.certificate, tls.certificate)
            eventually(lambda: served(port) == renewed.certificate.read_text(), "the gateway uses the new certificate")
            assert doctor(line, *flags).outcome("certificate") == "ok"
            with client(f"http://127.0.0.1:{metrics_port}") as http:
                text = http.get("/metrics").text
            (end,) = [line for line in text.splitlines() if line.startswith("domogate_tls_certificate_end_timestamp_seconds ")]
            assert math.isclose(float(end.split()[1]), make_end(days=90), abs_tol=3_600)
