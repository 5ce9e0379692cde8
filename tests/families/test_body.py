import json
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.common.http_messages import Header, Receive, Request
from domogate.domain.faults import BodyTooLarge, MalformedRequest
from domogate.families._serve import check_content_type, parse_body, read_body
from support.examples import examples

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


class TestStrictJson:
    @settings(max_examples=examples(40))
    @given(_JSON)
    def test_reads_what_is_json(self, value: Any) -> None:
        document, body = parse_body(json.dumps({"value": value}).encode(), dict)
        assert document == body == {"value": value}

    @given(st.binary())
    def test_refuses_everything_else_with_one_fault(self, body: bytes) -> None:
        try:
            document, _ = parse_body(b'{"value":' + body + b"}", dict)
        except MalformedRequest:
            return
        assert document == json.loads(b'{"value":' + body + b"}")

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b'{"status":"on","status":"off"}',
            b'{"a":{"b":1,"b":2}}',
            b'{"a":NaN}',
            b'{"a":-Infinity}',
            b'{"a":1e400}',
            b'{"a":' + b"9" * 5000 + b"}",
            b"\xef\xbb\xbf{}",
            '{"a":1}'.encode("utf-16"),
            b'{"a":"\xff"}',
            b"[" * 100_000,
            b"{} {}",
            b"{'a':1}",
        ],
        ids=lambda body: repr(body[:24]),
    )
    def test_refuses_what_others_take_silently(self, body: bytes) -> None:
        with pytest.raises(MalformedRequest):
            parse_body(body, dict)


class TestConversion:
    class Body(msgspec.Struct, frozen=True):
        status: str

    @pytest.mark.parametrize("value", [[], None, "on", 1, {}, {"status": 1}, {"status": True}, {"status": None}])
    def test_refuses_other_types(self, value: Any) -> None:
        with pytest.raises(MalformedRequest):
            parse_body(json.dumps(value).encode(), self.Body)

    def test_passes_over_what_it_does_not_know(self) -> None:
        document, body = parse_body(b'{"status":"on","more":1}', self.Body)
        assert document == {"status": "on", "more": 1}
        assert body.status == "on"


class TestContentType:
    @pytest.mark.parametrize(
        "value",
        [
            None,
            b"",
            b"application/json",
            b"Application/JSON; charset=UTF-8",
            b"application/vnd.x+json",
            b"application/json;v=1",
            b'application/json; charset="utf-8"; v=1',
        ],
    )
    def test_json_or_nothing_is_accepted(self, value: bytes | None) -> None:
        check_content_type(value)

    @pytest.mark.parametrize(
        "value",
        [
            b"text/plain",
            b"application/xml",
            b"application/x-www-form-urlencoded",
            b"json",
            b"application/json; charset=utf-16",
            b"application/json; v=1; charset=utf-16",
        ],
    )
    def test_anything_else_is_not(self, value: bytes) -> None:
        with pytest.raises(MalformedRequest):
            check_content_type(value)


def _receiving(*chunks: bytes) -> Receive:
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    messages[-1]["more_body"] = False

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    return receive


def _request(receive: Receive | None, headers: Sequence[Header] = (), body: bytes = b"") -> Request:
    return Request("POST", b"/x", headers, "", receive, body=body)


class TestReadingTheBody:
    @pytest.mark.parametrize("chunks", [(b"abc",), (b"a", b"b", b"c"), (b"", b"abc")])
    async def test_gives_all_of_it(self, chunks: tuple[bytes, ...]) -> None:
        assert await read_body(_request(_receiving(*chunks)), 3) == b"abc"

    async def test_refuses_a_length_over_the_limit_before_reading(self) -> None:
        async def never() -> NoReturn:
            raise AssertionError("nothing is read")

        with pytest.raises(BodyTooLarge):
            await read_body(_request(never, [(b"content-length", b"4")]), 3)

    @pytest.mark.parametrize("chunks", [(b"abcd",), (b"ab", b"cd"), (b"abc", b"d", b"e")])
    async def test_stops_at_the_limit_however_it_is_sent(self, chunks: tuple[bytes, ...]) -> None:
        with pytest.raises(BodyTooLarge):
            await read_body(_request(_receiving(*chunks)), 3)

    async def test_refuses_a_body_that_never_ends_well(self) -> None:
        messages: list[dict[str, Any]] = [
            {"type": "http.request", "body": b"a", "more_body": True},
            {"type": "http.disconnect"},
        ]

        async def receive() -> dict[str, Any]:
            return messages.pop(0)

        with pytest.raises(MalformedRequest):
            await read_body(_request(receive), 30)

    async def test_a_body_that_has_arrived_has_the_same_limit(self) -> None:
        assert await read_body(_request(None, body=b"abc"), 3) == b"abc"
        with pytest.raises(BodyTooLarge):
            await read_body(_request(None, body=b"abcd"), 3)
