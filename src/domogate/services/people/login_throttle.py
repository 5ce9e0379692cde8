"""Limits login attempts per account and per address. Nobody is locked out permanently.

All gateways share the counts, which are in the store; `domain/attempts.py` defines how they are counted. Their keys are hashes,
because people also type other things into the e-mail field, such as their password.
"""

import hashlib
from collections import OrderedDict

from domogate.common.networks import network_of
from domogate.domain.attempts import Attempt, Limit
from domogate.domain.formats import email_key
from domogate.ports import Clock, SessionStore


class LoginThrottle:
    """Tells how long to wait before the next attempt for an account or from an address."""

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
        familiar_kept: float = 90 * 86_400.0,
        capacity: int = 20_000,
    ) -> None:
        """Each `purpose` has its own counts.

        `familiar_kept`: seconds for which an address of the owner stays known. `capacity`: how many waiting times are cached.
        """
        self._store = store
        self._clock = clock
        self._purpose = purpose
        self._account_limit = Limit(account_attempts, first_wait, longest_wait, half_life)
        self._address_limit = Limit(address_attempts, first_wait, longest_wait, half_life)
        self._familiar_kept = familiar_kept
        self._capacity = capacity
        self._waiting: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def attempt(self, account: str, address: str) -> Attempt:
        """The keys and limits of an attempt. `add_session` of the store takes it to record success in the same write."""
        folded, network = email_key(account), network_of(address)
        return Attempt(
            account=self._key("account", folded),
            address=self._key("address", network),
            familiar=self._key("familiar", folded, network),
            account_limit=self._account_limit,
            address_limit=self._address_limit,
            familiar_kept=self._familiar_kept,
        )

    async def admit(self, account: str, address: str) -> float:
        """0 if the attempt may proceed; otherwise the seconds to wait."""
        attempt = self.attempt(account, address)
        now = self._clock.now()
        # A wait never ends early, so attempts during it need no write.
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
        """Reset the count of the account, and remember that its owner uses this address."""
        attempt = self.attempt(account, address)
        self._waiting.pop(attempt.familiar, None)
        await self._store.succeed_attempt(attempt, self._clock.now())

    def _key(self, *parts: str) -> str:
        """Of fixed size, however long the name is."""
        text = "\0".join((self._purpose, *parts))
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
