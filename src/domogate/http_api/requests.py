"""Reads bodies and queries, with a size limit and strict rules. Unknown fields and parameters are refused."""

from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from domogate.common.http_messages import BodyIncomplete, BodyTooLong, Request, find_header, find_headers, receive_body
from domogate.common.strict_json import JsonRefused, parse_json
from domogate.common.times import LATEST, parse_time
from domogate.domain.ids import DASHED_UUID, Id
from domogate.http_api.problems import Problem
from domogate.wire import InputModel, given_fields

_DAY = 86_400.0

T = TypeVar("T")
Q = TypeVar("Q", bound=msgspec.Struct)


async def read_body(request: Request, to: type[T], limit: int) -> T:
    """Return the body as an object of the type `to`. Raises Problem if the body is too long or not as expected."""
    _check_content_type(find_header(request, b"content-type"))
    body = await _receive(request, limit)
    try:
        return _convert(parse_json(body), to, strict=True, what="body")
    except JsonRefused as refused:
        raise Problem(400, f"The body {refused}.") from None


def read_query(query: bytes, to: type[Q]) -> Q:
    """Return the query as an object of the type `to`. Raises Problem if the query is not as expected.

    Only parameters of type tuple may be repeated.
    """
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict")
    except UnicodeError:
        raise Problem(400, "The query must be percent-encoded UTF-8.") from None
    repeatable = _repeatable_parameters(to)
    found: dict[str, Any] = {name: [] for name in repeatable}
    for name, value in pairs:
        if name in repeatable:
            found[name].append(value)
        elif name in found:
            raise Problem(400, f"The query parameter {name} occurs more than once.")
        else:
            found[name] = value
    return _convert(found, to, strict=False, what="query")


@cache
def _repeatable_parameters(query: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(field.encode_name for field in msgspec.structs.fields(query) if field.default == ())


def read_header(request: Request, name: str) -> str | None:
    """Return the value of a header, or None if it is missing. Raises Problem if the header occurs more than once."""
    sent = find_headers(request, name.lower().encode())
    if len(sent) > 1:
        raise Problem(400, f"The header {name} occurs more than once.")
    return sent[0].decode("latin-1") if sent else None


def read_id(where: str, name: str, text: str) -> Id:
    """Parse an id in a query or a body. Raises Problem for a text that is not an id."""
    found = DASHED_UUID.parse_id(text)
    if found is None:
        raise not_as_expected(where, f"{name} must be {DASHED_UUID.name}")
    return found


def read_optional_id(where: str, name: str, text: str | None) -> Id | None:
    return None if text is None else read_id(where, name, text)


def read_change(body: InputModel, field: str, name: str) -> dict[str, Any]:
    """Return the fields that the body contains.

    `field` is the name of one field whose value must be an id or null. Raises Problem if the value is something
    else. `name` is the name of this field in JSON; the Problem contains it.
    """
    fields = given_fields(body)
    if field in fields:
        fields[field] = read_optional_id("body", name, fields[field])
    return fields


def read_time(name: str, moment: datetime | None) -> float | None:
    """Return a time of a body in seconds since the epoch, or None for None.

    Raises Problem if the time is so far in the future that an answer could not print it.
    """
    at = None if moment is None else moment.timestamp()
    if at is not None and at > LATEST:
        raise not_as_expected("body", f"{name} must be before the year 10000 in UTC")
    return at


def parse_parameter(name: str, parse: Callable[[str], T], text: str) -> T:
    """Parse a query parameter with `parse`. A ValueError of `parse` becomes a Problem with the same text."""
    try:
        return parse(text)
    except ValueError as error:
        raise Problem(400, f"The query is not as expected: {name}: {error}") from None


def read_query_time(name: str, text: str | None) -> float | None:
    return None if text is None else parse_parameter(name, parse_time, text)


def read_period(since: str | None, until: str | None, now: float) -> tuple[float, float]:
    """Return the start and the end of the period.

    If `until` is None, the period ends now. If `since` is None, it begins one day before its end. Raises Problem if a time
    cannot be parsed.
    """
    end = now if until is None else parse_parameter("until", parse_time, until)
    return end - _DAY if since is None else parse_parameter("since", parse_time, since), end


def not_as_expected(where: str, reason: object) -> Problem:
    return Problem(400, f"The {where} is not as expected: {reason}.")


async def _receive(request: Request, limit: int) -> bytes:
    try:
        return await receive_body(request, limit)
    except BodyTooLong:
        raise Problem(413, f"The body is larger than {limit} bytes.") from None
    except BodyIncomplete:
        raise Problem(400, "The request ended before its body was complete.") from None


def _check_content_type(value: str | None) -> None:
    """Raise Problem (415) if the header names a content type other than JSON in UTF-8. A missing header is accepted."""
    media_type, _, parameters = (value or "application/json").lower().partition(";")
    charset = parameters.replace(" ", "").replace('"', "")
    if media_type.strip() != "application/json" or charset not in ("", "charset=utf-8"):
        raise Problem(415, "Content-Type must be application/json in UTF-8.")


def _convert(value: Any, to: type[T], *, strict: bool, what: str) -> T:
    try:
        return msgspec.convert(value, to, strict=strict)
    except msgspec.ValidationError as error:
        raise not_as_expected(what, error) from None
