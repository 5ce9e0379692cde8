"""A database server that is stopped, but not gone: requests are answered in time, and SIGTERM ends the gateway."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.gateway import Gateway, eventually, run_command, running, start
from support.postgres import PostgresServer, postgres_server
from support.spec_operations import E1, E8

pytestmark = pytest.mark.slow

DEADLINE, DRAIN = 2.0, 3.0
SLACK = 30.0
"""Seconds for a busy machine. Without deadlines a request has no answer at all."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def gateway(server: PostgresServer, tmp_path: Path) -> Iterator[Gateway]:
    settings = {
        **server.settings_for_a_gateway(),
        "DOMOGATE_DEVICE_DEADLINE": str(DEADLINE),
        "DOMOGATE_DRAIN": str(DRAIN),
        "DOMOGATE_KNOWLEDGE_BOUND": "60",  # Tokens are still accepted while the server is paused.
    }
    with running(start("demo", tmp_path, settings)) as started:
        try:
            yield started
        finally:
            server.resume()


def ask_with_unknown_key(gateway: Gateway) -> httpx.Response:
    """A request that must read the database."""
    headers = {"Ocp-Apim-Subscription-Key": f"unknown {time.monotonic()}"}
    return httpx.get(f"{gateway.base_url}/homeauto/v1.0/plants", headers=headers, timeout=60)


def status_of(gateway: Gateway, path: str) -> int:
    return httpx.get(f"{gateway.base_url}{path}", timeout=60).status_code


def check_that_a_command_says_it(gateway: Gateway) -> None:
    done = run_command(["user", "list", "--data", str(gateway.data)], gateway.environment)
    assert done.returncode == 1
    assert "domogate: the database postgresql://" in done.stderr
    assert "cannot be used: " in done.stderr
    assert "Traceback" not in done.stderr


class TestAHungServer:
    def test_every_request_is_answered_in_time_and_all_is_well_afterwards(
        self, gateway: Gateway, server: PostgresServer
    ) -> None:
        who, target = gateway.case(E1)
        reader, light = gateway.case(E8)
        eventually(lambda: gateway.send(E1, target, who=who).status_code == 200, "an order is executed in time")
        eventually(lambda: gateway.send(E8, light, who=reader).status_code == 200, "a device answers in time")
        assert ask_with_unknown_key(gateway).status_code == 401  # A connection that is already open does not fail by itself.
        server.pause()
        for _ in range(2):
            begun = time.monotonic()
            assert ask_with_unknown_key(gateway).status_code == 500
            assert time.monotonic() - begun < DEADLINE + SLACK
            begun = time.monotonic()
            # When the lease of this gateway has ended, the plant has no gateway, and its devices are offline (404).
            assert gateway.send(E1, target, who=who).status_code in (404, 500)
            assert time.monotonic() - begun < DEADLINE + SLACK
        assert gateway.send(E8, light, who=reader).status_code in (200, 404)  # from memory, or the device was asked
        assert status_of(gateway, "/healthz") == 200
        eventually(lambda: status_of(gateway, "/readyz") == 503, "the gateway is not ready")
        check_that_a_command_says_it(gateway)
        server.resume()
        eventually(lambda: status_of(gateway, "/readyz") == 200, "the gateway is ready again")
        eventually(lambda: gateway.send(E1, target, who=who).status_code == 200, "orders are executed again")
        assert ask_with_unknown_key(gateway).status_code == 401

    def test_sigterm_ends_the_gateway(self, gateway: Gateway, server: PostgresServer) -> None:
        who, target = gateway.case(E1)
        eventually(lambda: gateway.send(E1, target, who=who).status_code == 200, "an order is executed in time")
        server.pause()
        begun = time.monotonic()
        gateway.process.terminate()
        gateway.process.wait(60)
        assert time.monotonic() - begun < 2 * DRAIN + SLACK
