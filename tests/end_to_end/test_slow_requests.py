"""The log of slow requests of a real gateway. Each request counts as slow here."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from support.gateway import Gateway, eventually, running, start
from support.spec_operations import E1, E8

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    settings = {"DOMOGATE_SLOW_REQUEST": "0.000001", "DOMOGATE_LOG_FORMAT": "json", "DOMOGATE_STATE_MAX_AGE": "0.001"}
    with running(start("demo", tmp_path_factory.mktemp("slow"), settings)) as gateway:
        yield gateway


def lines_of(gateway: Gateway) -> list[dict[str, Any]]:
    lines = (json.loads(line) for line in gateway.log.splitlines() if line.startswith("{"))
    return [line for line in lines if line["event"] == "slow request"]


def line_of(gateway: Gateway, request_id: str) -> dict[str, Any]:
    def find() -> list[dict[str, Any]]:
        return [line for line in lines_of(gateway) if line["request_id"] == request_id]

    eventually(lambda: bool(find()), f"the request {request_id} has a line")
    (line,) = find()
    return line


class TestTheLine:
    def test_a_read_says_that_it_waited_for_the_device(self, gateway: Gateway) -> None:
        who, target = gateway.case(E8)
        answer = gateway.send(E8, target, who=who)
        line = line_of(gateway, answer.headers["x-request-id"])
        assert (line["method"], line["operation"], line["status"]) == ("GET", "E8", 200)
        assert line["route"].startswith("/homeauto/v1.0/light/")
        assert line["device_seconds"] <= line["seconds"]

    def test_a_command_says_that_it_waited_for_the_store(self, gateway: Gateway) -> None:
        who, target = gateway.case(E1)
        answer = gateway.send(E1, target, who=who)
        line = line_of(gateway, answer.headers["x-request-id"])
        assert (line["method"], line["operation"]) == ("POST", "E1")
        assert 0 < line["store_seconds"] <= line["seconds"]
        assert 0 < line["device_seconds"] <= line["seconds"]

    def test_a_request_through_asgi_has_a_line_too(self, gateway: Gateway) -> None:
        answer = gateway.api.http.get("/openapi")
        line = line_of(gateway, answer.headers["x-request-id"])
        assert (line["route"], line["status"]) == ("openapi", answer.status_code)

    def test_it_has_neither_ids_nor_secrets(self, gateway: Gateway) -> None:
        who, target = gateway.case(E8)
        answer = gateway.send(E8, target, who=who)
        text = json.dumps(line_of(gateway, answer.headers["x-request-id"]))
        assert "{" in line_of(gateway, answer.headers["x-request-id"])["route"]
        for secret in (*target.values(), gateway.subscription_key, gateway.people[who].id_token):
            assert secret not in text


def test_many_slow_requests_write_few_lines(gateway: Gateway) -> None:
    before, began = len(lines_of(gateway)), time.monotonic()
    for _ in range(60):
        gateway.api.http.get("/openapi")
    intervals = 2 + (time.monotonic() - began) // 10
    assert len(lines_of(gateway)) - before <= 10 * intervals

    def has_told() -> bool:
        gateway.api.http.get("/openapi")
        return any(line.get("omitted", 0) > 0 for line in lines_of(gateway))

    eventually(has_told, "a line has the number of requests without a line")
