"""Where a driver is tried: devices to lay hands on, and an ear for all that the driver reports."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import ClassVar, Self

from domogate.domain.commands import Command, Order
from domogate.domain.ids import Id, new_id
from domogate.domain.states import LightState, Report
from domogate.ports import AttachedModule, Clock, Driver

PLANT = Id("00000000-0000-4000-8000-00000000d001")
NEIGHBOUR = Id("00000000-0000-4000-8000-00000000d002")
PATIENCE = 30.0
"""How long a test waits for what must come, and an order has that must succeed. Nothing asserts that it came sooner."""


class Heard:
    """The sink: all that the driver reported, in order. It can be made to dawdle or to fail."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.gate: asyncio.Event | None = None
        """When set to an Event, reports wait for it before they are taken."""
        self.trouble: Exception | None = None
        """Raised instead of taking reports."""
        self.calls = 0
        self._waiting: dict[asyncio.Future[None], Callable[[], bool]] = {}

    async def __call__(self, reports: Sequence[Report]) -> None:
        self.calls += 1
        self._look()
        if self.gate is not None:
            await self.gate.wait()
        if self.trouble is not None:
            raise self.trouble
        self.reports += reports
        self._look()

    def _look(self) -> None:
        """After each report, and not when whoever waits gets a turn: the next report may be there by then."""
        for waiting, holds in self._waiting.items():
            if not waiting.done() and holds():
                waiting.set_result(None)

    def of(self, placed: AttachedModule) -> list[Report]:
        return [report for report in self.reports if report.module_id == placed.module.id]

    async def until(self, holds: Callable[[], bool]) -> None:
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[waiting] = holds
        try:
            async with asyncio.timeout(PATIENCE):
                while not (waiting.done() or holds()):
                    # Also by itself now and then: what is waited for may show without a report.
                    await asyncio.wait((waiting,), timeout=0.02)
        finally:
            del self._waiting[waiting]

    async def report_of(self, placed: AttachedModule, fits: Callable[[Report], bool] = lambda _: True) -> Report:
        """The newest report of the module, as soon as it fits."""
        found: list[Report] = []

        def has_come() -> bool:
            found[:] = [report for report in self.of(placed)[-1:] if fits(report)]
            return bool(found)

        await self.until(has_come)
        return found[0]


class Bench(ABC):
    """A driver, devices behind it, and hands on those devices. Used as an async context; the driver is started inside."""

    clock: Clock
    driver: Driver
    short: ClassVar[float] = 0.2
    """Seconds in which this driver can tell a device something: the first deadline tried where nobody answers."""
    silent_ones_are_told: ClassVar[bool] = True
    """Whether `times_told` counts what a device that fell silent is told."""

    def __init__(self) -> None:
        self.heard = Heard()

    async def __aenter__(self) -> Self:
        await self.set_up()
        await self.driver.start(self.heard)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.driver.stop()
        await self.tear_down()

    # the devices

    @abstractmethod
    async def set_up(self) -> None:
        """Make the devices and whatever leads to them, and `driver` and `clock`."""

    @abstractmethod
    async def tear_down(self) -> None:
        """End what `set_up` began."""

    @abstractmethod
    def lamp(self, number: int) -> AttachedModule:
        """A lamp that is off, there to be driven; up to eight of them, always the same for the same number."""

    @abstractmethod
    def meter(self) -> AttachedModule:
        """A plug or meter that measures power."""

    @abstractmethod
    def misconfigured(self) -> AttachedModule:
        """A lamp whose options do not say how to reach it."""

    @abstractmethod
    async def switch_by_hand(self, lamp: AttachedModule, on: bool) -> None:
        """Somebody uses the switch on the wall."""

    @abstractmethod
    async def measure(self, meter: AttachedModule, watts: float) -> None:
        """It now measures this."""

    @abstractmethod
    async def vanish(self, lamp: AttachedModule) -> None:
        """It goes, in the way that this driver can notice. Others may go with it."""

    @abstractmethod
    async def come_back(self, lamp: AttachedModule) -> None:
        """After `vanish`."""

    @abstractmethod
    async def fall_silent(self, lamp: AttachedModule) -> None:
        """It still seems to be there, hears everything, does nothing and never answers again."""

    @abstractmethod
    async def make_refuse(self, lamp: AttachedModule) -> Command:
        """From now on the lamp answers with a no: the command that it refuses."""

    @abstractmethod
    def times_told(self, lamp: AttachedModule) -> int:
        """How many commands have reached the device, carried out or not."""

    # the driver

    async def attach(self, *placed: AttachedModule, plant_id: Id = PLANT) -> None:
        await self.driver.attach(plant_id, placed)

    async def attach_and_hear(self, *placed: AttachedModule, plant_id: Id = PLANT) -> None:
        await self.attach(*placed, plant_id=plant_id)
        for one in placed:
            await self.heard.report_of(one)

    def order(self, placed: AttachedModule, command: Command, *, within: float = PATIENCE, plant_id: Id = PLANT) -> Order:
        return Order(new_id(), plant_id, placed.module.id, command, self.clock.now() + within)

    async def tell(self, placed: AttachedModule, command: Command, *, within: float = PATIENCE, plant_id: Id = PLANT) -> Report:
        async with asyncio.timeout(within + PATIENCE):
            return await self.driver.execute(self.order(placed, command, within=within, plant_id=plant_id))

    async def ask(self, placed: AttachedModule, *, within: float = PATIENCE, plant_id: Id = PLANT) -> Report:
        async with asyncio.timeout(within + PATIENCE):
            return await self.driver.read(plant_id, placed.module.id, self.clock.now() + within)


def is_on(report: Report) -> bool:
    return isinstance(report.state, LightState) and report.state.on


def is_off(report: Report) -> bool:
    return isinstance(report.state, LightState) and not report.state.on


def is_away(report: Report) -> bool:
    return not report.reachable
