"""Guessing is slowed down, per account and per address, and nobody is locked out for good.

An attempt counts as failed from its start until it has succeeded, so that many at once gain nothing. Beyond its allowance each
further one doubles the wait, up to a bound; what is counted halves with time. Attempts during a wait are turned away uncounted.
"""

import hashlib
import ipaddress
import math
from collections import OrderedDict

from domogate.ports import Clock


class Throttle:
    """How long somebody must wait before the next attempt at an account, or from an address."""

    def __init__(
        self,
        clock: Clock,
        *,
        account_attempts: int = 5,
        address_attempts: int = 100,
        first_wait: float = 1.0,
        longest_wait: float = 900.0,
        half_life: float = 900.0,
        capacity: int = 20_000,
    ) -> None:
        """`capacity`: how many accounts and how many addresses are remembered; the least recent are forgotten first."""
        self._clock = clock
        self._accounts = _Counters(account_attempts, first_wait, longest_wait, half_life, capacity)
        self._addresses = _Counters(address_attempts, first_wait, longest_wait, half_life, capacity)
        self._familiar: OrderedDict[bytes, None] = OrderedDict()
        self._capacity = capacity

    def __len__(self) -> int:
        return len(self._accounts) + len(self._addresses) + len(self._familiar)

    def admit(self, account: str, address: str) -> float:
        """0: go on, and tell how it went. Otherwise the seconds to wait."""
        now = self._clock.now()
        account_key, address_key = self._key(account, address), _digest(_network(address))
        wait = max(self._accounts.wait(account_key, now), self._addresses.wait(address_key, now))
        if wait <= 0:
            self._accounts.count(account_key, now)
            self._addresses.count(address_key, now)
        return max(wait, 0.0)

    def take_back(self, account: str, address: str) -> None:
        """An admitted attempt was no guess, but proves nothing yet either: a first factor that was right."""
        self._accounts.uncount(self._key(account, address))
        self._addresses.uncount(_digest(_network(address)))

    def succeed(self, account: str, address: str) -> None:
        """The account starts anew; the address does not, or one account of one's own would reset it for all others."""
        self._accounts.forget(_digest(account.casefold()))
        self._accounts.forget(self._key(account, address))
        self._addresses.uncount(_digest(_network(address)))
        familiar = _digest(account.casefold(), _network(address))
        self._familiar[familiar] = None
        self._familiar.move_to_end(familiar)
        if len(self._familiar) > self._capacity:
            self._familiar.popitem(last=False)

    def _key(self, account: str, address: str) -> bytes:
        """From where an account's owner got in before it is counted apart, so that strangers cannot keep them out."""
        familiar = _digest(account.casefold(), _network(address))
        return familiar if familiar in self._familiar else _digest(account.casefold())


class _Counters:
    """Attempts by key: how many, as of when."""

    def __init__(self, allowance: int, first_wait: float, longest_wait: float, half_life: float, capacity: int) -> None:
        self._allowance = allowance
        self._first_wait = first_wait
        self._longest_wait = longest_wait
        self._half_life = half_life
        self._capacity = capacity
        # More would only make it take longer to be forgotten.
        self._most = allowance + 1 + math.log2(longest_wait / first_wait)
        self._counts: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._counts)

    def wait(self, key: bytes, now: float) -> float:
        count, at = self._counts.get(key, (0.0, now))
        if count <= self._allowance:
            return 0.0
        wait = min(self._longest_wait, self._first_wait * 2 ** (count - self._allowance - 1))
        # A clock that was set back must not make anybody wait longer.
        return min(at, now) + wait - now

    def count(self, key: bytes, now: float) -> None:
        count, at = self._counts.get(key, (0.0, now))
        decayed = count * 0.5 ** (max(0.0, now - at) / self._half_life)
        self._counts[key] = (min(self._most, decayed + 1), now)
        self._counts.move_to_end(key)
        if len(self._counts) > self._capacity:
            self._counts.popitem(last=False)

    def uncount(self, key: bytes) -> None:
        if key in self._counts:
            count, at = self._counts[key]
            if count > 1:
                self._counts[key] = (count - 1, at)
            else:
                del self._counts[key]

    def forget(self, key: bytes) -> None:
        self._counts.pop(key, None)


def _digest(*parts: str) -> bytes:
    """Of one size, however long a name somebody sends."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _network(address: str) -> str:
    """Whoever has one IPv6 address has the whole /64 it is in."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.IPv6Network((parsed, 64), strict=False))
    return str(parsed)
