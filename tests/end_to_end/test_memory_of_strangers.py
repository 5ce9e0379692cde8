"""What clients without credentials send does not stay in memory."""

import secrets
from pathlib import Path

import pytest

from support.gateway import Gateway
from support.http import connect, host_of, read_answer, request_bytes

MB = 1_000_000
PATHS = ("/homeauto/v1.0/plants/{}/topology", "/emergency-lighting/module/{}/spare-parts")


def resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        pytest.skip("this system does not tell the memory of a process")
    return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmRSS:"))


@pytest.mark.slow
class TestPathsThatAreRefused:
    def test_long_ones_over_one_connection_take_no_memory(self, demo: Gateway) -> None:
        with connect(demo.base_url, timeout=30) as connection:
            before = resident(demo.process.pid)
            for number in range(2_000):
                path = PATHS[number % 2].format(secrets.token_hex(15_000))
                connection.sendall(request_bytes("GET", path, [("Host", host_of(demo.base_url))]))
                assert read_answer(connection).status_code == 401
            assert resident(demo.process.pid) - before < 20 * MB
