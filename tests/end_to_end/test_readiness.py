"""`/readyz` is 503 within 2 seconds of losing the database, also while a write waits for it, and 200 again afterwards."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from support.gateway import Gateway, eventually, running, start
from support.postgres import PostgresServer, postgres_server
from support.spec_operations import E1

pytestmark = pytest.mark.slow

PROMISED, SLACK = 2.0, 18.0
"""In seconds. The slack is for a busy machine."""
DEVICE_DEADLINE = "30"
"""A write waits nearly as long for the database, much longer than the promise."""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def gateway(server: PostgresServer, tmp_path: Path) -> Iterator[Gateway]:
    settings = {
        **server.settings_for_a_gateway(),
        "DOMOGATE_DEVICE_DEADLINE": DEVICE_DEADLINE,
        "DOMOGATE_DRAIN": "2",
    }
    with running(start("demo", tmp_path, settings)) as started:
        yield started


def is_ready(gateway: Gateway) -> bool:
    return httpx.get(f"{gateway.base_url}/readyz", timeout=60).status_code == 200


def seconds_until(condition: Callable[[], bool]) -> float:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < 60
        time.sleep(0.05)
    return time.monotonic() - begun


def test_a_database_that_hangs_while_a_write_waits_for_it_and_then_is_gone(gateway: Gateway, server: PostgresServer) -> None:
    who, target = gateway.case(E1)
    assert gateway.send(E1, target, who=who).status_code == 200
    assert is_ready(gateway)
    ended = threading.Event()

    def order() -> None:
        while not ended.is_set():
            gateway.send(E1, target, who=who)

    # So many orders that the writer is in a write when the server stops.
    clients = [threading.Thread(target=order) for _ in range(4)]
    for client in clients:
        client.start()
    time.sleep(1.0)
    server.pause()
    try:
        assert seconds_until(lambda: not is_ready(gateway)) < PROMISED + SLACK
    finally:
        ended.set()
        server.resume()
    assert seconds_until(lambda: is_ready(gateway)) < PROMISED + SLACK
    for client in clients:
        client.join(60)
    eventually(lambda: gateway.send(E1, target, who=who).status_code == 200, "orders are executed again")

    assert is_ready(gateway)
    server.kill()
    assert seconds_until(lambda: not is_ready(gateway)) < PROMISED + SLACK
    server.start_again()
    assert seconds_until(lambda: is_ready(gateway)) < PROMISED + SLACK
