"""Which requests are sent again, and after which pause."""

from random import SystemRandom

import msgspec

UNAVAILABLE = frozenset({429, 502, 503, 504})
"""Statuses of a gateway that may answer later."""
_random = SystemRandom()


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """The rules for repeating a request.

    A request that only reads is repeated, and a command with an idempotency key. Every other request is sent once.
    """

    attempts: int = 3
    first_pause: float = 0.2
    longest_pause: float = 10.0
    statuses: frozenset[int] = UNAVAILABLE

    def pause_after(self, attempt: int, retry_after: float | None) -> float | None:
        """Return the seconds to wait after this attempt (the first is 1). None: do not try again."""
        if attempt >= self.attempts:
            return None
        if retry_after is not None:
            return retry_after
        # The pauses of many clients must differ, so that the clients do not all come back at the same time.
        longest: float = min(self.longest_pause, self.first_pause * 2 ** min(attempt - 1, 20))
        return longest * _random.uniform(0.5, 1.0)
