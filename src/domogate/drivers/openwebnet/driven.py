"""A module that is driven: the device it is on its bus, whether it can be reached, and who waits to hear of it."""

import asyncio
from collections.abc import Callable

from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.reachability import Absence
from domogate.domain.states import Report
from domogate.drivers.openwebnet.device import Device


class Driven:
    """`device` is None where the options do not say how to drive it; it is absent then, and stays so."""

    def __init__(self, plant_id: Id, module: Module, device: Device | None, absence: Absence | None = None) -> None:
        self.plant_id = plant_id
        self.module = module
        self.device = device
        self.absence = absence
        self.heard = 0
        """How often it was heard of; what is shown by something heard since then is known to be so."""
        self.heard_at = 0.0
        self.missed = 0
        """How often in a row it did not answer."""
        self.subscribed_until = 0.0
        self.turn = asyncio.Lock()
        """One order at a time: the next would undo what the first waits to see."""
        self._waiting: set[asyncio.Future[None]] = set()

    def is_driven_as(self, module: Module) -> bool:
        """Whether it goes on with all that is known of it, whatever else changed."""
        return (module.kind, module.options) == (self.module.kind, self.module.options)

    def is_heard(self, at: float) -> None:
        self.heard += 1
        self.heard_at = at
        self.missed = 0
        self.absence = None
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait to hear of it until this holds, for so long at most. Whether it does."""
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                while not holds():
                    await self._wait()
        except TimeoutError:
            return holds()
        return True

    async def _wait(self) -> None:
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await waiting
        finally:
            self._waiting.discard(waiting)

    def report(self, at: float) -> Report:
        """What it is in now, with the measures since the last report."""
        if self.absence is not None or self.device is None:
            return Report(self.plant_id, self.module.id, at, reachable=False, absence=self.absence)
        return Report(self.plant_id, self.module.id, at, self.device.state, readings=self.device.take_readings())

    def take_back(self, report: Report) -> None:
        """The report was not taken: its measures go with the next one, unless there are newer ones."""
        if self.device is not None:
            newer = dict(self.device.take_readings())
            for what, reading in (dict(report.readings) | newer).items():
                self.device.note(what, reading)
