"""The delay before the next attempt to deliver an event. The delay grows with each failure and has a random part."""

from random import SystemRandom

FIRST = 5.0
LONGEST = 3_600.0
LONGEST_ASKED_FOR = 86_400.0
"""The longest delay in seconds that a receiver may ask for."""

_random = SystemRandom()


def is_ahead(next_at: float, now: float) -> bool:
    """Whether the next attempt must wait until `next_at`.

    If `next_at` is later than the longest delay allows, the clock was wrong when `next_at` was set. Then the attempt does not
    wait.
    """
    return 0 < next_at - now <= max(LONGEST, LONGEST_ASKED_FOR)


def find_due_time(next_at: float, now: float) -> float:
    """Return the time up to which planned attempts are due now.

    Usually the result is `now`. If the clock was wrong when `next_at` was set, `next_at` may be too far in the future. In this
    case, the result is `next_at`. Then the attempt that is planned for `next_at` is due now.
    """
    return now if next_at <= now or is_ahead(next_at, now) else next_at


def retry_delay(attempts: int, retry_after: float | None = None) -> float:
    """Return the seconds to wait after this number of failed attempts.

    `retry_after` is the delay that the receiver asks for. If this delay is longer than the usual delay, the result is this
    delay, but at most `LONGEST_ASKED_FOR`.
    """
    longest = min(LONGEST, FIRST * 2.0 ** min(max(attempts, 1) - 1, 30))
    jittered = longest * _random.uniform(0.8, 1.0)
    return max(jittered, min(retry_after or 0.0, LONGEST_ASKED_FOR))
