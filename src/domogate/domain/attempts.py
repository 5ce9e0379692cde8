"""Attempts at proving who one is: how they are counted, and how long somebody who failed often has to wait.

An attempt counts as failed from its start until it has succeeded, so that many at once gain nothing. Beyond its allowance each
further one doubles the wait, up to a bound; what is counted halves with time. Attempts during a wait are turned away uncounted.
"""

import math

import msgspec


class Count(msgspec.Struct, frozen=True):
    """How many, as of when."""

    number: float
    at: float


class Limit(msgspec.Struct, frozen=True):
    """How many attempts are free, and what follows then."""

    allowance: int
    first_wait: float
    longest_wait: float
    half_life: float

    def wait(self, count: Count | None, now: float) -> float:
        """Seconds until the next attempt; 0 or less: go on."""
        if count is None or count.number <= self.allowance:
            return 0.0
        wait = min(self.longest_wait, self.first_wait * 2 ** (count.number - self.allowance - 1))
        # A clock that was set back must not make anybody wait longer.
        return min(count.at, now) + wait - now

    def one_more(self, count: Count | None, now: float) -> Count:
        if count is None:
            return Count(1.0, now)
        decayed = count.number * 0.5 ** (max(0.0, now - count.at) / self.half_life)
        # More would only make it take longer to be forgotten.
        most = self.allowance + 1 + math.log2(self.longest_wait / self.first_wait)
        return Count(min(most, decayed + 1), now)

    def forgotten_at(self, count: Count) -> float:
        """When less than half an attempt is left of it, and no wait."""
        return count.at + max(self.longest_wait, self.half_life * (1 + math.log2(max(1.0, count.number))))


class Attempt(msgspec.Struct, frozen=True):
    """One attempt at an account from an address, by keys that tell neither.

    From where an account's owner got in before it is counted apart (`familiar`), so that strangers cannot keep them out.
    """

    account: str
    address: str
    familiar: str
    account_limit: Limit
    address_limit: Limit
    familiar_kept: float
