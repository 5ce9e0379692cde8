"""A driver that is built when the first plant is attached to it.

Most gateways use one or two drivers. The other drivers are not built. This saves time and memory (Decision 0139).
"""

import asyncio
from collections.abc import Callable, Sequence

from domogate.domain.commands import Order
from domogate.domain.faults import DeviceOffline
from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.ports import AttachedModule, Driver, Picture, ReportSink


class LateDriver:
    """Builds a driver at the first `attach`, and then passes all calls to this driver. Implements Driver.

    Orders, questions and requests for pictures before the first `attach` raise DeviceOffline.
    """

    def __init__(self, name: str, build: Callable[[], Driver]) -> None:
        self.name = name
        self._build = build
        self._sink: ReportSink | None = None
        self._starting = asyncio.Lock()
        self._is_running = asyncio.Event()
        self._driver: Driver | None = None

    async def start(self, report: ReportSink) -> None:
        self._sink = report

    async def stop(self) -> None:
        async with self._starting:  # A driver that is being built is stopped too.
            driver, self._driver = self._driver, None
            self._is_running.clear()
        if driver is not None:
            await driver.stop()

    async def wait_failed(self) -> Exception:
        await self._is_running.wait()
        return await self._built().wait_failed()

    async def attach(self, plant_id: Id, modules: Sequence[AttachedModule]) -> None:
        async with self._starting:
            if self._driver is None:
                assert self._sink is not None, "the driver has started"
                driver = self._build()
                await driver.start(self._sink)
                self._driver = driver
                self._is_running.set()
        await self._built().attach(plant_id, modules)

    async def detach(self, plant_id: Id) -> None:
        if self._driver is not None:
            await self._driver.detach(plant_id)

    async def execute(self, order: Order) -> Report:
        return await self._built().execute(order)

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        return await self._built().read(plant_id, module_id, deadline)

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float, /) -> Picture:
        return await self._built().take_picture(plant_id, module_id, deadline)

    def _built(self) -> Driver:
        if self._driver is None:
            raise DeviceOffline("the module is not attached to its driver")
        return self._driver
