"""Hostile requests for every operation of one of our own surfaces: broken JSON, wrong values, strange ids and queries.

No answer is a 5xx. Every refusal is a problem with a status that the OpenAPI document lists, and with a short sentence.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import msgspec

from domogate.http_api.openapi import errors_of
from domogate.http_api.operations import Operation, Surface
from support.stores import an_id
from support.token_api import TokenApi, problem

LONGEST_DETAIL = 1_000
_IMPOSSIBLE = {401, 429, 500}
"""The credentials are good, and the requests are not too many."""
_MINUTE = 61
_REQUESTS_A_MINUTE = 1_000

NOT_JSON: dict[str, bytes] = {
    "nothing": b"",
    "a word": b"hello",
    "cut off": b'{"name": "x',
    "two values": b"{}{}",
    "a form": b"name=x&email=y",
    "NaN": b'{"x": NaN}',
    "-Infinity": b'{"x": -Infinity}',
    "1e400": b'{"x": 1e400}',
    "5,000 digits": b'{"x": ' + b"9" * 5_000 + b"}",
    "a duplicate key": b'{"x": 1, "x": 2}',
    "a duplicate key in disguise": b'{"a": {"x": 1, "\\u0078": 2}}',
    "a lone surrogate": b'{"x": "\\ud800"}',
    "a lone surrogate as a key": b'{"\\udfff": 1}',
    "bad UTF-8": b'{"x": "\xff\xfe"}',
    "UTF-16": '{"x": 1}'.encode("utf-16"),
    "1,000 brackets": b"[" * 1_000,
    "700 levels": b"[" * 700 + b"]" * 700,
    "700 levels in an object": b'{"x": ' + b"[" * 700 + b"]" * 700 + b"}",
}
"""Each is refused with 400."""
NOT_AN_OBJECT: tuple[Any, ...] = (None, True, 1, "x", [], [{}])
"""Each is refused with 400: every body is an object."""
STRANGE: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**31, 2**63, 2**64, 10**300, 0.5, -1e308),
    *("", " ", "\0", "a\0b", "\u202e<b>&'\"", "..", "a/b", "x" * 1_500, "\U0001f3e0", "9999-12-31T23:59:59-14:00"),
    *([], [None], ["x", "x"], [[]], [an_id(999)], ["\0"], list(range(300)), {}, {"x": 1}, {"": None}),
)
"""Values for every field of every body."""
STRANGE_IDS = (
    "%00",
    "a%00b",
    "a%2Fb",
    "%2e%2e",
    "%25",
    "%F0%9F%8F%A0",
    "x" * 5_000,
    "a'%20OR%201=1--",
    "-1",
    "null",
    an_id(999),
)
STRANGE_PARAMETERS = (
    *("", " ", "\0", "a\0b", "null", "true", "-1", "0", "0.5", "NaN", "inf", "1e400", str(2**63), "9" * 5_000, "x" * 5_000),
    *("\u0664", "9999-12-31T23:59:59-14:00", "0000-00-00", "2026-02-30", "%", "../..", "[]", an_id(999)),
)
STRANGE_QUERIES = ("?x=1", "?x=%ff", "?%00=1", "?=", "?&&&", "?" + "x=1&" * 2_000)
STRANGE_HEADERS = (b"", b"x" * 5_000, b"a\tb", b"\xff", b'"', b'*,"",W/')


class Attack(NamedTuple):
    """The operations of a surface with the examples that are changed."""

    surface: Surface
    path_of: Callable[[Operation, dict[str, str]], str]
    """Returns the path of an operation. The dict has ids that replace those of the example."""
    bodies: Mapping[str, dict[str, Any]]
    skipped: frozenset[str] = frozenset()
    share: int = 1
    """One in this many values is sent for each field. The first one differs, so that all values are sent somewhere."""


class _Request(NamedTuple):
    name: str
    path: str
    content: bytes | None
    headers: Mapping[str, str | bytes] = {}
    statuses: Collection[int] = ()
    """The statuses that are allowed. Empty: success, and every refusal that the operation lists."""


async def send_hostile_requests(api: TokenApi, attack: Attack) -> list[str]:
    """Send the requests and check the answers. Returns the failures, one for each operation and cause."""
    sent, failures = 0, dict[str, str]()
    for operation in attack.surface.operations:
        if operation.id in attack.skipped:
            continue
        refusals = errors_of(operation, attack.surface).keys() - _IMPOSSIBLE
        allowed = {operation.status, *refusals, *([304] if operation.has_etag else [])}
        for request in _requests(operation, attack):
            if sent % _REQUESTS_A_MINUTE == 0:
                api.env.clock.advance(_MINUTE)
            sent += 1
            answer = await api.send(operation.method, request.path, content=request.content, headers=dict(request.headers))
            if cause := _find_failure(answer, request.statuses or allowed):
                failures.setdefault(f"{operation.id}: {cause}", f"{request.name[:100]}: {answer.text[:300]}")
    return [f"{what} ({first})" for what, first in failures.items()]


def _find_failure(answer: httpx.Response, allowed: Collection[int]) -> str:
    if answer.status_code not in allowed:
        return f"the answer is {answer.status_code}"
    if answer.status_code < 400:
        return ""
    detail = problem(answer, answer.status_code)
    if len(detail) > LONGEST_DETAIL:
        return "the text is too long"
    return "" if detail.endswith((".", "`")) else "the text is not a sentence"


def _requests(operation: Operation, attack: Attack) -> Iterator[_Request]:
    path = attack.path_of(operation, {})
    example = attack.bodies.get(operation.id)
    content = None if example is None else json.dumps(example).encode()
    for number, name in enumerate(operation.parameters):
        for text in STRANGE_IDS[(len(path) + number) % attack.share :: attack.share]:
            yield _Request(f"{name} is {text[:30]}", attack.path_of(operation, {name: text}), content)
    if operation.query is not None:
        yield from _queries(operation, path, content, attack.share)
    if operation.header is not None:
        for value in STRANGE_HEADERS:
            yield _Request(f"header {value[:30]!r}", path, content, {operation.header.name: value})
    if example is not None:
        yield from _bodies(operation, path, example, attack.share)


def _queries(operation: Operation, path: str, content: bytes | None, share: int) -> Iterator[_Request]:
    plain = path.partition("?")[0]
    for query in STRANGE_QUERIES:
        yield _Request(f"query {query[:30]}", plain + query, content)
    for number, field in enumerate(msgspec.structs.fields(operation.query)):
        name = field.encode_name
        yield _Request(f"{name} twice", f"{plain}?{name}=1&{name}=1", content)
        for text in STRANGE_PARAMETERS[number % share :: share]:
            yield _Request(f"{name} is {text[:30]!a}", f"{plain}?{name}={quote(text)}", content)


def _bodies(operation: Operation, path: str, example: dict[str, Any], share: int) -> Iterator[_Request]:
    for name, content in NOT_JSON.items():
        yield _Request(name, path, content, statuses=(400,) if len(content) < 1_500 else (400, 413))
    for value in NOT_AN_OBJECT:
        yield _Request(repr(value), path, json.dumps(value).encode(), statuses=(400,))
    whole = json.dumps(example).encode()
    yield _Request("another type", path, whole, {"content-type": "text/plain"}, statuses=(415,))
    yield _Request("an unknown field", path, json.dumps(example | {"unknownField": 1}).encode(), statuses=(400,))
    limit = operation.max_body or 70_000
    yield _Request("a huge string", path, b'{"x": "' + b"x" * limit + b'"}', statuses=(413,))
    yield _Request("a huge array", path, b'{"x": [' + b"0," * (limit // 2) + b"0]}", statuses=(413,))
    for number, where in enumerate(_places(operation, example)):
        for value in STRANGE[number % share :: share]:
            yield _Request(
                f"{'.'.join(where)} is {ascii(value)[:40]}", path, json.dumps(_replaced(example, where, value)).encode()
            )


def _places(operation: Operation, example: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The fields of the body, and the fields of objects in the example."""
    known = [field.encode_name for field in msgspec.structs.fields(operation.body)] if isinstance(operation.body, type) else []
    for name in dict.fromkeys([*known, *example]):
        yield (name,)
        if isinstance(example.get(name), dict):
            yield from ((name, inner) for inner in example[name])


def _replaced(body: dict[str, Any], where: tuple[str, ...], value: Any) -> dict[str, Any]:
    name, *rest = where
    return body | {name: _replaced(body[name], tuple(rest), value) if rest else value}
