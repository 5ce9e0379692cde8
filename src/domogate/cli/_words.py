"""Words of the command line that are no settings: durations, and the many ways to name one thing."""

import re

from domogate.cli._command import Mistake

_DURATION = re.compile(r"(\d{1,9})([smhd]?)", re.ASCII).fullmatch
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def parse_duration(text: str) -> float:
    """Seconds, from '90d', '12h', '30m', '45s' or '45'."""
    parts = _DURATION(text)
    if not parts or int(parts[1]) == 0:
        raise Mistake(f"{text!r} is no length of time; write it as 90d, 12h, 30m or 45s.")
    return int(parts[1]) * _SECONDS[parts[2]]
