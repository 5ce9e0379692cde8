"""An OpenWebNet driver with test gateways, and a recorder of its reports."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from domogate.domain.commands import Command, Order
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id, new_id
from domogate.domain.states import Report
from domogate.drivers.openwebnet import OpenWebNet, OpenWebNetGateway
from domogate.ports import AttachedModule
from support.devices import LoopClock, make_placed
from support.driver_bench import PATIENCE, ReportRecorder
from support.openwebnet_gateway import BusGateway

PLANT = Id("00000000-0000-4000-8000-00000000e001")


def place(kind: DeviceKind, **options: Any) -> AttachedModule:
    return make_placed(kind, driver="openwebnet", options=options)


class House:
    """A driver and its reports."""

    def __init__(self, *gateways: OpenWebNetGateway) -> None:
        self.clock = LoopClock()
        self.driver = OpenWebNet(self.clock, gateways)
        self.recorder = ReportRecorder()

    async def attach(self, *placed: AttachedModule) -> None:
        await self.driver.attach(PLANT, placed)
        for one in placed:
            await self.recorder.report_of(one)

    async def tell(self, placed: AttachedModule, command: Command, within: float = PATIENCE) -> Report:
        return await self.tell_by(self.clock.now() + within, placed, command)

    async def tell_by(self, deadline: float, placed: AttachedModule, command: Command) -> Report:
        return await self.driver.execute(Order(new_id(), PLANT, placed.module.id, command, deadline))

    async def ask(self, placed: AttachedModule, within: float = PATIENCE) -> Report:
        return await self.driver.read(PLANT, placed.module.id, self.clock.now() + within)

    async def shown(self, placed: AttachedModule, state: object) -> Report:
        return await self.recorder.report_of(placed, lambda report: report.state == state)


def config(gateway: BusGateway, name: str = "home", password: str | None = None) -> OpenWebNetGateway:
    return OpenWebNetGateway(name=name, host="127.0.0.1", port=gateway.port, password=password)


@asynccontextmanager
async def living(*gateways: OpenWebNetGateway) -> AsyncIterator[House]:
    house = House(*gateways)
    await house.driver.start(house.recorder)
    try:
        yield house
    finally:
        await house.driver.stop()


@asynccontextmanager
async def house_with(*devices: Any) -> AsyncIterator[tuple[BusGateway, House]]:
    async with BusGateway(*devices) as gateway, living(config(gateway)) as house:
        yield gateway, house


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.005)
