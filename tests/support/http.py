"""Two HTTP clients: `Api`, an ordinary client, and `raw_exchange`, which sends any bytes.

httpx normalises its requests (paths, repeated headers, Host). Use `raw_exchange` where that matters.
"""

import http.client
import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import httpx

from support.spec_operations import Operation, Target
from support.spec_schemas import check_body, check_error

KEY_HEADER = "Ocp-Apim-Subscription-Key"
PATIENCE = 60.0
"""Seconds. It is long because a busy machine may pause; successful calls do not wait for it."""
_TRACES = ("Traceback", 'File "', ".py", "site-packages", "sqlalchemy", "sqlite", "msgspec", "<class ", " at 0x")


def client(base_url: str) -> httpx.Client:
    """An httpx client without proxies and redirects, with a timeout."""
    return httpx.Client(base_url=base_url, trust_env=False, verify=False, timeout=PATIENCE)


def async_client(base_url: str, **headers: str) -> httpx.AsyncClient:
    """As `client`, for tests with an event loop."""
    return httpx.AsyncClient(base_url=base_url, headers=headers, trust_env=False, timeout=PATIENCE)


class Api:
    """Calls operations as a correct application does."""

    def __init__(self, base_url: str, key: str) -> None:
        self.key = key
        self.http = client(base_url)

    def close(self) -> None:
        self.http.close()

    def send(
        self,
        operation: Operation,
        target: Target | None = None,
        *,
        token: str | None,
        key: str | None = "",
        path: str | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str | bytes] = MappingProxyType({}),
    ) -> httpx.Response:
        """One call. `key=None` and `token=None` omit the header; `key=""` uses the gateway's key."""
        sent = {name: value.encode() if isinstance(value, str) else value for name, value in headers.items()}
        names = {name.lower() for name in sent}
        if key is not None and KEY_HEADER.lower() not in names:
            sent[KEY_HEADER] = (key or self.key).encode()
        if token is not None and "authorization" not in names:
            sent["Authorization"] = f"Bearer {token}".encode()
        content = operation.body if body is None else body
        if content is not None and "content-type" not in names:
            sent["Content-Type"] = b"application/json"
        url = operation.url(target or {}) if path is None else path
        return self.http.request(
            operation.method, url, headers={name.encode(): value for name, value in sent.items()}, content=content
        )


@contextmanager
def case(what: object) -> Iterator[None]:
    """Adds the name of the case to a failure. For hundreds of cases this is faster than one test for each case."""
    try:
        yield
    except Exception as failure:
        failure.add_note(f"The case is {what!r}.")
        raise


def expect_ok(operation: Operation, answer: httpx.Response) -> Any:
    """The JSON of a 200 that is valid by the specification's schema."""
    assert answer.status_code == 200, f"{operation} answered {answer.status_code}: {answer.text}"
    assert answer.headers["content-type"].split(";")[0] == "application/json"
    body = answer.json()
    check_body(operation.name, body)
    return body


def expect_refusal(operation: Operation, answer: "httpx.Response | RawAnswer", *statuses: int) -> Any:
    """The body of an error with one of these statuses, in the family's shape, without internal details."""
    assert answer.status_code in statuses, (
        f"{operation}: expected {' or '.join(map(str, statuses))}, got {answer.status_code}: {answer.text[:400]}"
    )
    assert answer.headers["content-type"].split(";")[0] == "application/json"
    body = answer.json()
    check_error(operation.shape, answer.status_code, body)
    for trace in _TRACES:
        assert trace not in answer.text, f"{operation} tells about its insides: {answer.text[:400]}"
    if answer.status_code == 401:
        assert answer.headers.get("www-authenticate"), f"{operation}: a 401 without WWW-Authenticate"
    assert answer.headers.get("x-request-id"), f"{operation}: no X-Request-Id"
    return body


def expect_nothing(operation: Operation, answer: httpx.Response) -> None:
    """Check a 204: no body and no headers of a body."""
    assert answer.status_code == 204, f"{operation} answered {answer.status_code}: {answer.text}"
    assert answer.content == b""
    assert "content-type" not in answer.headers
    assert answer.headers.get("content-length", "0") == "0"


def message_of(operation: Operation, body: Any) -> str:
    """The message of an error, in either shape."""
    if operation.shape == "A":
        return " ".join(f"{error['userMessage']} {error['internalMessage']}" for error in body["errors"])
    return str(body["message"])


@dataclass(frozen=True)
class RawAnswer:
    """An answer as received."""

    status_code: int
    reason: str
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        return json.loads(self.content)


def connect(base_url: str, timeout: float = PATIENCE) -> socket.socket:
    parts = urlsplit(base_url)
    assert parts.hostname is not None
    return socket.create_connection((parts.hostname, parts.port or 80), timeout=timeout)


def host_of(base_url: str) -> str:
    return urlsplit(base_url).netloc


def request_bytes(method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes = b"") -> bytes:
    """Send these bytes without any change."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def read_answer(connection: socket.socket, method: str = "GET") -> RawAnswer:
    """Raises http.client.HTTPException or OSError when the server closed the connection."""
    response = http.client.HTTPResponse(connection, method=method)
    try:
        response.begin()
        return RawAnswer(response.status, response.reason, response.headers, response.read())
    finally:
        response.close()


def raw_exchange(base_url: str, request: bytes, *, method: str = "GET", timeout: float = PATIENCE) -> RawAnswer:
    with connect(base_url, timeout) as connection:
        connection.sendall(request)
        return read_answer(connection, method)


def raw_call(
    api: Api,
    operation: Operation,
    target: str,
    *,
    token: str | None,
    method: str | None = None,
    extra: Sequence[tuple[str, str]] = (),
    body: bytes | None = None,
) -> RawAnswer:
    """A complete request whose request target is not normalised."""
    base_url = str(api.http.base_url)
    content = operation.body if body is None else body
    headers = [("Host", host_of(base_url)), (KEY_HEADER, api.key), ("Connection", "close")]
    if token is not None:
        headers.append(("Authorization", f"Bearer {token}"))
    if content is not None:
        headers += [("Content-Type", "application/json"), ("Content-Length", str(len(content)))]
    verb = operation.method if method is None else method
    return raw_exchange(base_url, request_bytes(verb, target, [*headers, *extra], content or b""), method=verb)
