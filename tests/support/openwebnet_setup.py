"""An OpenWebNet driver with test gateways, and a recorder of its reports."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from domogate.domain.commands import Command, Order
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id, new_id
from domogate.domain.states import Report
from domogate.drivers.openwebnet import OpenWebNetGateway
from domogate.drivers.openwebnet.driver import OpenWebNet
from domogate.ports import AttachedModule
from support.clocks import LoopClock
from support.devices import make_attached
from support.driver_bench import PATIENCE, ReportRecorder
from support.openwebnet_gateway import BusGateway

PLANT = Id("00000000-0000-4000-8000-00000000e001")


def attached_module(kind: DeviceKind, **options: Any) -> AttachedModule:
    return make_attached(kind, driver="openwebnet", options=options)


class OpenWebNetSetup:
    """A driver and its reports."""

    def __init__(self, *gateways: OpenWebNetGateway) -> None:
        self.clock = LoopClock()
        self.driver = OpenWebNet(self.clock, gateways)
        self.recorder = ReportRecorder()

    async def attach(self, *attached: AttachedModule) -> None:
        await self.driver.attach(PLANT, attached)
        for one in attached:
            await self.recorder.report_of(one)

    async def order(self, attached: AttachedModule, command: Command, within: float = PATIENCE) -> Report:
        return await self.order_by(self.clock.now() + within, attached, command)

    async def order_by(self, deadline: float, attached: AttachedModule, command: Command) -> Report:
        return await self.driver.execute(Order(new_id(), PLANT, attached.module.id, command, deadline))

    async def read(self, attached: AttachedModule, within: float = PATIENCE) -> Report:
        return await self.driver.read(PLANT, attached.module.id, self.clock.now() + within)

    async def wait_for_state(self, attached: AttachedModule, state: object) -> Report:
        return await self.recorder.report_of(attached, lambda report: report.state == state)


def config(gateway: BusGateway, name: str = "home", password: str | None = None) -> OpenWebNetGateway:
    return OpenWebNetGateway(name=name, host="127.0.0.1", port=gateway.port, password=password)


@asynccontextmanager
async def running_driver(*gateways: OpenWebNetGateway) -> AsyncIterator[OpenWebNetSetup]:
    setup = OpenWebNetSetup(*gateways)
    await setup.driver.start(setup.recorder)
    try:
        yield setup
    finally:
        await setup.driver.stop()


@asynccontextmanager
async def open_setup(*devices: Any) -> AsyncIterator[tuple[BusGateway, OpenWebNetSetup]]:
    async with BusGateway(*devices) as gateway, running_driver(config(gateway)) as setup:
        yield gateway, setup


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.005)
