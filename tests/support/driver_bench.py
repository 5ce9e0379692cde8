"""A bench for a driver: devices that the test controls, and a recorder of all reports."""

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
OTHER_PLANT = Id("00000000-0000-4000-8000-00000000d002")
PATIENCE = 30.0
"""Seconds that a test waits for an expected event, and the deadline of an order that must succeed."""


class ReportRecorder:
    """Receives all reports of the driver, in order. It can be made slow, or made to fail."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.gate: asyncio.Event | None = None
        """While it is set, reports wait for this event."""
        self.error: Exception | None = None
        """Raised instead of recording reports."""
        self.calls = 0
        self._waiting: dict[asyncio.Future[None], Callable[[], bool]] = {}

    async def __call__(self, reports: Sequence[Report]) -> None:
        self.calls += 1
        self._look()
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        self.reports += reports
        self._look()

    def _look(self) -> None:
        """Checked after each report: when the waiting test runs, the next report may have come already."""
        for waiting, holds in self._waiting.items():
            if not waiting.done() and holds():
                waiting.set_result(None)

    def of(self, attached: AttachedModule) -> list[Report]:
        return [report for report in self.reports if report.module_id == attached.module.id]

    async def until(self, holds: Callable[[], bool]) -> None:
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[waiting] = holds
        try:
            async with asyncio.timeout(PATIENCE):
                while not (waiting.done() or holds()):
                    # Check regularly too: the condition may become true without a report.
                    await asyncio.wait((waiting,), timeout=0.02)
        finally:
            del self._waiting[waiting]

    async def report_of(self, attached: AttachedModule, fits: Callable[[Report], bool] = lambda _: True) -> Report:
        """The newest report of the module, as soon as it fits."""
        found: list[Report] = []

        def has_come() -> bool:
            found[:] = [report for report in self.of(attached)[-1:] if fits(report)]
            return bool(found)

        await self.until(has_come)
        return found[0]


class Bench(ABC):
    """A driver and its devices, which the test controls. An async context; the driver is started inside."""

    clock: Clock
    driver: Driver
    short: ClassVar[float] = 0.2
    """Seconds in which this driver can send a command: the first deadline for a device that does not answer."""
    counts_commands_to_silent_lamps: ClassVar[bool] = True
    """Whether `count_commands` counts commands to a device that stopped answering."""

    def __init__(self) -> None:
        self.recorder = ReportRecorder()

    async def __aenter__(self) -> Self:
        await self.set_up()
        await self.driver.start(self.recorder)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.driver.stop()
        await self.tear_down()

    # devices

    @abstractmethod
    async def set_up(self) -> None:
        """Make the devices, the connection to them, `driver` and `clock`."""

    @abstractmethod
    async def tear_down(self) -> None:
        """Stop everything that `set_up` started."""

    @abstractmethod
    def lamp(self, number: int) -> AttachedModule:
        """A lamp that is off; there are eight, and each number always means the same lamp."""

    @abstractmethod
    def meter(self) -> AttachedModule:
        """A plug or meter that measures power."""

    @abstractmethod
    def misconfigured(self) -> AttachedModule:
        """A lamp with wrong options."""

    @abstractmethod
    async def switch_by_hand(self, lamp: AttachedModule, on: bool) -> None:
        """A resident uses the switch on the wall."""

    @abstractmethod
    async def measure(self, meter: AttachedModule, watts: float) -> None:
        """The meter now measures this."""

    @abstractmethod
    async def go_offline(self, lamp: AttachedModule) -> None:
        """The lamp goes offline in a way that this driver can notice. Others may go offline too."""

    @abstractmethod
    async def come_online(self, lamp: AttachedModule) -> None:
        """After `go_offline`."""

    @abstractmethod
    async def stop_answering(self, lamp: AttachedModule) -> None:
        """The lamp seems to be online, but it ignores commands and never answers."""

    @abstractmethod
    async def make_refuse(self, lamp: AttachedModule) -> Command:
        """From now on the lamp refuses the returned command."""

    @abstractmethod
    def count_commands(self, lamp: AttachedModule) -> int:
        """The number of commands that have reached the device, executed or not."""

    # driver

    async def attach(self, *attached: AttachedModule, plant_id: Id = PLANT) -> None:
        await self.driver.attach(plant_id, attached)

    async def attach_and_wait(self, *attached: AttachedModule, plant_id: Id = PLANT) -> None:
        await self.attach(*attached, plant_id=plant_id)
        for one in attached:
            await self.recorder.report_of(one)

    def order(self, attached: AttachedModule, command: Command, *, within: float = PATIENCE, plant_id: Id = PLANT) -> Order:
        return Order(new_id(), plant_id, attached.module.id, command, self.clock.now() + within)

    async def tell(
        self, attached: AttachedModule, command: Command, *, within: float = PATIENCE, plant_id: Id = PLANT
    ) -> Report:
        async with asyncio.timeout(within + PATIENCE):
            return await self.driver.execute(self.order(attached, command, within=within, plant_id=plant_id))

    async def ask(self, attached: AttachedModule, *, within: float = PATIENCE, plant_id: Id = PLANT) -> Report:
        async with asyncio.timeout(within + PATIENCE):
            return await self.driver.read(plant_id, attached.module.id, self.clock.now() + within)


def is_on(report: Report) -> bool:
    return isinstance(report.state, LightState) and report.state.on


def is_off(report: Report) -> bool:
    return isinstance(report.state, LightState) and not report.state.on


def is_absent(report: Report) -> bool:
    return not report.reachable
