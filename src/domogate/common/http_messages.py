"""A request and its answer, as the HTTP server and the surfaces exchange them."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any

import msgspec

Header = tuple[bytes, bytes]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Request(msgspec.Struct):
    """A request in a form without ASGI, because direct requests do not use ASGI."""

    method: str
    raw_path: bytes
    """The path as it was sent, with percent-encoded bytes and without the query."""
    headers: Sequence[Header]
    """The names of the headers are in lower case."""
    address: str
    """The IP address that the request came from. It is empty if it is not known."""
    receive: Receive | None = None
    """Returns the body in pieces, as in ASGI. It is None if the whole body has already arrived."""
    query: bytes = b""
    body: bytes = b""
    """The whole body if `receive` is None, otherwise empty."""
    notes: dict[str, Any] = {}
    """What surfaces have computed from the method, the path and the headers. It is kept, so that it is computed only once.

    Direct requests with exactly the same method, URL and headers share one `notes`.
    """
    operation: str = ""
    """The name of the operation in the metrics, such as `E8`. The surface sets it when it has found the operation."""


class Answer(msgspec.Struct):
    """The answer to a request: its status, its headers and its encoded body."""

    status: int
    body: bytes
    headers: list[Header]
    etag: bytes | None = None
    not_modified: "Answer | None" = None
    """The answer 304, for a client that already has this answer. It is None if this answer has no ETag."""
    printed_headers: bytes = b""
    """The headers as bytes. The HTTP server sets this field. If the same answer is sent again, the server need not make the
    bytes again.
    """


class BodyTooLong(Exception):
    """The body is longer than allowed. The rest of it is not read."""


class BodyIncomplete(Exception):
    """The client disconnected before it had sent the whole body."""


def request_of(scope: Scope, receive: Receive) -> Request:
    """Return the request of an ASGI scope."""
    client = scope.get("client")
    address = client[0] if client else ""
    raw_path = scope.get("raw_path") or scope["path"].encode()
    return Request(scope["method"], raw_path, scope["headers"], address, receive, scope.get("query_string", b""))


async def send_answer(send: Send, answer: Answer) -> None:
    """Send the answer through ASGI."""
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
    await send({"type": "http.response.body", "body": answer.body})


def find_headers(request: Request, wanted: bytes) -> list[bytes]:
    """Return the values of all headers with the name `wanted`, which must be in lower case."""
    return [value for name, value in request.headers if name == wanted]


def find_header(request: Request, wanted: bytes) -> str | None:
    """Return the value of the first header with the name `wanted` (in lower case). Return None if there is no such header."""
    return next((value.decode("latin-1") for name, value in request.headers if name == wanted), None)


def join_header(headers: Sequence[Header], wanted: bytes) -> bytes | None:
    """Return the values of all headers with the name `wanted` (in lower case), joined by commas. Return None if there is none.

    A client or a proxy may write a list as several headers of the same name (RFC 9110 §5.3).
    """
    values = [value for name, value in headers if name == wanted]
    return b", ".join(values) if values else None


def matches_etag(if_none_match: bytes | None, etag: bytes | None) -> bool:
    """Whether If-None-Match is `*` or contains the ETag, by weak comparison (RFC 9110 §13.1.2)."""
    if if_none_match is None:
        return False
    given = [tag.strip().removeprefix(b"W/") for tag in if_none_match.split(b",")]
    return etag in given or given == [b"*"]


def make_answer(status: int, body: bytes, headers: Mapping[str, str], media_type: str | None = None) -> Answer:
    """Return an answer with these headers. The names in `headers` must be in lower case.

    Add the header content-length (not for 204 and 304), and the header content-type if `media_type` is given.
    """
    printed = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    if status not in (204, 304):
        printed.append((b"content-length", b"%d" % len(body)))
    if media_type is not None:
        printed.append((b"content-type", media_type.encode("latin-1")))
    return Answer(status, body, printed)


async def receive_body(request: Request, limit: int) -> bytes:
    """Return the whole body. Raises BodyTooLong if the body has more than `limit` bytes.

    Raises BodyIncomplete if the client disconnects before it has sent the whole body.
    """
    declared_length = next(iter(find_headers(request, b"content-length")), None)
    if declared_length is not None and declared_length.isdigit() and int(declared_length) > limit:
        raise BodyTooLong
    pieces, more = [request.body], request.receive is not None
    size = len(request.body)
    while more and size <= limit:
        assert request.receive is not None
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise BodyIncomplete
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        more = message.get("more_body", False)
    if size > limit:
        raise BodyTooLong
    return b"".join(pieces)
