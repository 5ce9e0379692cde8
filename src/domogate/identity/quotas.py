"""Daily quotas: counted in memory, kept in the store.

Counts are written each second and when the gateway stops, and read on a key's first use of a day, so that a quota survives
a restart. After each write the store's own sum is taken over, so that several gateways share one quota within a second.
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


class Meter:
    """One subscription's requests of one day: those the store knows of, and those it does not know of yet."""

    __slots__ = ("day", "kept", "pending", "subscription_id")

    def __init__(self, subscription_id: Id, day: int, kept: int) -> None:
        self.subscription_id = subscription_id
        self.day = day
        self.kept = kept
        self.pending = 0

    @property
    def used(self) -> int:
        return self.kept + self.pending


class Meters:
    """Today's meters of the subscriptions that have a quota and were used."""

    def __init__(self, store: SubscriptionStore) -> None:
        self._store = store
        self._meters: dict[Id, Meter] = {}
        self._unwritten: set[Meter] = set()

    def find(self, subscription_id: Id, day: int) -> Meter | None:
        meter = self._meters.get(subscription_id)
        return meter if meter is not None and meter.day == day else None

    async def open(self, subscription_id: Id, day: int) -> Meter:
        kept = await self._store.find_usage(subscription_id, print_day(day))
        # Another request may have opened it, and counted, while this one waited.
        meter = self.find(subscription_id, day)
        if meter is None:
            meter = self._meters[subscription_id] = Meter(subscription_id, day, kept)
        return meter

    def count(self, meter: Meter) -> None:
        meter.pending += 1
        self._unwritten.add(meter)

    async def write(self, today: int) -> None:
        """Give the store what it does not know yet. What cannot be written now is written the next time."""
        batch = [(meter, meter.pending) for meter in self._unwritten]
        if batch:
            await self._store.add_usage([_usage(meter, count) for meter, count in batch])
            for meter, count in batch:
                meter.pending -= count
                meter.kept += count
                if not meter.pending:
                    self._unwritten.discard(meter)
            await self._take_over([meter for meter, _ in batch if meter.day == today])
        for subscription_id in [key for key, meter in self._meters.items() if meter.day < today]:
            del self._meters[subscription_id]

    async def _take_over(self, meters: Sequence[Meter]) -> None:
        for meter in meters:
            meter.kept = await self._store.find_usage(meter.subscription_id, print_day(meter.day))


def _usage(meter: Meter, count: int) -> Usage:
    return Usage(meter.subscription_id, print_day(meter.day), count)
