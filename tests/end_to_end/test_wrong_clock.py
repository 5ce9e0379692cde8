"""A gateway whose clock is far from the time that it last saw says so, and an operator can confirm the clock."""

import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from support.gateway import running, start

pytestmark = pytest.mark.slow


def test_the_log_the_health_check_and_the_command_line_say_so(tmp_path: Path) -> None:
    with running(start("serve", tmp_path)) as gateway:
        assert httpx.get(f"{gateway.base_url}/readyz", timeout=60).json() == {"status": "ready"}
        assert "Old data is pruned" in gateway.domogate("clock", "show")
    with closing(sqlite3.connect(gateway.data / "domogate.sqlite3")) as connection:
        # The same as a clock that is 400 days ahead.
        assert connection.execute("UPDATE clock SET seen_at = seen_at - 400 * 86400").rowcount == 1
        connection.commit()
    with running(start("serve", tmp_path)) as gateway:
        answer = httpx.get(f"{gateway.base_url}/readyz", timeout=60)
        assert (answer.status_code, answer.json()) == (200, {"status": "ready", "warnings": ["clock"]})
        assert gateway.log.count("nothing is pruned") == 1
        assert "400 days ahead" in gateway.log
        assert "400 days ahead" in gateway.domogate("clock", "show")
        gateway.domogate("clock", "confirm")
        assert "Old data is pruned" in gateway.domogate("clock", "show")
    with running(start("serve", tmp_path)) as gateway:
        assert httpx.get(f"{gateway.base_url}/readyz", timeout=60).json() == {"status": "ready"}
