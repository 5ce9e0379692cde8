"""Guessing is slowed down, per account and per address, and nobody is locked out for good.

The counts are in the store, so that they hold for all gateways on it together; how they are counted is in `domain/attempts.py`.
They are kept by hashes only: whatever somebody typed where an e-mail belongs is not to be read there.
"""

import hashlib
import ipaddress
from collections import OrderedDict

from domogate.domain.attempts import Attempt, Limit
from domogate.ports import Clock, SessionStore

_FAMILIAR_KEPT = 90 * 86_400.0


class Throttle:
    """How long somebody must wait before the next attempt at an account, or from an address."""

    def __init__(
        self,
        store: SessionStore,
        clock: Clock,
        *,
        purpose: str = "login",
        account_attempts: int = 5,
        address_attempts: int = 100,
        first_wait: float = 1.0,
        longest_wait: float = 900.0,
        half_life: float = 900.0,
        capacity: int = 20_000,
    ) -> None:
        """Attempts of another `purpose` are counted apart. `capacity`: how many waits are remembered here."""
        self._store = store
        self._clock = clock
        self._purpose = purpose
        self._account_limit = Limit(account_attempts, first_wait, longest_wait, half_life)
        self._address_limit = Limit(address_attempts, first_wait, longest_wait, half_life)
        self._capacity = capacity
        self._waiting: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def attempt(self, account: str, address: str) -> Attempt:
        """What is counted where; `Store.add_session` takes it to say in the same write that it succeeded."""
        folded, network = account.casefold(), network_of(address)
        return Attempt(
            account=self._key("account", folded),
            address=self._key("address", network),
            familiar=self._key("familiar", folded, network),
            account_limit=self._account_limit,
            address_limit=self._address_limit,
            familiar_kept=_FAMILIAR_KEPT,
        )

    async def admit(self, account: str, address: str) -> float:
        """0: go on, and tell if it succeeded. Otherwise the seconds to wait."""
        attempt = self.attempt(account, address)
        now = self._clock.now()
        # Nothing ends a wait early, so that whoever goes on trying during it costs no write.
        known = self._waiting.get(attempt.familiar, now) - now
        if 0 < known <= self._account_limit.longest_wait:
            return known
        self._waiting.pop(attempt.familiar, None)
        wait = await self._store.admit_attempt(attempt, now)
        if wait > 0:
            self._waiting[attempt.familiar] = now + wait
            if len(self._waiting) > self._capacity:
                self._waiting.popitem(last=False)
        return wait

    async def succeed(self, account: str, address: str) -> None:
        """The account starts anew, and is known to be its owner's at this address from now on."""
        attempt = self.attempt(account, address)
        self._waiting.pop(attempt.familiar, None)
        await self._store.succeed_attempt(attempt, self._clock.now())

    def _key(self, *parts: str) -> str:
        """Of one size, however long a name somebody sends."""
        text = "\0".join((self._purpose, *parts))
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def network_of(address: str) -> str:
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
