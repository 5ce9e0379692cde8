"""Refused reads: the connection and ASGI answer in the same way.

The connection answers a GET request directly. A request whose target is a whole URL goes through ASGI.
"""

from collections.abc import Iterator

import pytest

from support.gateway import Gateway
from support.http import KEY_HEADER, RawAnswer, case, host_of, raw_exchange, request_bytes
from support.spec_operations import OPERATIONS, Operation

pytestmark = pytest.mark.slow

NOWHERE = "00000000-0000-4000-8000-000000000000"
READS = [operation for operation in OPERATIONS if operation.method == "GET"]
Headers = list[tuple[str, str]]


def ask(gateway: Gateway, target: str, headers: Headers) -> RawAnswer:
    base_url = str(gateway.api.http.base_url)
    sent: Headers = [("Host", host_of(base_url)), ("Connection", "close"), *headers]
    return raw_exchange(base_url, request_bytes("GET", target, sent))


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


def comparable(answer: RawAnswer) -> tuple[int, list[tuple[str, str]], bytes]:
    changing = ("date", "x-request-id")
    headers = [(name.lower(), value) for name, value in answer.headers.items() if name.lower() not in changing]
    return answer.status_code, headers, answer.content


@pytest.mark.parametrize("operation", READS, ids=str)
def test_a_refused_read_has_the_same_answer_on_both_ways(demo: Gateway, operation: Operation) -> None:
    refused = 0
    for name, path, headers in list_refused(demo, operation):
        with case(name):
            whole_url = f"http://{host_of(str(demo.api.http.base_url))}{path}"
            direct, asgi = comparable(ask(demo, path, headers)), comparable(ask(demo, whole_url, headers))
            if direct[0] >= 400:  # Some requests are not refused: not every operation checks the Accept header.
                refused += 1
                assert direct == asgi
            else:
                assert direct[0] == asgi[0]
    assert refused >= 10
