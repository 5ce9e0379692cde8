"""Admits requests by their subscription key, within its rate and its daily quota.

Responses contain the fields of draft-ietf-httpapi-ratelimit-headers, with one item for the rate and one for the day:
`RateLimit-Policy` (the limits) and `RateLimit` (the remaining requests, and the seconds until more requests are allowed).
`X-RateLimit-Remaining` and `X-Quota-Remaining` repeat the remaining numbers as plain integers. A key without limits gets none
of these fields. A refused request does not count.
"""

import asyncio
import logging
import math
from collections.abc import Sequence

from domogate.common.feed_cache import FeedCache
from domogate.common.secrets import digest_secret
from domogate.common.tasks import wait_for_event
from domogate.domain.events import Change, ChangesLost, SubscriptionChanged
from domogate.domain.faults import KeyRefused, TooManyRequests
from domogate.domain.people import Subscription
from domogate.identity.quotas import DAY, DailyUsage, UsageCounter, day_of
from domogate.identity.rates import RateWindow, RateWindows, parse_rate
from domogate.identity.subscriptions import MAX_KEY
from domogate.ports import Admitted, Clock, SubscriptionStore

_REFUSALS_KEPT = 1_024
_KEYS_KEPT = 20_000

_log = logging.getLogger(__name__)

Headers = tuple[tuple[bytes, bytes], ...]


class _Entry:
    """The cached data of one subscription key: the subscription with its parsed limits.

    If the subscription has no limits, every request gets the same object `admitted`, which is made once.
    """

    __slots__ = ("admitted", "expires_at", "id", "policy", "quota", "rate", "usage")

    def __init__(self, subscription: Subscription) -> None:
        self.id = subscription.id
        self.expires_at = math.inf if subscription.expires_at is None else subscription.expires_at
        self.quota = subscription.daily_quota
        self.rate = None if subscription.rate is None else parse_rate(subscription.rate)
        policies = []
        if self.rate is not None:
            policies.append(f'"rate";q={self.rate.amount};w={self.rate.seconds}')
        if self.quota is not None:
            policies.append(f'"day";q={self.quota};w={DAY}')
        self.policy = ", ".join(policies).encode()
        self.admitted = None if policies else Admitted(self.id)
        self.usage = DailyUsage(self.id)
        """Counts the requests of a subscription without a quota."""


class KeyAdmission:
    """Admits subscription keys. Register `apply` as a listener of the store: it removes changed keys from the cache."""

    def __init__(self, store: SubscriptionStore, clock: Clock, *, write_every: float = 1.0) -> None:
        self._store = store
        self._now = clock.now
        self._write_every = write_every
        self._entries: FeedCache[bytes, _Entry] = FeedCache(
            self._fetch,
            capacity=_KEYS_KEPT,
            invalidated_by={SubscriptionChanged: lambda event: (bytes.fromhex(event.key_hash),), ChangesLost: lambda _: None},
            # Unknown keys are cached, so that a client with an old key does not cost a query per request. The cache is small,
            # because anyone can invent keys.
            absent_capacity=_REFUSALS_KEPT,
        )
        self.rates = RateWindows()
        self._usages = UsageCounter(store)
        self._stopping = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the task that regularly stores how many requests each subscription has sent today."""
        self._stopping.clear()
        self._writer = asyncio.create_task(self._write_regularly(), name="subscription usage")

    async def stop(self) -> None:
        """Save the counts of requests. Must be called before the store stops.

        If the store cannot write the counts, they are logged as lost. Then the gateway goes on stopping its other parts.
        """
        self._stopping.set()
        if self._writer is not None:
            await self._writer
            self._writer = None
        try:
            await self._usages.write(day_of(self._now()))
        except Exception:
            _log.exception("the last usage of keys is lost, because it was not stored")

    def apply(self, changes: Sequence[Change]) -> None:
        self._entries.apply(changes)

    def admit_known(self, key: bytes) -> Admitted | None:
        entry = self._entries.find(digest_secret(key))
        if entry is None:
            return None
        now = self._now()
        if entry.expires_at <= now:
            return None
        if entry.admitted is None:
            return self._count(entry, now)
        # The same as in `_note`, but without a call, because every read uses this code.
        usage = entry.usage
        if not usage.pending:
            self._usages.unwritten.add(usage)
        usage.pending += 1
        return entry.admitted

    async def admit(self, key: bytes) -> Admitted:
        entry = await self._find(key)
        while (admitted := self._count(entry, self._now())) is None:
            await self._usages.load(entry.id, day_of(self._now()))
        return admitted

    async def recognise(self, key: bytes) -> float:
        return (await self._find(key)).expires_at

    async def _find(self, key: bytes) -> _Entry:
        """Return the entry of a valid key. Raises KeyRefused for any other key."""
        if not 0 < len(key) <= MAX_KEY:
            raise KeyRefused
        entry = await self._entries.get(digest_secret(key))
        if entry is None or entry.expires_at <= self._now():
            raise KeyRefused
        return entry

    async def _fetch(self, digest: bytes) -> _Entry | None:
        subscription = await self._store.find_subscription(digest.hex())
        return None if subscription is None or subscription.revoked_at is not None else _Entry(subscription)

    def _count(self, entry: _Entry, now: float) -> Admitted | None:
        """Count one request. Returns None and counts nothing if the count of the day is not loaded yet.

        Raises TooManyRequests if the rate or the quota does not allow the request.
        """
        usage = entry.usage
        if entry.admitted is not None:
            self._note(usage)
            return entry.admitted
        window = None if entry.rate is None else self.rates.find(entry.id, entry.rate)
        if entry.quota is not None:
            today = self._usages.find(entry.id, day_of(now))
            if today is None:
                return None
            usage = today
            if usage.used >= entry.quota:
                raise TooManyRequests(
                    f"The subscription's daily quota of {entry.quota} requests is used up. The next day starts at 00:00 UTC.",
                    retry_after=_until_tomorrow(now),
                    headers=_headers(entry, window, usage.used, now),
                )
        if window is not None and not self.rates.admit(window, now):
            raise TooManyRequests(
                f"The subscription's rate of {window.rate.amount} requests a {window.rate.unit} is exceeded.",
                retry_after=_whole_seconds(window.frees_at(now) - now),
                headers=_headers(entry, window, usage.used, now),
            )
        self._note(usage)
        return Admitted(entry.id, _headers(entry, window, usage.used, now))

    def _note(self, usage: DailyUsage) -> None:
        if not usage.pending:
            self._usages.unwritten.add(usage)
        usage.pending += 1

    async def _write_regularly(self) -> None:
        while not self._stopping.is_set():
            await wait_for_event(self._stopping, self._write_every)
            try:
                await self._usages.write(day_of(self._now()))
                self.rates.sweep(self._now())
            except Exception:
                # The counts stay in memory, and the next run tries again.
                _log.exception("the usage of keys was not stored; the gateway will try again")


def _headers(entry: _Entry, window: RateWindow | None, used: int, now: float) -> Headers:
    remains: list[str] = []
    plain: list[tuple[bytes, bytes]] = []
    if window is not None:
        left = max(0, window.rate.amount - window.count(now))  # negative if other gateways admitted too many
        remains.append(f'"rate";r={left};t={_whole_seconds(window.frees_at(now) - now)}')
        plain.append((b"x-ratelimit-remaining", b"%d" % left))
    if entry.quota is not None:
        left = max(0, entry.quota - used)
        remains.append(f'"day";r={left};t={_until_tomorrow(now)}')
        plain.append((b"x-quota-remaining", b"%d" % left))
    return ((b"ratelimit-policy", entry.policy), (b"ratelimit", ", ".join(remains).encode()), *plain)


def _whole_seconds(seconds: float) -> int:
    return max(1, math.ceil(seconds))


def _until_tomorrow(now: float) -> int:
    return _whole_seconds((day_of(now) + 1) * DAY - now)
