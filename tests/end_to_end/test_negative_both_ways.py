"""Refused requests: the connection and ASGI answer in the same way.

The connection answers GET and POST requests directly. A request whose target is a whole URL goes through ASGI.
"""

from collections.abc import Iterator

import pytest

from support.gateway import Gateway
from support.http import KEY_HEADER, RawAnswer, case, host_of, raw_exchange, request_bytes
from support.spec_operations import OPERATIONS, POSTS, Operation

pytestmark = pytest.mark.slow

NOWHERE = "00000000-0000-4000-8000-000000000000"
READS = [operation for operation in OPERATIONS if operation.method == "GET"]
Headers = list[tuple[str, str]]
Comparable = tuple[int, Headers, bytes]
BODIES = (
    b"",
    b" ",
    b"null",
    b"[]",
    b"{",
    b"{}",
    b'{"status":"on","status":"off"}',
    b'{"status":"x"}',
    b'{"status":1}',
    b"\xff",
)
TYPES = ("text/plain", "application/json; charset=latin-1", "application/x-www-form-urlencoded")


def ask(gateway: Gateway, target: str, headers: Headers, body: bytes | None = None) -> RawAnswer:
    base_url = str(gateway.api.http.base_url)
    sent: Headers = [("Host", host_of(base_url)), ("Connection", "close"), *headers]
    if body is None:
        return raw_exchange(base_url, request_bytes("GET", target, sent))
    return raw_exchange(base_url, request_bytes("POST", target, [*sent, ("Content-Length", str(len(body)))], body))


def ask_both(gateway: Gateway, path: str, headers: Headers, body: bytes | None = None) -> tuple[Comparable, Comparable]:
    whole_url = f"http://{host_of(str(gateway.api.http.base_url))}{path}"
    return comparable(ask(gateway, path, headers, body)), comparable(ask(gateway, whole_url, headers, body))


def list_refused(gateway: Gateway, operation: Operation) -> Iterator[tuple[str, str, Headers]]:
    """Yields a name, a path and the headers of each request."""
    who, target = gateway.case(operation)
    person, path = gateway.people[who], operation.url(target)
    key, token = (KEY_HEADER, gateway.api.key), ("Authorization", f"Bearer {person.token_for(operation)}")
    yield "no key", path, [token]
    yield "two keys", path, [key, key, token]
    yield "unknown key", path, [(KEY_HEADER, "x" * 32), token]
    yield "long key", path, [(KEY_HEADER, "x" * 5_000), token]
    yield "no token", path, [key]
    yield "empty token", path, [key, ("Authorization", "Bearer ")]
    yield "two tokens", path, [key, token, token]
    yield "changed token", path, [key, ("Authorization", f"{token[1][:-4]}AAAA")]
    yield "text as token", path, [key, ("Authorization", "Basic bm90OnRoaXM=")]
    other = person.id_token if operation.token == "access" else person.access_token
    yield "other kind of token", path, [key, ("Authorization", f"Bearer {other}")]
    stranger = gateway.people[gateway.nobody].token_for(operation)
    yield "person without plants", path, [key, ("Authorization", f"Bearer {stranger}")]
    yield "no such path", f"{path}/more", [key, token]
    yield "encoded slash", path.replace("/", "%2f", 3).replace("%2f", "/", 2), [key, token]
    for role in target:
        yield f"unknown {role}", operation.url({**target, role: NOWHERE}), [key, token]
        yield f"malformed {role}", operation.url({**target, role: "not-an-id"}), [key, token]
    yield "other media type", path, [key, token, ("Accept", "text/html")]


def comparable(answer: RawAnswer) -> Comparable:
    changing = ("date", "x-request-id")
    headers = [(name.lower(), value) for name, value in answer.headers.items() if name.lower() not in changing]
    return answer.status_code, headers, answer.content


@pytest.mark.parametrize("operation", READS, ids=str)
def test_a_refused_read_has_the_same_answer_on_both_ways(demo: Gateway, operation: Operation) -> None:
    refused = 0
    for name, path, headers in list_refused(demo, operation):
        with case(name):
            direct, asgi = ask_both(demo, path, headers)
            if direct[0] >= 400:  # Some requests are not refused: not every operation checks the Accept header.
                refused += 1
                assert direct == asgi
            else:
                assert direct[0] == asgi[0]
    assert refused >= 10


@pytest.mark.parametrize("operation", POSTS, ids=str)
def test_a_refused_post_has_the_same_answer_on_both_ways(demo: Gateway, operation: Operation) -> None:
    who, target = demo.case(operation)
    path = operation.url(target)
    good = [(KEY_HEADER, demo.api.key), ("Authorization", f"Bearer {demo.people[who].token_for(operation)}")]
    asked = [(name, path, headers, b"{") for name, path, headers in list_refused(demo, operation)]
    asked += [(repr(body), path, good, body) for body in BODIES]
    asked += [(kind, path, [*good, ("Content-Type", kind)], operation.body or b"") for kind in TYPES]
    asked += [(f"{size} bytes", path, good, b" " * size) for size in (16_384, 16_385, 65_536, 65_537)]
    refused = set()
    for name, sent_to, headers, body in asked:
        with case(name):
            direct, asgi = ask_both(demo, sent_to, headers, body)
            assert direct == asgi
            refused.add(direct[0])
    assert refused > {400, 401, 404, 413}


def test_a_refused_token_request_has_the_same_answer_on_both_ways(demo: Gateway) -> None:
    form = [("Content-Type", "application/x-www-form-urlencoded")]
    statuses = set()
    for name, headers, body in (
        ("no fields", form, b""),
        ("no client", form, b"grant_type=refresh_token&refresh_token=x"),
        ("unknown client", form, b"grant_type=refresh_token&refresh_token=x&client_id=nobody"),
        ("unknown grant type", form, b"grant_type=password&client_id=nobody"),
        ("repeated field", form, b"grant_type=refresh_token&grant_type=refresh_token"),
        ("JSON", [("Content-Type", "application/json")], b"{}"),
        ("malformed Basic", [*form, ("Authorization", "Basic ???")], b"grant_type=refresh_token&refresh_token=x"),
        ("two ways to authenticate", [*form, ("Authorization", "Basic YTpi")], b"grant_type=refresh_token&client_secret=x"),
        ("too long", form, b"x=" + b"y" * 65_536),
    ):
        with case(name):
            direct, asgi = ask_both(demo, "/auth/token", headers, body)
            assert direct == asgi
            statuses.add(direct[0])
    assert statuses == {400, 401, 413}


def test_a_refused_ticket_has_the_same_answer_on_both_ways(demo: Gateway) -> None:
    statuses = set()
    for body in (*BODIES, b'{"ticket":"x"}', b'{"ticket":"a.b.c"}', b'{"ticket":"%b"}' % (b"x" * 65_536)):
        with case(repr(body[:30])):
            direct, asgi = ask_both(demo, "/tickets/redeem", [], body)
            assert direct == asgi
            statuses.add(direct[0])
    assert statuses == {400, 401, 413}
