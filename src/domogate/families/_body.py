"""Reads the body of a request as strict JSON, up to a size limit. msgspec checks the types."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeVar

import msgspec

from domogate.common import strict_json
from domogate.domain.faults import BodyTooLarge, MalformedRequest

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
T = TypeVar("T")


async def read_body(receive: Receive, declared_length: bytes | None, limit: int) -> bytes:
    """Read the whole body. Raises BodyTooLarge when it is larger than the limit, sent with a length or in chunks."""
    if declared_length is not None and declared_length.isdigit() and int(declared_length) > limit:
        raise _too_large(limit)
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        if len(body) > limit:
            raise _too_large(limit)
        return body
    chunks, size = [body], len(body)
    while message.get("more_body", False):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise MalformedRequest("the request ended before its body was complete")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        chunks.append(chunk)
    return b"".join(chunks)


def check_content_type(value: bytes | None) -> None:
    """Accept a JSON media type or no Content-Type (Spec 4: Content-Type is optional)."""
    if not value:
        return
    media_type, *parameters = (part.strip() for part in value.lower().split(b";"))
    if media_type != b"application/json" and not (media_type.startswith(b"application/") and media_type.endswith(b"+json")):
        raise MalformedRequest("Content-Type must be application/json, or be left out")
    for parameter in parameters:
        name, _, charset = parameter.partition(b"=")
        if name == b"charset" and charset.strip(b'"') != b"utf-8":
            raise MalformedRequest("the body's charset must be utf-8")


def parse_json(body: bytes) -> Any:
    """Parse any JSON value strictly."""
    try:
        return strict_json.parse_json(body)
    except strict_json.JsonRefused as refused:
        raise MalformedRequest(f"the body {refused}") from None


def convert(value: Any, to: type[T]) -> T:
    """Convert a JSON value to the type of a body. The handler checks enumerations and ranges itself."""
    if not isinstance(value, dict):
        raise MalformedRequest("the body must be a JSON object")
    try:
        return msgspec.convert(value, to, strict=True)
    except msgspec.ValidationError as error:
        raise MalformedRequest(f"the body is not valid: {error}") from None


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body is larger than {limit} bytes")
