"""A request's body and parameters: bounded, strict, and nothing in them that nobody reads."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from domogate.common.strict_json import JsonRefused, parse_json
from domogate.http_api.problems import Problem

T = TypeVar("T")


async def read_body(request: Request, to: type[T], limit: int) -> T:
    """The body as `to`. Raises Problem."""
    _check_content_type(request.headers.get("content-type"))
    return _convert(_parse(await _receive(request, limit)), to, strict=True, what="body")


def read_query(request: Request, to: type[T]) -> T:
    """The query as `to`: each parameter once, none that is not known. Raises Problem."""
    pairs = request.query_params.multi_items()
    found: Mapping[str, str] = dict(pairs)
    if len(found) != len(pairs):
        raise Problem(400, "A query parameter is there more than once.")
    return _convert(found, to, strict=False, what="query")


async def _receive(request: Request, limit: int) -> bytes:
    too_large = Problem(413, f"The body is larger than {limit} bytes.")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise too_large
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > limit:
                raise too_large
    except ClientDisconnect:
        raise Problem(400, "The request ended before its body did.") from None
    return bytes(body)


def _check_content_type(value: str | None) -> None:
    """JSON, or not said at all."""
    media_type, _, parameters = (value or "application/json").lower().partition(";")
    charset = parameters.replace(" ", "").replace('"', "")
    if media_type.strip() != "application/json" or charset not in ("", "charset=utf-8"):
        raise Problem(415, "Content-Type must be application/json in UTF-8.")


def _parse(body: bytes) -> Any:
    try:
        return parse_json(body)
    except JsonRefused as refused:
        raise Problem(400, f"The body {refused}.") from None


def _convert(value: Any, to: type[T], *, strict: bool, what: str) -> T:
    try:
        return msgspec.convert(value, to, strict=strict)
    except msgspec.ValidationError as error:
        raise Problem(400, f"The {what} is not as expected: {error}.") from None
