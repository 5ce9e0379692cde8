"""Words of the command line that are no settings: times and lengths of time, told as mistakes where they are wrong."""

from collections.abc import Callable

from domogate.cli._command import Mistake
from domogate.common import times


def parse_duration(text: str) -> float:
    """Seconds, from '90d', '12h', '30m', '45s' or '45'."""
    return _or_mistake(times.parse_duration, text)


def parse_moment(text: str) -> float:
    """Seconds since the epoch, from '2026-11-15T08:30:00Z', '2026-11-15' or such seconds."""
    return _or_mistake(times.parse_moment, text)


def parse_resolution(text: str) -> float:
    """Seconds, from '1h' and the like; a minute at least."""
    return _or_mistake(times.parse_resolution, text)


def _or_mistake(parse: Callable[[str], float], text: str) -> float:
    try:
        return parse(text)
    except ValueError as error:
        raise Mistake(str(error)) from None
