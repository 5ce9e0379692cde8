"""Reads times and durations from the command line. All functions raise Mistake for a text that they cannot read."""

from collections.abc import Callable

from domogate.cli._command import Mistake
from domogate.common import times

TIME_HELP = "2026-11-15T08:30:00Z, or a day (2026-11-15)"


def parse_duration(text: str) -> float:
    """Return the seconds of '90d', '12h', '30m', '45s' or '45'."""
    return _or_mistake(times.parse_duration, text)


def parse_time(text: str) -> float:
    """Return the seconds since the epoch for '2026-11-15T08:30:00Z', '2026-11-15' or a number of seconds."""
    return _or_mistake(times.parse_time, text)


def parse_resolution(text: str) -> float:
    """Return the seconds of a text such as '1h'. It must be from 1m to 366d."""
    return _or_mistake(times.parse_resolution, text)


def optional_duration(text: str | None) -> float | None:
    return None if text is None else parse_duration(text)


def optional_moment(text: str | None) -> float | None:
    return None if text is None else parse_time(text)


def optional_local_time(text: str | None, *, end: bool = False) -> float | None:
    """Parse a time, and return the seconds since the epoch. Return None for None. Raises Mistake if the text is not a time.

    If the text is a day without a time, the result is the beginning of this day. If `end` is True, the result is the end of the
    day. The day is a day in the time zone of this machine.
    """
    return None if text is None else _or_mistake(lambda one: times.parse_local_time(one, end=end), text)


def _or_mistake(parse: Callable[[str], float], text: str) -> float:
    try:
        return parse(text)
    except ValueError as error:
        raise Mistake(str(error)) from None
