"""When to try again: later after each failure, with a random part."""

from random import SystemRandom

FIRST = 5.0
LONGEST = 3_600.0
LONGEST_ASKED_FOR = 86_400.0
"""A receiver may ask for a longer delay than ours, up to this."""

_random = SystemRandom()


def retry_delay(attempts: int, retry_after: float | None = None) -> float:
    """Seconds to wait after so many failed attempts, and at least as long as the receiver asked for (Retry-After)."""
    longest = min(LONGEST, FIRST * 2.0 ** min(max(attempts, 1) - 1, 30))
    jittered = longest * _random.uniform(0.8, 1.0)
    return max(jittered, min(retry_after or 0.0, LONGEST_ASKED_FOR))
