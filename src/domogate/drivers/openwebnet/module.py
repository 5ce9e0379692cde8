"""A driven module: its device on the bus, its reachability, and the callers that wait for it."""

import asyncio
from collections.abc import Callable

from domogate.domain.estate import FirstState
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.reachability import Absence
from domogate.domain.states import Report
from domogate.drivers.openwebnet.device import Device

OnChange = Callable[["DrivenModule"], None]


class DrivenModule:
    """A module of this driver. If its options are wrong, `device` is None, and the module is always absent.

    The options are also wrong if they name an OpenWebNet gateway that is not in the settings.
    """

    def __init__(self, plant_id: Id, module: Module, device: Device | None, absence: Absence | None = None) -> None:
        self.plant_id = plant_id
        self.module = module
        self.device = device
        self.absence = absence
        self.has_changes = False
        self.is_urgent = True
        """Always true: measured values arrive rarely, so `ReportQueue` need not delay them more than other changes."""
        self.received = 0
        """Number of frames about the state of this module. Only frames after an order for a state can confirm this order."""
        self.received_at = 0.0
        self.missed_answers = 0
        """Number of reads in a row without an answer."""
        self.subscribed_until = 0.0
        """The time (of the event loop) from which the requests of `Device.subscriptions` must be sent again."""
        self.order_lock = asyncio.Lock()
        """One order at a time: a second order could change the state that the first order waits for."""
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def id(self) -> Id:
        return self.module.id

    def matches(self, module: Module) -> bool:
        """Whether this object can still be used for the module: the module must have the same kind and options."""
        return (module.kind, module.options) == (self.module.kind, self.module.options)

    def differs_from(self, stored: FirstState) -> bool:
        """Whether the module is known to have another state or reachability than the stored one."""
        if self.absence is not None:
            return stored.reachable
        state = None if self.device is None else self.device.state
        return self.received > 0 and (not stored.reachable or (state is not None and state != stored.state))

    def mark_received(self, at: float) -> None:
        self.received += 1
        self.received_at = at
        self.missed_answers = 0
        self.absence = None
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def wait_until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait for frames until the condition `holds` is true, at most this number of seconds.

        Returns whether the condition is true.
        """
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

    def make_report(self, now: float) -> Report:
        """Return a report with the state and the readings since the last report, or with the absence of the module."""
        if self.absence is not None or self.device is None:
            return Report(self.plant_id, self.id, now, reachable=False, absence=self.absence)
        return Report(self.plant_id, self.id, now, self.device.state, readings=self.device.take_readings())

    def report(self, now: float) -> Report:
        self.has_changes = False
        return self.make_report(now)

    def take_back(self, report: Report) -> None:
        """Remember that the recorder refused the report.

        The readings of the refused report are sent with the next report. If a measure has a newer reading, only the newer
        reading is sent.
        """
        self.has_changes = True
        if self.device is not None:
            newer = dict(self.device.take_readings())
            for what, reading in (dict(report.readings) | newer).items():
                self.device.add_reading(what, reading)
