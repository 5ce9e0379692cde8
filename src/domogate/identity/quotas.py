"""Daily quotas, counted in memory and saved in the store.

Counts are stored every second and when the gateway stops. They are read when a key is used for the first time on a day, so a
quota survives a restart. After each write the gateway reads the sum of the counts of all gateways. So all gateways share a
quota, with a delay of one second.
"""

import time
from collections.abc import Sequence

from domogate.domain.ids import Id
from domogate.ports import SubscriptionStore, Usage

DAY = 86_400


def day_of(now: float) -> int:
    """Days since the epoch, in UTC."""
    return int(now // DAY)


def print_day(day: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(day * DAY))


class DailyUsage:
    """The requests of one subscription on one day: the `stored` count, and the `pending` count that is not stored yet."""

    __slots__ = ("day", "pending", "stored", "subscription_id")

    def __init__(self, subscription_id: Id, day: int, stored: int) -> None:
        self.subscription_id = subscription_id
        self.day = day
        self.stored = stored
        self.pending = 0

    @property
    def used(self) -> int:
        return self.stored + self.pending


class QuotaCounter:
    """Today's usage of the subscriptions that have a quota."""

    def __init__(self, store: SubscriptionStore) -> None:
        self._store = store
        self._usages: dict[Id, DailyUsage] = {}
        self._unwritten: set[DailyUsage] = set()

    def find(self, subscription_id: Id, day: int) -> DailyUsage | None:
        usage = self._usages.get(subscription_id)
        return usage if usage is not None and usage.day == day else None

    async def load(self, subscription_id: Id, day: int) -> DailyUsage:
        stored = await self._store.find_usage(subscription_id, print_day(day))
        # Another request may have loaded and counted it in the meantime.
        usage = self.find(subscription_id, day)
        if usage is None:
            usage = self._usages[subscription_id] = DailyUsage(subscription_id, day, stored)
        return usage

    def count(self, usage: DailyUsage) -> None:
        usage.pending += 1
        self._unwritten.add(usage)

    async def write(self, today: int) -> None:
        """Write the pending counts. After a failure the next call writes them."""
        batch = [(usage, usage.pending) for usage in self._unwritten]
        if batch:
            await self._store.add_usage([_usage(usage, count) for usage, count in batch])
            for usage, count in batch:
                usage.pending -= count
                usage.stored += count
                if not usage.pending:
                    self._unwritten.discard(usage)
            await self._read_sums([usage for usage, _ in batch if usage.day == today])
        for subscription_id in [key for key, usage in self._usages.items() if usage.day < today]:
            del self._usages[subscription_id]

    async def _read_sums(self, usages: Sequence[DailyUsage]) -> None:
        for usage in usages:
            usage.stored = await self._store.find_usage(usage.subscription_id, print_day(usage.day))


def _usage(usage: DailyUsage, count: int) -> Usage:
    return Usage(usage.subscription_id, print_day(usage.day), count)
