"""A simulator with one plant. Time passes only when the test moves the clock."""

from collections.abc import Sequence
from typing import TypeVar

from domogate.domain.commands import Command
from domogate.domain.states import Reading, Report, State
from domogate.drivers.simulator.simulator import Simulator
from domogate.ports import AttachedModule
from support.clocks import NOON, ManualClock
from support.devices import make_id, make_order

PLANT = make_id(1)
S = TypeVar("S", bound=State)


class SimulatorSetup:
    """A simulator with one plant, and all it reported."""

    def __init__(self, *attached: AttachedModule, seed: int = 1, speed: float = 1.0) -> None:
        self.clock = ManualClock(NOON)
        self.simulator = Simulator(self.clock, seed=seed, tick=3600.0, speed=speed)
        self.lists: list[list[Report]] = []
        self.attached = attached

    async def __aenter__(self) -> "SimulatorSetup":
        async def take(reports: Sequence[Report]) -> None:
            self.lists.append(list(reports))

        await self.simulator.start(take)
        await self.simulator.attach(PLANT, self.attached)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.simulator.stop()

    async def advance(self, seconds: float, *, every: float | None = None) -> list[Report]:
        """Let time pass in one step, or in steps of `every` seconds. Returns the reports of that time."""
        before, step = len(self.reports), every or seconds
        for _ in range(int(seconds / step)):
            self.clock.advance(step)
            await self.simulator.step()
        return self.reports[before:]

    async def move(self, seconds: float) -> list[State | None]:
        """Let time pass for moving devices only. Returns the states that they reported."""
        before = len(self.reports)
        self.clock.advance(seconds)
        await self.simulator.step_in_motion()
        return [report.state for report in self.reports[before:]]

    @property
    def reports(self) -> list[Report]:
        return [report for reports in self.lists for report in reports]

    async def order(self, command: Command, attached: AttachedModule | None = None) -> Report:
        module = (attached or self.attached[0]).module
        return await self.simulator.execute(make_order(PLANT, module.id, command, deadline=self.clock.now() + 5))

    async def read(self, attached: AttachedModule | None = None) -> Report:
        return await self.simulator.read(PLANT, (attached or self.attached[0]).module.id, self.clock.now() + 5)

    async def state(self, kind: type[S], attached: AttachedModule | None = None) -> S:
        """The state that a read returns, which must be of this class."""
        return state_of(await self.read(attached), kind)


def state_of(report: Report, kind: type[S]) -> S:
    """The state in the report, which must be of this class."""
    assert isinstance(report.state, kind)
    return report.state


def value_of(reading: Reading | None) -> float:
    assert reading is not None
    return reading.value
