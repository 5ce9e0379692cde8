"""A simulator with one plant, in which time passes when the test says so."""

from collections.abc import Sequence

from domogate.domain.commands import Command
from domogate.domain.states import Report
from domogate.drivers.simulator import Simulator
from domogate.ports import AttachedModule
from support.devices import StillClock, make_id, make_order

PLANT = make_id(1)


class House:
    """A simulator with one plant, and all it reported."""

    def __init__(self, *placed: AttachedModule, seed: int = 1) -> None:
        self.clock = StillClock()
        self.simulator = Simulator(self.clock, seed=seed, tick=3600.0)
        self.lists: list[list[Report]] = []
        self.placed = placed

    async def __aenter__(self) -> "House":
        async def take(reports: Sequence[Report]) -> None:
            self.lists.append(list(reports))

        await self.simulator.start(take)
        await self.simulator.attach(PLANT, self.placed)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.simulator.stop()

    async def pass_by(self, seconds: float) -> list[Report]:
        before = len(self.reports)
        self.clock.pass_by(seconds)
        await self.simulator.step()
        return self.reports[before:]

    @property
    def reports(self) -> list[Report]:
        return [report for reports in self.lists for report in reports]

    async def tell(self, command: Command, placed: AttachedModule | None = None) -> Report:
        module = (placed or self.placed[0]).module
        return await self.simulator.execute(make_order(PLANT, module.id, command, deadline=self.clock.now() + 5))

    async def ask(self, placed: AttachedModule | None = None) -> Report:
        return await self.simulator.read(PLANT, (placed or self.placed[0]).module.id, self.clock.now() + 5)
