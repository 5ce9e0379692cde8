"""The simulator as a driver. Time passes in ticks. Orders and reads are answered without delay, unless options change this."""

import asyncio
from collections.abc import Sequence

from domogate.common.log import get_logger
from domogate.common.tasks import wait_for_event
from domogate.domain.commands import Order
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.drivers.simulator.behaviour import Behaviour
from domogate.drivers.simulator.device import TimeScale
from domogate.drivers.simulator.plant import SimulatedModule, SimulatedPlant
from domogate.drivers.simulator.weather import Weather
from domogate.ports import AttachedModule, Clock, Picture, ReportSink, SharedClock

_log = get_logger(__name__)

MOTION_TICK = 0.5
"""Seconds of real time between two computations of moving devices (a shutter, a fading lamp)."""


async def _ignore_reports(reports: Sequence[Report]) -> None:
    """Drop the reports. The simulator uses this function until its start, because only `start` names a receiver of reports."""


class Simulator:
    """Simulated plants. Their random choices come from the seed, so they are the same in every run.

    If `speed` is not 1, simulated time runs faster or slower than the clock (Decision 0036). Outside a cluster, the two times
    are equal at the moment when the simulator is created. In a cluster, they are equal at the start of the first gateway, for
    the simulators of all gateways. So a plant that moves to another gateway keeps its simulated time.
    """

    name = "simulator"

    def __init__(self, clock: Clock, *, seed: int, tick: float, speed: float = 1.0) -> None:
        self._clock = clock
        self._seed = seed
        self._tick = tick
        self._time_scale = TimeScale(speed, origin=clock.now())
        self._weather = Weather(seed)
        self._report: ReportSink = _ignore_reports
        self._plants: dict[Id, SimulatedPlant] = {}
        self._ticking: asyncio.Task[None] | None = None
        self._stopped = asyncio.Event()
        self._motion = asyncio.Event()

    async def start(self, report: ReportSink) -> None:
        self._report = report
        if isinstance(self._clock, SharedClock):
            self._time_scale = TimeScale(self._time_scale.speed, origin=self._clock.began_at)
        self._stopped.clear()
        self._ticking = asyncio.create_task(self._keep_ticking(), name="ticking of the simulator")

    async def stop(self) -> None:
        self._plants.clear()
        self._stopped.set()
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.gather(self._ticking, return_exceptions=True)
            self._ticking = None

    async def wait_failed(self) -> Exception:
        """Never returns, because the simulator cannot fail as a whole."""
        never: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        return await never

    async def attach(self, plant_id: Id, modules: Sequence[AttachedModule]) -> None:
        plant = self._plants.get(plant_id)
        if plant is None:
            plant = self._plants[plant_id] = SimulatedPlant(plant_id, self._seed, self._weather, self._time_scale)
        for _ in plant.attach(modules, self._clock.now()):
            await asyncio.sleep(0)
        if self._plants.get(plant_id) is plant:
            if plant.in_motion:
                self._motion.set()
            await self._send(plant.take_first_reports(self._clock.now()))

    async def detach(self, plant_id: Id) -> None:
        self._plants.pop(plant_id, None)

    async def _send(self, reports: Sequence[Report]) -> None:
        if not reports:
            return
        try:
            await self._report(reports)
        except Exception as error:
            _log.error("reports refused", plant_id=reports[0].plant_id, reports=len(reports), exc_info=error)

    # time

    async def step(self) -> None:
        """Move the simulated time of all plants forward to now, and report the changes.

        Other tasks can run between two plants, and between two parts of a large plant.
        """
        for plant in tuple(self._plants.values()):
            try:
                await self._step_in(plant)
            except Exception as error:
                _log.error("the simulation of a plant failed", plant_id=plant.id, exc_info=error)
            await asyncio.sleep(0)

    async def _step_in(self, plant: SimulatedPlant) -> None:
        for _ in plant.evolve(self._clock.now()):
            await asyncio.sleep(0)
        if self._plants.get(plant.id) is plant:
            # No await between taking the changes and sending them: an order that is executed in between would be overwritten.
            await self._send(plant.take_changes(self._clock.now()))

    async def step_in_motion(self) -> None:
        """Move the simulated time of moving devices forward to now, and report their changes."""
        for plant in [plant for plant in self._plants.values() if plant.in_motion]:
            try:
                await self._send(plant.evolve_moving(self._clock.now()))
            except Exception as error:
                _log.error("the simulation of a plant failed", plant_id=plant.id, exc_info=error)

    async def _keep_ticking(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + self._tick
        while True:
            await self._pause(due - loop.time())
            if loop.time() >= due:
                await self.step()
                due = loop.time() + self._tick
            else:
                await self.step_in_motion()

    async def _pause(self, until_tick: float) -> None:
        if any(plant.in_motion for plant in self._plants.values()):
            await asyncio.sleep(max(0.0, min(until_tick, MOTION_TICK)))
            return
        self._motion.clear()
        await wait_for_event(self._motion, until_tick)

    # orders and reads

    async def execute(self, order: Order) -> Report:
        plant, module = self._find(order.plant_id, order.module_id)
        if module.absence is not None:
            raise DeviceOffline(f"the device is offline: {module.absence.evidence}")
        if module.behaviour is Behaviour.SLOW:
            await self._wait_until_deadline(order.deadline)
        if module.behaviour is Behaviour.REFUSING:
            raise DeviceRefused("the device refuses all commands")
        now = self._clock.now()
        if now >= order.deadline:
            raise DeviceTimeout("the order came after its deadline")
        report = plant.execute(module, order.command, now)
        if plant.in_motion:
            self._motion.set()
        return report

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        plant, module = self._find(plant_id, module_id)
        if module.behaviour is Behaviour.SLOW and module.absence is None:
            await self._wait_until_deadline(deadline)
        return plant.read(module, self._clock.now())

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        plant, module = self._find(plant_id, module_id)
        if module.absence is not None:
            raise DeviceOffline(f"the device is offline: {module.absence.evidence}")
        if module.behaviour is Behaviour.SLOW:
            await self._wait_until_deadline(deadline)
        return plant.take_picture(module, self._clock.now())

    def _find(self, plant_id: Id, module_id: Id) -> tuple[SimulatedPlant, SimulatedModule]:
        plant = self._plants.get(plant_id)
        if plant is None:
            raise DeviceOffline("the simulator does not drive this plant")
        return plant, plant.find(module_id)

    async def _wait_until_deadline(self, deadline: float) -> None:
        if await wait_for_event(self._stopped, deadline - self._clock.now()):
            raise DeviceOffline("the simulator has been stopped")
        raise DeviceTimeout("the device did not answer in time")
