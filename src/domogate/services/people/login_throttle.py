"""Limits login attempts for each account and for each IP address. Nobody is locked out permanently.

The counts are in the store, so all gateways share them. `domain/attempts.py` has the rules. The store has only hashes of
the typed account names. The reason: people sometimes type their password into the e-mail field.
"""

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from domogate.common.networks import network_of
from domogate.domain.attempts import Attempt, Limit
from domogate.domain.formats import email_key
from domogate.ports import Clock, SessionStore

_CODES_PER_ACCOUNT, _ADDRESS_ATTEMPTS = 100, 100
_HOUR, _DAY = 3600.0, 86_400.0
MOST_LOGINS = 200
"""The number of logins that may be in progress at the same time."""


class LoginThrottle:
    """Says how long a person must wait before the next attempt for an account or from an IP address."""

    def __init__(
        self,
        store: SessionStore,
        clock: Clock,
        *,
        purpose: str = "login",
        account_attempts: int = 5,
        first_wait: float = 1.0,
        longest_wait: float = 900.0,
        half_life: float = 900.0,
        familiar_kept: float = 90 * 86_400.0,
        capacity: int = 20_000,
    ) -> None:
        """`purpose` names the kind of attempt, for example "login" or "passkey". Each kind has separate counts.

        `familiar_kept`: for this number of seconds after a login, attempts for the account from the same IP address are counted
        separately. So strangers cannot lock the person out. `capacity`: at most this number of waiting times is in memory.
        """
        self._store = store
        self._clock = clock
        self._purpose = purpose
        self._account_limit = Limit(account_attempts, first_wait, longest_wait, half_life)
        self._address_limit = Limit(_ADDRESS_ATTEMPTS, first_wait, longest_wait, half_life)
        self._familiar_kept = familiar_kept
        self._capacity = capacity
        self._waiting: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def attempt(self, account: str, address: str) -> Attempt:
        """Return an attempt: the keys of the counters for the account and the IP address, and the limits of these counters.

        The attempt is not counted yet.

        `add_session` of the store can record the success of the attempt in the same write as the session.
        """
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
        """Count the attempt and return 0 if it may proceed. Otherwise return the seconds to wait, without counting."""
        attempt = self.attempt(account, address)
        now = self._clock.now()
        # Attempts during a wait are not counted, so they do not need the store.
        for key, limit in ((attempt.familiar, self._account_limit), (attempt.address, self._address_limit)):
            known = self._waiting.get(key, now) - now
            if 0 < known <= limit.longest_wait:
                return known
            self._waiting.pop(key, None)
        wait = await self._store.admit_attempt(attempt, now)
        for key, seconds in ((attempt.familiar, wait.of_account), (attempt.address, wait.of_address)):
            if seconds > 0:
                self._waiting[key] = now + seconds
        while len(self._waiting) > self._capacity:
            self._waiting.popitem(last=False)
        return wait.seconds

    async def succeed(self, account: str, address: str) -> None:
        """Reset the count of the account, and store that the person logged in from this IP address."""
        self.forget_wait(account, address)
        await self._store.succeed_attempt(self.attempt(account, address), self._clock.now())

    def forget_wait(self, account: str, address: str) -> None:
        """Forget the waiting times in memory, because a success has reset or lowered the counts in the store."""
        attempt = self.attempt(account, address)
        self._waiting.pop(attempt.familiar, None)
        self._waiting.pop(attempt.address, None)

    def _key(self, *parts: str) -> str:
        """Return the key of a count: a hash of the purpose and `parts`. All keys have the same length."""
        text = "\0".join((self._purpose, *parts))
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class LoginThrottles:
    """Two throttles for passwords and two for codes.

    In each pair, one throttle counts by account, and the other counts by account and IP address.
    """

    def __init__(self, store: SessionStore, clock: Clock, passwords: LoginThrottle) -> None:
        self.passwords = passwords
        # Guesses from other addresses must not block the right password and code (Decision 0060). So these throttles count for
        # each pair of account and address.
        self.passwords_at_address = LoginThrottle(store, clock, purpose="password at an address", familiar_kept=_HOUR)
        self.codes_at_address = LoginThrottle(store, clock, purpose="code at an address", familiar_kept=_HOUR)
        # This throttle counts codes for each account: a person who knows the password could guess the code from many addresses.
        self.codes = LoginThrottle(store, clock, purpose="code", account_attempts=_CODES_PER_ACCOUNT, half_life=_DAY)
        self.queue = LoginQueue()

    def succeeded(self, email: str, address: str) -> Sequence[Attempt]:
        """Return the attempts that a complete login marks as successful."""
        return [throttle.attempt(account, address) for throttle, account in self._counts_of(email, address)]

    def forget_waits(self, email: str, address: str) -> None:
        """Forget the waiting times in memory after a complete login: the store has reset or lowered the counts."""
        for throttle, account in self._counts_of(email, address):
            throttle.forget_wait(account, address)

    def _counts_of(self, email: str, address: str) -> Sequence[tuple[LoginThrottle, str]]:
        """Return the throttles, each with the name under which it counts the attempts of this person."""
        here = at_address(email, address)
        return [(self.passwords, email), (self.passwords_at_address, here), (self.codes_at_address, here), (self.codes, email)]


def at_address(email: str, address: str) -> str:
    """Return the name under which a throttle counts the failures of one account from one IP address."""
    return f"{email} {network_of(address)}"


class LoginQueue:
    """Limits how many logins are in progress.

    Each login uses memory and waits until its password can be hashed.

    At most `MOST_LOGINS` / 2 logins in progress may come from one IP address. So people at other IP addresses can still log in.
    """

    def __init__(self) -> None:
        self._by_network: Counter[str] = Counter()

    @contextmanager
    def enter(self, address: str) -> Iterator[bool]:
        """Yield True if the login may continue.

        Yield False if too many logins are running. Then the caller must not check the password.
        """
        network = network_of(address)
        if self._by_network.total() >= MOST_LOGINS or self._by_network[network] >= MOST_LOGINS // 2:
            yield False
            return
        self._by_network[network] += 1
        try:
            yield True
        finally:
            self._by_network[network] -= 1
            if not self._by_network[network]:
                del self._by_network[network]
