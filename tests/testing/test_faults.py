"""Every fault of the test kit, over HTTP."""

import http.client
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from domogate.test_api.fault_rules import MOST_RULES
from domogate.testing import Gateway, Refused
from support.http import PATIENCE
from support.kit_house import ANNA, BRUNO, HOME, LAMP, SLOW_KEY, SPOT, light_path, read_lamp, switch_lamp

pytestmark = pytest.mark.slow

NO_WHOLE_ANSWER = (OSError, http.client.HTTPException)
DEVICE_DEADLINE = 10
TOPOLOGY = f"/doorentry-a/v1.0/plants/{HOME.id}/topology"


@contextmanager
def stream(gateway: Gateway, user: str = ANNA) -> Iterator[Iterator[str]]:
    headers = gateway.headers(user, kind="access")
    with httpx.stream("GET", f"{gateway.base_url}/events?present=true", headers=headers, timeout=PATIENCE) as answer:
        assert answer.status_code == 200
        yield answer.iter_lines()


def read_to_end(lines: Iterator[str]) -> None:
    with pytest.raises(httpx.TransportError):
        for _ in lines:
            pass


class TestStatuses:
    @pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
    def test_a_family_answers_with_the_status_in_its_own_shape(self, gateway: Gateway, status: int) -> None:
        gateway.fault(status, operation="E8")
        answer = read_lamp(gateway)
        assert (answer.status, answer.json()["statusCode"]) == (status, status)
        assert ("www-authenticate" in answer.headers) == (status == 401)
        assert ("retry-after" in answer.headers) == (status in (429, 503))
        assert "x-request-id" in answer.headers

    @pytest.mark.parametrize("status", [408, 469, 470])
    def test_operations_that_list_the_status_answer_with_it(self, gateway: Gateway, status: int) -> None:
        gateway.fault(status)
        answer = gateway.request("GET", TOPOLOGY, headers=gateway.headers(ANNA))
        assert (answer.status, answer.json()["statusCode"]) == (status, status)

    @pytest.mark.parametrize("status", [408, 469])
    def test_an_operation_that_does_not_list_the_status_ignores_it_and_does_not_count_it(
        self, gateway: Gateway, status: int
    ) -> None:
        gateway.fault(status, times=1)
        assert read_lamp(gateway).status == 200
        assert [fault["left"] for fault in gateway.faults()] == [1]

    def test_a_reset_inside_the_block_of_a_fault_ends_it_too(self, gateway: Gateway) -> None:
        with gateway.fault(500):
            gateway.reset()
            assert read_lamp(gateway).status == 200

    @pytest.mark.parametrize("status", [401, 403, 429, 469, 470, 500, 503])
    def test_an_own_api_answers_with_a_problem(self, gateway: Gateway, status: int) -> None:
        gateway.fault(status, operation="home.listHomes")
        answer = gateway.request("GET", "/home/v1/homes", headers=gateway.headers(ANNA, kind="access"))
        assert (answer.status, answer.json()["status"]) == (status, status)
        assert answer.headers["content-type"] == "application/problem+json"

    def test_the_gateway_does_not_execute_the_command(self, gateway: Gateway) -> None:
        gateway.fault(500, times=1)
        assert switch_lamp(gateway, "off").status == 500
        assert gateway.commands() == []


class TestBrokenAnswers:
    def test_a_dropped_connection_gives_no_answer_and_executes_nothing(self, gateway: Gateway) -> None:
        gateway.fault("drop", times=1)
        with pytest.raises(NO_WHOLE_ANSWER):
            switch_lamp(gateway, "off")
        assert gateway.commands() == []
        assert read_lamp(gateway).json()["lights"][0]["status"] == "on"

    def test_half_an_answer_ends_in_the_middle_of_the_body(self, gateway: Gateway) -> None:
        whole = len(read_lamp(gateway).body)
        gateway.fault("half", operation="E8", times=1)
        with pytest.raises(http.client.IncompleteRead) as broken:
            read_lamp(gateway)
        assert len(broken.value.partial) == whole // 2
        assert read_lamp(gateway).status == 200

    def test_half_of_an_answer_without_a_body_is_no_answer_to_an_executed_command(self, gateway: Gateway) -> None:
        gateway.fault("half", times=1)
        with pytest.raises(NO_WHOLE_ANSWER):
            switch_lamp(gateway, "off")
        assert [command["state"] for command in gateway.commands()] == ["confirmed"]

    def test_a_slow_answer_comes_after_its_delay(self, gateway: Gateway) -> None:
        headers = gateway.headers(ANNA)
        gateway.fault("slow", ms=200)
        begun = time.monotonic()
        assert gateway.request("GET", light_path(), headers=headers).status == 200
        assert time.monotonic() - begun >= 0.2


class TestStreams:
    def test_open_streams_are_cut_at_once(self, gateway: Gateway) -> None:
        with stream(gateway) as lines:
            next(lines)
            gateway.fault("cut", times=1)
            read_to_end(lines)
        with stream(gateway) as lines:
            assert next(lines)

    def test_the_record_names_the_fault_that_cut_an_open_stream(self, gateway: Gateway) -> None:
        with stream(gateway) as lines:
            next(lines)
            gateway.fault("cut")
            read_to_end(lines)
        while not (found := gateway.traffic(operation="events.listen")):
            pass  # The gateway notices the end of the connection a moment later.
        assert [one["fault"] for one in found] == ["cut"]

    def test_a_new_stream_is_cut_after_its_time(self, gateway: Gateway) -> None:
        gateway.fault("cut", ms=1)
        with stream(gateway) as lines:
            read_to_end(lines)

    def test_only_the_streams_of_the_named_user_are_cut(self, gateway: Gateway) -> None:
        fault = gateway.fault("cut", user=BRUNO, times=2)
        with stream(gateway) as annas, stream(gateway, BRUNO) as brunos:
            read_to_end(brunos)
            switch_lamp(gateway, "off")
            assert any("off" in line or '"on":false' in line for line in annas)
        assert [(one["id"], one["applied"]) for one in gateway.faults()] == [(fault.id, 1)]


class TestDevices:
    def test_an_offline_module_cannot_be_read_until_the_fault_is_deleted(self, gateway: Gateway) -> None:
        with gateway.fault("offline", module=LAMP):
            assert read_lamp(gateway).status == 404
            assert read_lamp(gateway, module_id=SPOT.id).status == 200
        assert read_lamp(gateway).status == 200

    def test_a_silent_module_takes_a_command_and_never_answers(self, gateway: Gateway) -> None:
        gateway.fault("silent", module=LAMP)
        url, headers = f"{gateway.base_url}{light_path()}", gateway.headers(ANNA)
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(httpx.post, url, headers=headers, json={"status": "off"}, timeout=PATIENCE)
            while not gateway.commands(module=LAMP):
                pass
            assert not waiting.done()
            gateway.advance(DEVICE_DEADLINE)
            answer = waiting.result()
        assert (answer.status_code, answer.headers["x-fault"]) == (404, "4002")
        assert [command["state"] for command in gateway.commands()] == ["expired"]

    def test_a_refusing_plant_can_be_read_and_refuses_commands(self, gateway: Gateway) -> None:
        gateway.fault("refusing", plant=HOME)
        assert read_lamp(gateway).status == 200
        assert switch_lamp(gateway, "off").status == 500
        gateway.clear_faults()
        assert switch_lamp(gateway, "off").status == 200

    @pytest.mark.parametrize("kind", ["offline", "silent", "refusing"])
    def test_the_requests_of_a_device_fault_are_not_counted(self, gateway: Gateway, kind: str) -> None:
        gateway.fault(kind, module=LAMP)
        gateway.fault(500, operation="E8")
        assert [fault["applied"] for fault in gateway.faults()] == [None, 0]

    def test_at_the_limit_nothing_is_injected(self, gateway: Gateway) -> None:
        for _ in range(MOST_RULES):
            gateway.fault("cut")
        with pytest.raises(Refused, match="409"):
            gateway.fault("offline", module=LAMP)
        assert read_lamp(gateway).status == 200

    @pytest.mark.parametrize("first", [{"module": LAMP}, {"plant": HOME}])
    def test_a_deleted_fault_does_not_end_another_fault_of_the_module(self, gateway: Gateway, first: dict[str, Any]) -> None:
        deleted = gateway.fault("offline", **first)
        with gateway.fault("offline", module=LAMP):
            deleted.delete()
            assert (read_lamp(gateway).status, read_lamp(gateway, module_id=SPOT.id).status) == (404, 200)
        assert read_lamp(gateway).status == 200


class TestWhoGetsAFault:
    def test_only_the_named_module_and_operation(self, gateway: Gateway) -> None:
        gateway.fault(500, module=LAMP, operation="homeauto.readLight")
        assert read_lamp(gateway).status == 500
        assert read_lamp(gateway, module_id=SPOT.id).status == 200
        assert switch_lamp(gateway, "off").status == 200

    def test_only_the_named_user(self, gateway: Gateway) -> None:
        gateway.fault(403, user=BRUNO)
        assert (read_lamp(gateway, ANNA).status, read_lamp(gateway, BRUNO).status) == (200, 403)

    def test_only_the_named_key(self, gateway: Gateway) -> None:
        gateway.fault(503, key="Slow")
        headers = gateway.headers(ANNA)
        assert gateway.request("GET", light_path(), headers=headers).status == 200
        with_key = {**headers, "Ocp-Apim-Subscription-Key": SLOW_KEY}
        assert gateway.request("GET", light_path(), headers=with_key).status == 503

    def test_only_as_many_requests_as_it_says(self, gateway: Gateway) -> None:
        gateway.fault(500, times=2)
        assert [read_lamp(gateway).status for _ in range(3)] == [500, 500, 200]
        assert [(fault["left"], fault["applied"]) for fault in gateway.faults()] == [(0, 2)]

    def test_several_faults_follow_each_other(self, gateway: Gateway) -> None:
        gateway.fault(500, times=1)
        gateway.fault(429, times=1)
        assert [read_lamp(gateway).status for _ in range(3)] == [500, 429, 200]


class TestMistakes:
    @pytest.mark.parametrize(
        ("wrong", "says"),
        [
            ({"kind": "explode"}, r"no fault 'explode'\. The faults are: offline, silent, .*, cut\.$"),
            ({"kind": "slows"}, "Did you mean slow"),
            ({"kind": "slow"}, "needs ms"),
            ({"kind": 500, "ms": 3}, "takes no ms"),
            ({"kind": 500, "operation": "E99"}, r"no operation 'E99'.* homeauto\.readLight \(E8\), .*home\.listHomes"),
            ({"kind": 500, "operation": "events"}, r"Did you mean events\.listen"),
            ({"kind": 500, "operation": "x" * 5_000}, r"'x{100}'"),
            ({"kind": 408, "operation": "home.commandModule"}, "never answers with 408.*: 401, 403, 429, 469, 470, 500, 503"),
            ({"kind": 500, "user": "nobody@example.com"}, "no user"),
            ({"kind": 500, "key": "None"}, "no subscription key"),
            ({"kind": 500, "times": 0}, "400"),
            ({"kind": "offline"}, "needs plantId"),
            ({"kind": "offline", "plant": HOME, "times": 1}, "does not take times"),
            ({"kind": "offline", "plant": "00000000-0000-4000-8000-000000000000"}, "404"),
            ({"kind": 469, "operation": "E8"}, "never answers with 469"),
        ],
    )
    def test_a_fault_that_makes_no_sense_is_refused_with_the_reason(
        self, gateway: Gateway, wrong: dict[str, Any], says: str
    ) -> None:
        with pytest.raises(Refused, match=says):
            gateway.fault(**wrong)
        assert gateway.faults() == []
