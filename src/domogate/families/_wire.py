"""Makes the answers of the families, and prints times and numbers for them."""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from domogate.common.http_messages import Answer
from domogate.common.times import LATEST
from domogate.domain.ids import DASHED_UUID, HEX32
from domogate.domain.states import State

# Schemas of the contract's strings.
Uuid = Annotated[str, Meta(pattern=DASHED_UUID.pattern, extra_json_schema={"format": "uuid"})]
Hex32 = Annotated[str, Meta(pattern=HEX32.pattern, min_length=32, max_length=32)]

_JSON = (b"content-type", b"application/json")
_NO_STORE = (b"cache-control", b"no-store")
_REVALIDATE = (b"cache-control", b"private, no-cache")

encode = msgspec.json.Encoder().encode


def json_answer(model: object, status: int = 200) -> Answer:
    """Return a JSON answer that clients must not cache."""
    body = encode(model)
    return Answer(status, body, [_JSON, (b"content-length", b"%d" % len(body)), _NO_STORE])


def document_answer(body: bytes, media_type: str) -> Answer:
    return Answer(
        200, body, [(b"content-type", media_type.encode("latin-1")), (b"content-length", b"%d" % len(body)), _NO_STORE]
    )


EMPTY_ANSWER = Answer(200, b"", [(b"content-length", b"0"), _NO_STORE])
"""The answer 200 without a body, for commands (E1, E5, X1, X2, X8)."""


def nothing_found() -> Answer:
    """Return 204: there is nothing to list (Spec 7)."""
    return Answer(204, b"", [])


def cached_answer(encodings: dict[str, Any], key: str, build: Callable[[], object]) -> Answer:
    """Return 200 with an ETag. The body is the result of `build`, as JSON.

    The answer is cached in `encodings` under `key`. If it is cached already, `build` is not called.
    """
    answer: Answer | None = encodings.get(key)
    if answer is None:
        body = encode(build())
        etag = b'"' + hashlib.sha256(body).hexdigest()[:32].encode() + b'"'
        headers = [_JSON, (b"content-length", b"%d" % len(body)), _REVALIDATE, (b"etag", etag)]
        answer = encodings[key] = Answer(200, body, headers, etag, Answer(304, b"", [_REVALIDATE, (b"etag", etag)]))
    return answer


def find_state_answer(encodings: dict[str, Any], key: str, state: State, time: str = "") -> Answer | None:
    """Return the answer that `keep_state_answer` cached for this state and time.

    Return None if there is no such answer. Then the caller makes the answer with `keep_state_answer`.
    """
    cached: tuple[State, str, Answer] | None = encodings.get(key)
    return cached[2] if cached is not None and cached[0] is state and cached[1] == time else None


def keep_state_answer(encodings: dict[str, Any], key: str, state: State, model: object, time: str = "") -> Answer:
    """Return 200 with a body that shows a state. The answer is cached in `encodings` until the next call with the same `key`.

    `time` is the time that the body shows besides the state. It is empty if the body shows no such time.
    """
    answer = json_answer(model)
    encodings[key] = (state, time, answer)
    return answer


@lru_cache(maxsize=128)
def _zone(offset_minutes: int) -> timezone:
    return timezone(timedelta(minutes=offset_minutes))


def print_time(at: float, offset_minutes: int = 0) -> str:
    """Print a time in ISO 8601 with seconds and a UTC offset such as +01:00 (Spec 2.8)."""
    return _print_second(int(at), offset_minutes)


@lru_cache(maxsize=4096)
def _print_second(at: int, offset_minutes: int) -> str:
    # This is cached, because many answers contain the same time: the present second, or the time of a reading.
    # In the last hours of the year 9999, local time may be in a year that cannot be printed.
    at = min(at, int(LATEST) - max(0, offset_minutes * 60))
    return datetime.fromtimestamp(at, _zone(offset_minutes)).isoformat()


def print_local_time(at: float, offset_minutes: int) -> str:
    """Print YYYY-MM-DDThh:mm:ss in the local time of the device (Spec 2.8)."""
    return print_time(at, offset_minutes)[:19]


def print_date_time(at: float) -> str:
    """Print an RFC 3339 date-time in UTC (Spec 2.15)."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def print_number(value: float) -> str:
    """Print a number with at most two decimals and without trailing zeros."""
    return f"{value:.2f}".rstrip("0").removesuffix(".")
