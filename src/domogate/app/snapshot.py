"""Collects the values of the database, the drivers and the disk for the metrics, at each scrape.

A scrape is one request of a monitoring program for /metrics.
"""

import asyncio
import shutil
from collections import Counter
from math import nan
from typing import TYPE_CHECKING

from domogate.common.log import get_logger
from domogate.domain.figures import StoreFigures
from domogate.edge.metrics import Labelled
from domogate.services.driving.supervisor import DriverHealth

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway

_PATIENCE = 2.0
"""In seconds: the longest time for which a scrape waits for the database."""
_FRESH = 30.0
"""In seconds. Counts up to this age are used again, so that frequent scrapes do not load the database."""

_log = get_logger(__name__)


class Snapshot:
    """The counts of the store, the health of the drivers and the space on the disk at the last scrape."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._counting: asyncio.Task[StoreFigures | None] | None = None
        self.figures: StoreFigures | None = None
        """The counts of the store. None if the database did not answer in time, or answered with an error."""
        self.drivers: list[DriverHealth] = []
        self.disk_size = self.disk_free = nan

    async def renew(self) -> None:
        self.drivers = self._gateway.driving.list_drivers()
        if self._counting is None or self._counting.done():
            self._counting = asyncio.create_task(self._count(), name="count data for the metrics")
        # The count is not cancelled: the next scrape can use its result.
        done, _ = await asyncio.wait((self._counting,), timeout=_PATIENCE)
        self.figures = self._counting.result() if done else None

    @property
    def connections(self) -> Labelled:
        """For each driver: the number of its connections in each state, for example connected or lost."""
        return Counter((driver.name, one.state) for driver in self.drivers for one in driver.connections)

    async def _count(self) -> StoreFigures | None:
        await asyncio.to_thread(self._measure_disk)  # A network disk can hang.
        try:
            return await self._gateway.monitor.read_figures(_FRESH)
        except Exception as error:
            _log.warning("the metrics have no counts of the database", error=str(error))
            return None

    def _measure_disk(self) -> None:
        try:
            usage = shutil.disk_usage(self._gateway.settings.data)
        except OSError:  # With PostgreSQL, a gateway can run without a data folder.
            self.disk_size = self.disk_free = nan
        else:
            self.disk_size, self.disk_free = usage.total, usage.free
