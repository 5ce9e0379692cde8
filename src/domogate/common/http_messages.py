"""A request and its answer, as the HTTP server and the families exchange them."""

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

import msgspec

Header = tuple[bytes, bytes]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Request(msgspec.Struct):
    """A request, without the parts of ASGI."""

    method: str
    raw_path: bytes
    """The path as it was sent, with percent-encoded bytes and without the query."""
    headers: Sequence[Header]
    """The names are in lower case."""
    address: str
    """The IP address that the request came from. It is empty if it is not known."""
    receive: Receive | None = None
    """Returns the body in pieces, as in ASGI. It is None if the whole body has already arrived."""
    query: bytes = b""
    body: bytes = b""
    """The whole body, if `receive` is None."""
    notes: dict[str, Any] = {}
    """Results that depend only on method, path and headers. Requests whose header sections have the same bytes share notes."""
    operation: str = ""
    """The id of the operation ('E8'). The family sets it when it has found the operation."""


class Answer(msgspec.Struct):
    """The answer to a request: its status, its headers and its encoded body."""

    status: int
    body: bytes
    headers: list[Header]
    etag: bytes | None = None
    not_modified: "Answer | None" = None
    """The answer 304 for a client that has this answer already. An answer with an ETag has it."""
    printed_headers: bytes = b""
    """The headers as bytes. The HTTP server sets them, so that an answer that is sent again is not printed again."""


class BodyTooLong(Exception):
    """The body is longer than allowed. The rest of it is not read."""


class BodyIncomplete(Exception):
    """The client disconnected before it had sent the whole body."""


async def read_body(request: Request, limit: int) -> bytes:
    """Return the whole body. Raises BodyTooLong, BodyIncomplete."""
    if request.receive is not None:
        declared_length = next((value for name, value in request.headers if name == b"content-length"), None)
        return await receive_body(request.receive, declared_length, limit)
    if len(request.body) > limit:
        raise BodyTooLong
    return request.body


async def receive_body(receive: Receive, declared_length: bytes | None, limit: int) -> bytes:
    """Return the whole body. `declared_length` is the value of Content-Length. Raises BodyTooLong, BodyIncomplete."""
    if declared_length is not None and declared_length.isdigit() and int(declared_length) > limit:
        raise BodyTooLong
    pieces: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BodyIncomplete
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > limit:
            raise BodyTooLong
        more = message.get("more_body", False)
    return b"".join(pieces)
