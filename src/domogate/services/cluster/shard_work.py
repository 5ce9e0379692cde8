"""What a gateway does for the plants of its shards: it drives these plants, and delivers their webhooks."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from domogate.services.cluster.membership import ShardDriver


class ShardDeliveries(Protocol):
    """The service that delivers the webhooks of the plants of shards."""

    def start_shards(self, shards: Collection[int]) -> None:
        """Start to deliver the webhooks of the plants of these shards, in the background."""
        ...

    async def hand_over(self, shards: Collection[int]) -> None:
        """Stop delivering the webhooks of these shards, within a short time."""
        ...

    def drop_shards(self, shards: Collection[int]) -> None:
        """Stop delivering the webhooks of these shards at once."""
        ...


class ShardWork:
    """Implements ShardDriver: passes each call to the service that drives plants, and to the service that delivers webhooks."""

    def __init__(self, driver: ShardDriver, deliveries: ShardDeliveries) -> None:
        self._driver = driver
        self._deliveries = deliveries

    def start_shards(self, shards: Collection[int]) -> None:
        self._driver.start_shards(shards)
        self._deliveries.start_shards(shards)

    async def hand_over(self, shards: Collection[int]) -> AsyncIterator[Sequence[int]]:
        stopping = asyncio.create_task(self._deliveries.hand_over(shards), name="hand over webhooks")
        async for stopped in self._driver.hand_over(shards):
            await stopping
            yield stopped

    def drop_shards(self, shards: Collection[int]) -> None:
        self._driver.drop_shards(shards)
        self._deliveries.drop_shards(shards)
