"""The driver: time passes in ticks, orders and questions are answered at once, unless a module is told to behave otherwise."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import structlog

from domogate.domain.commands import Order
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.drivers.simulator.behaviour import Behaviour
from domogate.drivers.simulator.plant import Simulated, SimulatedPlant
from domogate.ports import Clock, Placed, ReportSink

_log = structlog.get_logger(__name__)


async def _say_nothing(reports: Sequence[Report]) -> None:
    """Until it is started, nobody listens."""


class Simulator:
    """Simulated plants, by seed. All that happens in them follows from the seed, the clock and the orders."""

    name = "simulator"

    def __init__(self, clock: Clock, *, seed: int, tick: float) -> None:
        self._clock = clock
        self._seed = seed
        self._tick = tick
        self._report: ReportSink = _say_nothing
        self._plants: dict[Id, SimulatedPlant] = {}
        self._ticking: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    async def start(self, report: ReportSink) -> None:
        self._report = report
        self._stopping.clear()
        self._ticking = asyncio.create_task(self._keep_ticking(), name="ticking of the simulator")

    async def stop(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.gather(self._ticking, return_exceptions=True)
            self._ticking = None
        self._plants.clear()
        self._stopping.set()

    async def wait_failed(self) -> Exception:
        """It stands on nothing that could fail it."""
        return await asyncio.get_running_loop().create_future()

    async def attach(self, plant_id: Id, modules: Sequence[Placed]) -> None:
        plant = self._plants.get(plant_id)
        if plant is None:
            plant = self._plants[plant_id] = SimulatedPlant(plant_id, self._seed)
        reports = plant.place(modules, self._clock.now())
        if reports:
            await self._say(reports)

    async def _say(self, reports: Sequence[Report]) -> None:
        try:
            await self._report(reports)
        except Exception as error:
            _log.error("reports not taken", plant_id=reports[0].plant_id, reports=len(reports), exc_info=error)

    async def detach(self, plant_id: Id) -> None:
        self._plants.pop(plant_id, None)

    # time

    async def step(self) -> None:
        """Let time pass in all plants until now; each reports once what is different. Others get their turn in between."""
        for plant in tuple(self._plants.values()):
            try:
                await self._step_in(plant)
            except Exception as error:
                _log.error("simulation of a plant failed", plant_id=plant.id, exc_info=error)
            await asyncio.sleep(0)

    async def _step_in(self, plant: SimulatedPlant) -> None:
        for _ in plant.evolve(self._clock.now()):
            await asyncio.sleep(0)
        if self._plants.get(plant.id) is not plant:
            return
        # Nothing may be awaited between taking the news and handing it on: an order carried out then would be overwritten.
        news = plant.take_news(self._clock.now())
        if news:
            await self._say(news)

    async def _keep_ticking(self) -> None:
        while True:
            await asyncio.sleep(self._tick)
            await self.step()

    # orders and questions

    async def execute(self, order: Order) -> Report:
        plant, module = self._find(order.plant_id, order.module_id)
        if module.absence is not None:
            raise DeviceOffline("the device is offline")
        if module.behaviour is Behaviour.SLOW:
            await self._dawdle(order.deadline)
        if module.behaviour is Behaviour.REFUSING:
            raise DeviceRefused("the device refuses all commands")
        if module.device is None:
            raise DeviceRefused("a scene takes no commands")
        now = self._clock.now()
        if now >= order.deadline:
            raise DeviceTimeout("the device was told too late")
        module.device.evolve(now)
        module.device.obey(order.command, now)
        return plant.report(module, now)

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        plant, module = self._find(plant_id, module_id)
        if module.behaviour is Behaviour.SLOW:
            await self._dawdle(deadline)
        now = self._clock.now()
        if module.absence is not None:
            return plant.report_absence(module, now)
        if module.device is not None:
            module.device.evolve(now)
        return plant.report(module, now)

    def _find(self, plant_id: Id, module_id: Id) -> tuple[SimulatedPlant, Simulated]:
        plant = self._plants.get(plant_id)
        if plant is None:
            raise DeviceOffline("the simulator does not drive this plant")
        return plant, plant.find(module_id)

    async def _dawdle(self, deadline: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), max(0.0, deadline - self._clock.now()))
            raise DeviceOffline("the simulator has been stopped")
        raise DeviceTimeout("the device did not answer in time")
