"""The work of a gateway for the plants of its shards: it drives them, delivers their webhooks, and runs their bridges."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from domogate.services.cluster.membership import ShardDriver


class ShardDeliveries(Protocol):
    """A service that sends changes of plants to other programs: the deliveries of webhooks, or the MQTT bridges."""

    def start_shards(self, shards: Collection[int]) -> None:
        """Start to send the changes of the plants of these shards to other programs, in the background."""
        ...

    async def hand_over(self, shards: Collection[int]) -> None:
        """Stop sending the changes of the plants of these shards. Running deliveries get a short time to end first."""
        ...

    def drop_shards(self, shards: Collection[int]) -> None:
        """Immediately stop sending the changes of the plants of these shards."""
        ...


class ShardWork:
    """Implements ShardDriver: passes each call to the service that drives plants and to the services that send changes."""

    def __init__(self, driver: ShardDriver, *deliveries: ShardDeliveries) -> None:
        self._driver = driver
        self._deliveries = deliveries

    def start_shards(self, shards: Collection[int]) -> None:
        self._driver.start_shards(shards)
        for one in self._deliveries:
            one.start_shards(shards)

    async def hand_over(self, shards: Collection[int]) -> AsyncIterator[Sequence[int]]:
        stopping = asyncio.gather(*(one.hand_over(shards) for one in self._deliveries))
        async for stopped in self._driver.hand_over(shards):
            await stopping
            yield stopped

    def drop_shards(self, shards: Collection[int]) -> None:
        self._driver.drop_shards(shards)
        for one in self._deliveries:
            one.drop_shards(shards)
