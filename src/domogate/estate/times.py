"""Times in ISO 8601 and in seconds since the epoch. The conversion loses no digit."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache

from domogate.common.times import LATEST

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d)))?", re.ASCII).fullmatch
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_TIMES = 1_000
"""The greatest number of cached times. In an export, many modules have the same times."""


@lru_cache(_MOST_TIMES)
def parse_time(text: str) -> float | None:
    """Return the time in seconds since the epoch.

    The text is a date, or a date and time with Z or a UTC offset. The year is from 1970 to 9999. Return None for any other
    text.
    """
    match = _MOMENT(text)
    if match is None:
        return None
    day, time, fraction, sign, hours, minutes = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{time or '00:00:00'}+00:00")
        seconds = round((moment - _EPOCH).total_seconds())
        if sign is not None:
            offset = parse_offset(f"{sign}{hours}:{minutes}")
            if offset is None:
                return None
            seconds -= offset * 60
    except ValueError:
        return None
    at = float(f"{seconds}.{fraction or 0}")
    return at if 0 <= at <= LATEST else None


def print_time(at: float) -> str:
    seconds, _, fraction = format(Decimal(repr(float(at))), "f").partition(".")
    moment = (_EPOCH + timedelta(seconds=int(seconds))).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{moment}.{fraction}Z" if fraction.strip("0") else f"{moment}Z"


def parse_offset(text: str) -> int | None:
    """Return the minutes of an offset such as '+01:00', or None if the text is not an offset."""
    match = re.fullmatch(r"([+-])(\d\d):([0-5]\d)", text, re.ASCII)
    if match is None or (minutes := int(match[2]) * 60 + int(match[3])) > 14 * 60:
        return None
    return -minutes if match[1] == "-" else minutes


def print_offset(minutes: int) -> str:
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"
