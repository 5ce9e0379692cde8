"""When to try again: later and later, and never all at the same moment."""

from random import SystemRandom

FIRST = 5.0
LONGEST = 3_600.0
LONGEST_ASKED_FOR = 86_400.0
"""A receiver may ask for more patience than we would have, within reason."""

_random = SystemRandom()


def pause(attempts: int, asked_for: float | None = None) -> float:
    """How many seconds to wait after so many attempts in a row, and after what the receiver asked for (Retry-After)."""
    longest = min(LONGEST, FIRST * 2.0 ** min(max(attempts, 1) - 1, 30))
    jittered = longest * _random.uniform(0.8, 1.0)
    return max(jittered, min(asked_for or 0.0, LONGEST_ASKED_FOR))
