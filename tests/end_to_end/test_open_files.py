"""A gateway that may open few files: it says so at the start, or keeps its connections below that limit."""

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

pytestmark = pytest.mark.slow

SILENT = 300
FEW = {"DOMOGATE_CONNECTIONS_MOST": "100", "DOMOGATE_STREAMS_MOST": "50"}
PATIENCE = 60.0
SILENCE = {"DOMOGATE_HEADER_DEADLINE": str(2 * PATIENCE)}
"""Silent connections stay open for longer than a request of the test may take."""


@contextmanager
def limited(directory: Path, ulimit: str, settings: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """`domogate serve` below a limit of open files; it writes `log` and `ready` into the folder."""
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *("sh", "-c", f'ulimit {ulimit}; exec "$@"', "sh", sys.executable, "-m", "domogate.cli", "serve"),
                *("--port", "0", "--metrics-port", "0", "--data", str(directory / "data")),
                *("--ready-file", str(directory / "ready")),
            ],
            env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1", "COLUMNS": "500", **settings},
            stdout=log,
            stderr=log,
        )
        try:
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE)


def wait_for_url(directory: Path, process: "subprocess.Popen[bytes]") -> str:
    for _ in range(600):
        if (directory / "ready").exists():
            return str(json.loads((directory / "ready").read_text())["base_url"])
        assert process.poll() is None, (directory / "log").read_text()
        time.sleep(0.1)
    pytest.fail("the gateway is not ready")


class TestTheLimitOfOpenFiles:
    def test_connections_beyond_it_stop_the_start_with_what_to_change(self, tmp_path: Path) -> None:
        with limited(tmp_path, "-n 256", {}) as process:
            assert process.wait(60) == 2
        said = " ".join((tmp_path / "log").read_text().split())
        assert "connections_most (limit of open files): 6000 connections need 5876 more open files" in said
        assert "set connections_most and streams_most to at most 124" in said
        assert "ulimit -n" in said

    def test_a_soft_limit_is_raised(self, tmp_path: Path) -> None:
        with limited(tmp_path, "-S -n 256", {}) as process:
            wait_for_url(tmp_path, process)
            files = Path(f"/proc/{process.pid}/limits").read_text()
            assert int(re.findall(r"Max open files +(\d+)", files)[0]) >= 6_000

    @pytest.mark.parametrize(("ulimit", "settings"), [("-n 256", FEW), ("-S -n 256", {})], ids=["few files", "defaults"])
    def test_silent_connections_do_not_stop_it(self, tmp_path: Path, ulimit: str, settings: dict[str, str]) -> None:
        began = time.monotonic()
        with limited(tmp_path, ulimit, {**settings, **SILENCE}) as process, ExitStack() as opened:
            url = wait_for_url(tmp_path, process)
            address = urlsplit(url)
            for number in range(SILENT):
                opened.enter_context(socket.create_connection((address.hostname, address.port), timeout=PATIENCE))
                if number % 20 == 19:
                    assert httpx.get(f"{url}/healthz", trust_env=False, timeout=PATIENCE).status_code == 200
            refused = httpx.get(f"{url}/openapi", trust_env=False, timeout=PATIENCE)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert process.poll() is None
        log = (tmp_path / "log").read_text()
        minutes = 1 + int((time.monotonic() - began) / 60)
        assert 1 <= log.count("connections were refused because a limit is reached") <= 1 + minutes, log
        assert "Too many open files" not in log
