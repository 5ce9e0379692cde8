"""The daily usage of keys, counted in memory and saved in the store.

Counts are added to the stored counts every second and when the gateway stops. The write returns the sums of all gateways. So
all gateways share a quota, with a delay of one second. The count of a key with a quota is read at the first use of the key on a
day. So a quota survives a restart.
"""

import time

from domogate.domain.ids import Id
from domogate.ports import SubscriptionStore, Usage

DAY = 86_400


def day_of(now: float) -> int:
    """Return the number of days from 1970-01-01 to the day of `now` (UTC)."""
    return int(now // DAY)


def print_day(day: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(day * DAY))


class DailyUsage:
    """The requests of one subscription: the `stored` count, and the `pending` count that is not stored yet.

    `day` is None for a key without a quota: its requests count for the day on which they are stored.
    """

    __slots__ = ("day", "pending", "stored", "subscription_id")

    def __init__(self, subscription_id: Id, day: int | None = None, stored: int = 0) -> None:
        self.subscription_id = subscription_id
        self.day = day
        self.stored = stored
        self.pending = 0

    @property
    def used(self) -> int:
        return self.stored + self.pending


class UsageCounter:
    """The usage of subscriptions. `find` and `load` are for subscriptions that have a quota."""

    def __init__(self, store: SubscriptionStore) -> None:
        self._store = store
        self._usages: dict[Id, DailyUsage] = {}
        self.unwritten: set[DailyUsage] = set()
        """The usages that have a pending count.

        The caller adds a usage to this set when it counts the first pending request of the usage.
        """

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

    async def write(self, today: int) -> None:
        """Write the pending counts to the store. If the write fails, the next call writes these counts.

        After a write, forget the subscriptions whose counts are of another day.
        """
        batch = [(usage, usage.pending) for usage in self.unwritten]
        if batch:
            counts = [Usage(usage.subscription_id, print_day(usage.day or today), count) for usage, count in batch]
            sums = {(sum.subscription_id, sum.day): sum.count for sum in await self._store.add_usage(counts)}
            for (usage, count), counted in zip(batch, counts, strict=True):
                usage.pending -= count
                usage.stored = sums.get((counted.subscription_id, counted.day), usage.stored + count)
                if not usage.pending:
                    self.unwritten.discard(usage)
        for subscription_id in [key for key, usage in self._usages.items() if usage.day != today]:
            del self._usages[subscription_id]
