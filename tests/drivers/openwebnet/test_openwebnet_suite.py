"""The suite of all drivers, with a simulated OpenWebNet gateway and its bus."""

from collections.abc import AsyncIterator

import pytest

from domogate.domain.commands import Command, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import FirstState
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.drivers import report_queue
from domogate.drivers.openwebnet import OpenWebNetGateway, event_session
from domogate.drivers.openwebnet.driver import OpenWebNet
from domogate.ports import AttachedModule
from support.clocks import LoopClock
from support.driver_bench import Bench
from support.driver_suite import DriverSuite
from support.openwebnet_bus import BusLight, BusMeter
from support.openwebnet_gateway import BusGateway

pytestmark = pytest.mark.usefixtures("steady_time")


def place(number: int, kind: DeviceKind, **options: object) -> AttachedModule:
    module_id = Id(f"00000000-0000-4000-8000-{number:012x}")
    module = Module(module_id, module_id, f"a {kind}", kind, driver="openwebnet", options=options)
    return AttachedModule(module, FirstState(module_id))


class OpenWebNetBench(Bench):
    short = 0.2

    async def set_up(self) -> None:
        self.clock = LoopClock()
        self.gateway = BusGateway(*(BusLight(f"1{number}") for number in range(1, 9)), BusMeter("51"), password="12345")
        await self.gateway.open()
        config = OpenWebNetGateway(name="home", host="127.0.0.1", port=self.gateway.port, password="12345")
        self.driver = OpenWebNet(self.clock, [config])

    async def tear_down(self) -> None:
        await self.gateway.shut()

    def lamp(self, number: int) -> AttachedModule:
        return place(number, DeviceKind.LIGHT, where=f"1{number}")

    def meter(self) -> AttachedModule:
        return place(99, DeviceKind.ENERGYMETER, where="51")

    def misconfigured(self) -> AttachedModule:
        return place(98, DeviceKind.LIGHT, where="nowhere")

    def _light(self, lamp: AttachedModule) -> BusLight:
        light = self.gateway.device("1", lamp.module.options["where"])
        assert isinstance(light, BusLight)
        return light

    async def switch_by_hand(self, lamp: AttachedModule, on: bool) -> None:
        await self.gateway.happen(*self._light(lamp).obey("1" if on else "0"))

    async def measure(self, meter: AttachedModule, watts: float) -> None:
        device = self.gateway.device("18", "51")
        assert isinstance(device, BusMeter)
        device.watts = round(watts)
        await self.gateway.happen(*(device.read("113") or ()))

    async def go_offline(self, lamp: AttachedModule) -> None:
        await self.gateway.shut()

    async def come_online(self, lamp: AttachedModule) -> None:
        await self.gateway.open()

    async def stop_answering(self, lamp: AttachedModule) -> None:
        self.gateway.silent.add(lamp.module.options["where"])

    async def make_refuse(self, lamp: AttachedModule) -> Command:
        self.gateway.disobedient.add(lamp.module.options["where"])
        return SetLight(on=True)

    def count_commands(self, lamp: AttachedModule) -> int:
        return sum(frame.endswith(f"*{lamp.module.options['where']}##") for frame in self.gateway.told)


class TestOpenWebNet(DriverSuite):
    @pytest.fixture
    async def bench(self, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
        monkeypatch.setattr(event_session, "FIRST_DELAY", 0.05)
        monkeypatch.setattr(event_session, "LONGEST_DELAY", 0.2)
        monkeypatch.setattr(report_queue, "RETRY", 0.1)
        async with OpenWebNetBench() as bench:
            yield bench
