"""Login attempts: how they are counted, and how long a person must wait after many failures.

An attempt counts as failed from its start until it succeeds, so parallel attempts have no advantage. Some attempts are
allowed without a wait. Each further failure doubles the wait, up to a limit. The count halves over time. Attempts during a
wait are refused and not counted.
"""

import math

import msgspec


class Count(msgspec.Struct, frozen=True):
    """The number of failed login attempts at a given time."""

    number: float
    at: float

    def after(self, seconds: float, half_life: float) -> float:
        """Return the number of failed attempts that still count after `seconds` seconds.

        The number halves in `half_life` seconds.
        """
        return self.number * math.pow(0.5, max(0.0, seconds) / half_life)


class Limit(msgspec.Struct, frozen=True):
    """How many login attempts are allowed without a wait, and how long the waits before further attempts are."""

    allowance: int
    first_wait: float
    longest_wait: float
    half_life: float

    def wait(self, count: Count | None, now: float) -> float:
        """Return the seconds until the next attempt is allowed. 0 or less means that it is allowed now."""
        # After the last allowed attempt, the number is a little less than the allowance, because it halves over time.
        if count is None or count.number <= self.allowance - 1:
            return 0.0
        wait = min(self.longest_wait, self.first_wait * 2 ** (count.number - self.allowance))
        if count.at - now > wait:
            return 0.0  # The clock was set back. Otherwise the wait would end only when the clock shows `count.at` again.
        return min(count.at, now) + wait - now

    def one_more(self, count: Count | None, now: float) -> Count:
        if count is None:
            return Count(1.0, now)
        # A higher count would not make the wait longer. The count would only be stored for a longer time.
        most = self.allowance + math.log2(self.longest_wait / self.first_wait)
        return Count(min(most, count.after(now - count.at, self.half_life) + 1), now)

    def forgotten_at(self, count: Count) -> float:
        """Return the time at which the count can be deleted. At this time its number is at most 0.5, and no wait is left."""
        return count.at + max(self.longest_wait, self.half_life * (1 + math.log2(max(1.0, count.number))))


class Attempt(msgspec.Struct, frozen=True):
    """One attempt to log in to an account from an IP address.

    `account`, `address` and `familiar` are the keys of three counters. They are hashes, so they do not show the account or the
    IP address.

    For `familiar_kept` seconds after a login to this account from this IP address, `familiar` counts the attempts instead of
    `account`. So strangers cannot lock the person out.
    """

    account: str
    address: str
    familiar: str
    account_limit: Limit
    address_limit: Limit
    familiar_kept: float


class Wait(msgspec.Struct, frozen=True):
    """The waits before the next attempt, in seconds: for the account and for the IP address. 0 or less means no wait."""

    of_account: float
    of_address: float
    """The seconds for which all login attempts from this IP address are refused, for every account."""

    @property
    def seconds(self) -> float:
        return max(0.0, self.of_account, self.of_address)
