"""Parses times, durations and time zones that people write on the command line and in queries of the APIs."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_DURATION = re.compile(r"(\d{1,9})([smhd]?)", re.ASCII).fullmatch
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
# At least nine digits: 20261115 is refused, because the writer probably means a day.
_EPOCH = re.compile(r"\d{9,11}(\.\d{1,9})?", re.ASCII).fullmatch
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII).fullmatch
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)", re.ASCII).fullmatch

EARLIEST = -62_135_596_800.0
"""0001-01-01T00:00:00Z. An earlier time cannot be printed."""
LATEST = 253_402_300_799.0
"""9999-12-31T23:59:59Z. A later time cannot be printed, so `parse_time` refuses it."""
LATEST_LOCAL = LATEST - 86_400.0
"""A time up to this one can be printed with every UTC offset."""
LONGEST_DURATION = 366_000 * 86_400.0

SHORTEST_SPAN, LONGEST_SPAN = 60.0, 366 * 86_400.0


def parse_duration(text: str) -> float:
    """Return the seconds of '90d', '12h', '30m', '45s' or '45'. Raises ValueError with a message for a person."""
    parts = _DURATION(text)
    if not parts or int(parts[1]) == 0:
        raise ValueError(f"{text!r} is not a duration; write it as 90d, 12h, 30m or 45s.")
    seconds = int(parts[1]) * _SECONDS[parts[2]]
    if seconds > LONGEST_DURATION:
        raise ValueError(f"{text!r} is too long; a duration has at most {LONGEST_DURATION / 86_400:.0f}d.")
    return seconds


def parse_time_zone(name: str) -> tzinfo:
    """Return a zone of the IANA database. Raises ValueError with a message for a person."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is not a known time zone; write a name such as Europe/Rome.") from None


def find_time_zone(name: str | None) -> tzinfo | None:
    """Return a zone of the IANA database, or None if the database of this machine does not have the zone.

    This can happen if the name was chosen on a machine with a newer database. If `name` is None, return None.
    """
    try:
        return None if name is None else parse_time_zone(name)
    except ValueError:
        return None


def parse_time(text: str) -> float:
    """Return the seconds since the epoch for an ISO 8601 time, a day (UTC) or a number of seconds.

    A number has at least nine digits before the point. Raises ValueError with a message for a person.
    """
    if _EPOCH(text):
        return float(text)
    try:
        if _DAY(text):
            return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
        if _ISO(text) and EARLIEST <= (at := datetime.fromisoformat(text).timestamp()) <= LATEST:
            return at
    except (ValueError, OverflowError):  # for example the 31st of February
        pass
    raise ValueError(
        f"{text!r} is not a time; write it as 2026-11-15T08:30:00Z (or with an offset, whose + is %2B in a URL), "
        "as 2026-11-15, or as seconds since the epoch."
    )


def parse_local_time(text: str, *, end: bool = False) -> float:
    """Return the seconds since the epoch for a text.

    The text is an ISO 8601 time, a day in this machine's time zone, or a number of seconds.

    For a day, the result is the beginning of the day, or its end if `end` is true. Raises ValueError with a message for a
    person.
    """
    parsed = parse_time(text)
    if not _DAY(text):
        return parsed
    try:
        return (datetime.fromisoformat(text) + timedelta(days=int(end))).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{text!r} is too early or too late.") from None


def parse_resolution(text: str) -> float:
    """Return the seconds of a resolution such as '1h': the length of the period that one summary of readings covers.

    Raises ValueError with a message for a person.
    """
    seconds = parse_duration(text)
    if not SHORTEST_SPAN <= seconds <= LONGEST_SPAN:
        raise ValueError(f"{text!r} is not a resolution; it must be from 1m to 366d.")
    return seconds
