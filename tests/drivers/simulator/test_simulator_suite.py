"""The suite of all drivers, with the simulator."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from domogate.domain.commands import Command, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.states import LightState
from domogate.drivers.simulator.comfort import Light
from domogate.drivers.simulator.simulator import Simulator
from domogate.ports import AttachedModule
from support.clocks import NOON, ManualClock
from support.devices import make_attached, make_id, make_module
from support.driver_bench import PLANT, Bench
from support.driver_suite import DriverSuite


class SimulatorBench(Bench):
    """The devices are those of the simulator: the test sets their states and options."""

    short = 0.01
    counts_commands_to_silent_lamps = False
    driver: Simulator

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.clock: ManualClock = ManualClock(NOON)
        self._monkeypatch = monkeypatch
        self._attached: dict[Id, dict[Id, AttachedModule]] = {}
        self._told: dict[int, int] = {}

    async def set_up(self) -> None:
        self.driver = Simulator(self.clock, seed=1, tick=3600.0)
        execute = Light.execute

        def count_and_execute(light: Light, command: Command, now: float) -> None:
            self._told[id(light)] = self._told.get(id(light), 0) + 1
            execute(light, command, now)

        self._monkeypatch.setattr(Light, "execute", count_and_execute)

    async def tear_down(self) -> None:
        self._monkeypatch.undo()

    def lamp(self, number: int) -> AttachedModule:
        return make_attached(DeviceKind.LIGHT, LightState(on=False, level=50), module_id=make_id(number), reachable=False)

    def meter(self) -> AttachedModule:
        return make_attached(DeviceKind.PLUG, module_id=make_id(20), options={"watts": 0})

    def misconfigured(self) -> AttachedModule:
        return make_attached(DeviceKind.LIGHT, module_id=make_id(21), options={"simulate": "asleep"})

    async def attach(self, *attached: AttachedModule, plant_id: Id = PLANT) -> None:
        self._attached[plant_id] = {one.module.id: one for one in attached}
        await super().attach(*attached, plant_id=plant_id)

    async def switch_by_hand(self, lamp: AttachedModule, on: bool) -> None:
        for plant in tuple(self.driver._plants.values()):
            module = plant._modules.get(lamp.module.id)
            if module is not None and module.device is not None:
                module.device.state = LightState(on=on, level=50)
        await self.driver.step()

    async def measure(self, meter: AttachedModule, watts: float) -> None:
        await self._give_option(meter, watts=watts)
        self.clock.advance(120)
        await self.driver.step()

    async def go_offline(self, lamp: AttachedModule) -> None:
        await self._give_option(lamp, simulate="offline")

    async def come_online(self, lamp: AttachedModule) -> None:
        await self._give_option(lamp, simulate="normal")

    async def stop_answering(self, lamp: AttachedModule) -> None:
        await self._give_option(lamp, simulate="slow")

    async def make_refuse(self, lamp: AttachedModule) -> Command:
        await self._give_option(lamp, simulate="refusing")
        return SetLight(on=True)

    async def _give_option(self, attached: AttachedModule, **options: Any) -> None:
        for plant_id, modules in tuple(self._attached.items()):
            if attached.module.id in modules:
                module = make_module(attached.module.kind, attached.module.id, options=options)
                await self.attach(*(modules | {module.id: AttachedModule(module, attached.last)}).values(), plant_id=plant_id)

    def count_commands(self, lamp: AttachedModule) -> int:
        devices = [
            module.device
            for plant in self.driver._plants.values()
            if (module := plant._modules.get(lamp.module.id)) is not None
        ]
        return sum(self._told.get(id(device), 0) for device in devices)


class TestSimulatorAsADriver(DriverSuite):
    @pytest.fixture
    async def bench(self, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
        async with SimulatorBench(monkeypatch) as bench:
            yield bench
