"""Request bodies that are refused, on E1, E5 and E20, and change nothing."""

import json
import select
import socket

import psutil
import pytest

from support.gateway import Gateway, eventually, order_states
from support.http import KEY_HEADER, case, connect, expect_refusal, host_of, message_of, read_answer, request_bytes
from support.spec_operations import E1, E5, E20, POSTS, Operation

pytestmark = pytest.mark.slow

every_post = pytest.mark.parametrize("operation", POSTS, ids=str)
LIMIT = 65_536


def refused_without_a_trace(gateway: Gateway, operation: Operation, status: int, body: bytes, **how: object) -> object:
    """Send it as an allowed user. The plugs of the plant show that nothing changed."""
    who, target = gateway.case(operation)
    plant = gateway.estate.plant((target or gateway.case(E1)[1])["plant"])
    witness = plant if plant.modules("plug") else gateway.estate.plant(gateway.case(E1)[1]["plant"])
    before = gateway.plug_states(witness)
    refusal = expect_refusal(operation, gateway.send(operation, target, who=who, body=body, **how), status)
    assert gateway.plug_states(witness) == before
    return refusal


def switched_off(gateway: Gateway) -> None:
    """Switch all plugs off, so that a wrong `on` would be visible."""
    who, target = gateway.case(E1)
    assert gateway.send(E1, target, who=who, body=b'{"status": "off"}').status_code == 200


def let_scenes_end(gateway: Gateway) -> None:
    """Wait until the scene is finished: its steps run after its answer and would disturb the next test."""
    eventually(lambda: not order_states(gateway.data).keys() & {"queued", "sent"}, "no order is on its way")


class TestRepeatedBodies:
    def test_the_same_bytes_mean_to_each_operation_what_they_mean_the_first_time(self, demo: Gateway) -> None:
        """The gateway parses a short body only once for each kind of body."""
        switched_off(demo)
        who, target = demo.case(E1)
        for _ in range(3):
            assert demo.send(E1, target, who=who, body=b'{"status": "on"}').status_code == 200
            refused_without_a_trace(demo, E5, 442, b'{"status": "on"}')
            refused_without_a_trace(demo, E1, 400, b'{"status": "run"}')
            refused_without_a_trace(demo, E1, 400, b'{"status": "on", "status": "on"}')


class TestE1Values:
    def test_anything_but_on_and_off_is_400_and_switches_nothing(self, demo: Gateway) -> None:
        switched_off(demo)
        for body in (
            b"",
            b" ",
            b"[]",
            b"null",
            b'"on"',
            b"1",
            b"true",
            b"{}",
            b'{"status": null}',
            b'{"status": 1}',
            b'{"status": true}',
            b'{"status": ["on"]}',
            b'{"status": {"on": true}}',
            b'{"status": ""}',
            b'{"status": "ON"}',
            b'{"status": "On"}',
            b'{"status": "toggle"}',
            b'{"status": " on"}',
            b'{"status": "on\\u0000"}',
            b'{"status": "on\\n"}',
            b'{"Status": "on"}',
            b'[{"status": "on"}]',
        ):
            with case(body):
                refused_without_a_trace(demo, E1, 400, body)

    def test_the_message_names_the_field_and_what_is_allowed(self, demo: Gateway) -> None:
        message = message_of(E1, refused_without_a_trace(demo, E1, 400, b'{"status": "toggle"}'))
        assert all(word in message for word in ("status", "on", "off"))


class TestE5Values:
    @pytest.mark.parametrize("value", ["stop", "RUN", "Run", "", " run", "run\u0000", "on"])
    def test_another_word_is_442(self, demo: Gateway, value: str) -> None:
        message = message_of(E5, refused_without_a_trace(demo, E5, 442, json.dumps({"status": value}).encode()))
        assert "status" in message
        assert "run" in message

    @pytest.mark.parametrize(
        "body", [b"", b"{}", b"[]", b"null", b'"run"', b'{"status": 1}', b'{"status": null}', b'{"status": ["run"]}'], ids=repr
    )
    def test_a_missing_status_or_one_that_is_no_word_is_400(self, demo: Gateway, body: bytes) -> None:
        refused_without_a_trace(demo, E5, 400, body)


def padded(operation: Operation, extra: bytes) -> bytes:
    """A valid body of the operation with one more member."""
    assert operation.body is not None
    return operation.body[:-1] + b", " + extra + b"}"


HOSTILE = {
    "NaN": b'"x": NaN',
    "Infinity": b'"x": Infinity',
    "-Infinity": b'"x": -Infinity',
    "1e400": b'"x": 1e400',
    "5,000 digits": b'"x": ' + b"9" * 5000,
    "negative 5,000 digits": b'"x": -' + b"9" * 5000,
    "a leading zero": b'"x": 01',
    "a raw control character": b'"x": "a\x01b"',
    "single quotes": b"'x': 1",
    "a comment": b'/* */ "x": 1',
    "no value": b'"x":',
    "a duplicate key": b'"x": 1, "x": 2',
    "bad UTF-8": b'"x": "\xff\xfe"',
    "overlong UTF-8": b'"x": "\xc0\xaf"',
    "20,000 brackets": b'"x": ' + b"[" * 20_000,
    "970 levels": b'"x": ' + b"[" * 970 + b"]" * 970,
    "a lone surrogate as a key": b'"\\ud800": 1',
    "a lone surrogate as a value": b'"x": "\\udfff"',
}


class TestSyntax:
    @every_post
    def test_what_is_not_plain_json_is_400(self, demo: Gateway, operation: Operation) -> None:
        switched_off(demo)
        for what, extra in HOSTILE.items():
            with case(what):
                refused_without_a_trace(demo, operation, 400, padded(operation, extra))

    @every_post
    def test_a_doubled_member_of_its_own_is_400(self, demo: Gateway, operation: Operation) -> None:
        assert operation.body is not None
        first = operation.body[1:-1].split(b",")[0]
        switched_off(demo)
        refused_without_a_trace(demo, operation, 400, padded(operation, first))

    @every_post
    def test_duplicates_further_down_and_in_disguise_are_400(self, demo: Gateway, operation: Operation) -> None:
        switched_off(demo)
        for nested in (b'"x": {"a": 1, "a": 2}', b'"x": [{"a": 1, "a": 1}]', b'"x": 1, "\\u0078": 2'):
            with case(nested):
                refused_without_a_trace(demo, operation, 400, padded(operation, nested))

    @every_post
    def test_other_encodings_than_utf8_are_400(self, demo: Gateway, operation: Operation) -> None:
        assert operation.body is not None
        text = operation.body.decode()
        switched_off(demo)
        for body in (b"\xef\xbb\xbf" + operation.body, text.encode("utf-16"), text.encode("utf-16-le"), text.encode("utf-32")):
            refused_without_a_trace(demo, operation, 400, body)

    @every_post
    def test_something_after_the_end_is_400(self, demo: Gateway, operation: Operation) -> None:
        assert operation.body is not None
        switched_off(demo)
        for rest in (b"x", b"{}", b"\x00", operation.body):
            refused_without_a_trace(demo, operation, 400, operation.body + rest)


class TestContentType:
    @every_post
    def test_anything_but_json_is_400(self, demo: Gateway, operation: Operation) -> None:
        assert operation.body is not None
        switched_off(demo)
        for media in (
            "text/plain",
            "application/xml",
            "text/xml",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/jsonx",
            "text/json-ish",
            "json",
            "application/json, text/plain",
        ):
            with case(media):
                refused_without_a_trace(demo, operation, 400, operation.body, headers={"Content-Type": media})

    @every_post
    def test_none_at_all_is_accepted(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        headers = [("Host", host_of(demo.base_url)), (KEY_HEADER, demo.subscription_key), ("Connection", "close")]
        headers.append(("Authorization", demo.people[who].token_for(operation)))
        assert operation.body is not None
        headers.append(("Content-Length", str(len(operation.body))))
        with connect(demo.base_url) as connection:
            connection.sendall(request_bytes("POST", operation.url(target), headers, operation.body))
            assert read_answer(connection, "POST").status_code == 200
        let_scenes_end(demo)


class TestSize:
    @every_post
    def test_a_body_over_the_limit_is_413_by_its_length(self, demo: Gateway, operation: Operation) -> None:
        switched_off(demo)
        refused_without_a_trace(demo, operation, 413, padded(operation, b'"x": "' + b"y" * LIMIT + b'"'))

    @every_post
    def test_a_body_just_under_the_limit_is_read(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        body = padded(operation, b'"x": "' + b"y" * (LIMIT - 300) + b'"')
        assert demo.send(operation, target, who=who, body=body).status_code == 200
        let_scenes_end(demo)

    @every_post
    def test_a_declared_length_over_the_limit_is_413_before_the_body_has_come(
        self, demo: Gateway, operation: Operation
    ) -> None:
        with connect(demo.base_url) as connection:
            connection.sendall(request_bytes("POST", self.path(demo, operation), self.headers(demo, operation, "9" * 12)))
            expect_refusal(operation, read_answer(connection, "POST"), 413)

    @every_post
    def test_chunks_without_end_are_413_and_memory_stays_flat(self, demo: Gateway, operation: Operation) -> None:
        process = psutil.Process(demo.process.pid)
        before = process.memory_info().rss
        head = request_bytes("POST", self.path(demo, operation), self.headers(demo, operation, None))
        with connect(demo.base_url) as connection:
            connection.sendall(head)
            status = self.pour(connection, b"1000\r\n" + b"x" * 0x1000 + b"\r\n", chunks=8000)
        assert status == 413
        assert process.memory_info().rss - before < 16_000_000

    def test_a_short_body_that_would_become_a_very_long_document_is_413(self, demo: Gateway) -> None:
        body = json.dumps({" " * 2_000: [0] * 1_000})
        assert len(body) < LIMIT / 10
        expect_refusal(E20, demo.send(E20, demo.case(E20)[1], body=body.encode()), 413)

    def path(self, gateway: Gateway, operation: Operation) -> str:
        return operation.url(gateway.case(operation)[1])

    def headers(self, gateway: Gateway, operation: Operation, length: str | None) -> list[tuple[str, str]]:
        who, _ = gateway.case(operation)
        framing = ("Transfer-Encoding", "chunked") if length is None else ("Content-Length", length)
        return [
            ("Host", host_of(gateway.base_url)),
            (KEY_HEADER, gateway.subscription_key),
            ("Authorization", gateway.people[who].token_for(operation)),
            ("Content-Type", "application/json"),
            framing,
        ]

    def pour(self, connection: socket.socket, chunk: bytes, chunks: int) -> int:
        """Send until the server answers. Returns the status."""
        for _ in range(chunks):
            answered, _, _ = select.select([connection], [], [], 0)
            if answered:
                return read_answer(connection, "POST").status_code
            connection.sendall(chunk)
        raise AssertionError("the server swallowed everything")


def test_e20_refuses_numbers_beyond_all_bounds_in_its_own_fields(demo: Gateway) -> None:
    for value in (b"NaN", b"1e400", b"9" * 5000):
        refused_without_a_trace(demo, E20, 400, b'{"maxSpeed": ' + value + b"}")
