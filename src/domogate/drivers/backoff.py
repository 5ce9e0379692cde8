"""Pauses between attempts to connect.

Each failure in a row doubles the pause, up to a limit. A random factor changes each pause.
"""

import random

_random = random.SystemRandom()

HEALTHY = 10.0
"""Seconds after which a connection counts as successful. A connection that is lost earlier counts as one more failure."""


class Backoff:
    """Counts failures in a row, and computes the pause after them.

    Random jitter prevents all connections from being opened again at the same time.
    """

    def __init__(self) -> None:
        self._failures = 0

    def connection_ended(self, lasted: float) -> None:
        if lasted >= HEALTHY:
            self._failures = 0

    def next_pause(self, first: float, longest: float, jitter: tuple[float, float] = (0.5, 1.0)) -> float:
        """Count one more failure, and return the seconds to wait before the next attempt.

        `first` is the pause after the first failure. `longest` is the longest pause. The pause is multiplied by a random factor
        in the range `jitter`.
        """
        pause = min(longest, first * 2.0 ** min(self._failures, 10))
        self._failures += 1
        return pause * _random.uniform(*jitter)
