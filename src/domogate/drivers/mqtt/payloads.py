"""Reads values from payloads."""

import math
from typing import Any

import msgspec

from domogate.domain.states import Battery


class Unreadable(Exception):
    """The payload cannot be decoded, so the message changes nothing."""


_decode = msgspec.json.Decoder().decode


def read_json(payload: bytes) -> Any:
    """Return any JSON value. Raises Unreadable if the payload is not JSON."""
    try:
        return _decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Unreadable("it is not JSON") from None


def read_object(payload: bytes) -> dict[str, Any]:
    """Return the JSON object in the payload. Raises Unreadable if the payload is not a JSON object."""
    value = read_json(payload)
    if not isinstance(value, dict):
        raise Unreadable("it is not a JSON object")
    return value


def read_text(payload: bytes) -> str:
    """Return the payload as text. Raises Unreadable if it is not UTF-8."""
    try:
        return payload.decode()
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None


def as_number(value: object) -> float | None:
    """Return the number, or None if the value is not a finite number. A boolean is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def as_text(value: object) -> str:
    """Return the text of a value, as in payloads and in the keys of the option `map`: for example `true`, `21.5` or `open`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def within(value: object, low: float, high: float) -> float | None:
    """Return the number, or None if the value is not a number within the limits."""
    number = as_number(value)
    return number if number is not None and low <= number <= high else None


def battery_of(percent: float) -> Battery:
    for least, word in ((90, Battery.FULL), (60, Battery.HIGH), (30, Battery.MEDIUM), (10, Battery.LOW)):
        if percent >= least:
            return word
    return Battery.VERY_LOW
