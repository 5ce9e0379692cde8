"""Reports go out in batches, one plant at a time, and never faster than the receiver takes them (Decision 0038)."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

import structlog

from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.ports import Clock, ReportSink

_log = structlog.get_logger(__name__)

CHECK_EVERY = 0.05
"""Seconds between two checks for modules that are due."""
BATCH = 20
"""So few at once that other tasks wait for milliseconds only."""
SHARE, LONGEST_SHARE = 4.0, 5.0
"""After a batch that took one second, the queue waits `SHARE` seconds: the receiver has time for others.

It waits `LONGEST_SHARE` seconds at most: a batch may also take long because the gateway itself was busy.
"""
RETRY = 1.0


class Reportable(Protocol):
    """A module that may have changes to report."""

    @property
    def plant_id(self) -> Id: ...
    @property
    def id(self) -> Id: ...
    @property
    def has_changes(self) -> bool: ...
    def report(self, now: float) -> Report: ...
    def take_back(self, report: Report) -> None:
        """The report was refused: its content must be reported again."""
        ...


class ReportQueues:
    """One queue for each plant of a driver."""

    def __init__(self, clock: Clock, pause: float) -> None:
        self._clock = clock
        self._pause = pause
        self._sink: ReportSink | None = None
        self._queues: dict[Id, ReportQueue] = {}

    def start(self, sink: ReportSink) -> None:
        self._sink = sink

    async def stop(self) -> None:
        self._sink = None
        for plant_id in tuple(self._queues):
            await self.remove(plant_id)

    async def remove(self, plant_id: Id) -> None:
        queue = self._queues.pop(plant_id, None)
        if queue is not None:
            await queue.stop()

    def add(self, module: Reportable) -> None:
        if self._sink is None or not module.has_changes:
            return
        queue = self._queues.get(module.plant_id)
        if queue is None:
            queue = self._queues[module.plant_id] = ReportQueue(module.plant_id, self._sink, self._clock, self._pause)
        queue.add(module)


class ReportQueue:
    """The modules of one plant that have changes. A report has the state at the time when it is sent: the newest.

    `pause` is the time between two reports of the same module. The first change after that time is reported at once.
    """

    def __init__(self, plant_id: Id, sink: ReportSink, clock: Clock, pause: float) -> None:
        self._plant_id = plant_id
        self._sink = sink
        self._clock = clock
        self._pause = pause
        self._time = asyncio.get_running_loop().time
        self._waiting: dict[Id, Reportable] = {}
        self._sent_at: dict[Id, float] = {}
        self._sending: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._sleeping_until = 0.0

    def add(self, module: Reportable) -> None:
        if not module.has_changes:
            return
        self._waiting[module.id] = module
        if self._sent_at.get(module.id, 0.0) + self._pause < self._sleeping_until:
            self._wake.set()
        if self._sending is None:
            self._sending = asyncio.create_task(self._send(), name=f"reports of plant {self._plant_id}")

    async def stop(self) -> None:
        self._waiting.clear()
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    async def _send(self) -> None:
        try:
            while self._waiting:
                now, pause = self._time(), self._pause
                due = [module for name, module in self._waiting.items() if self._sent_at.get(name, -pause) + pause <= now]
                for start in range(0, len(due), BATCH):
                    await asyncio.sleep(await self._send_batch(due[start : start + BATCH]))
                await self._sleep()
        finally:
            self._sending = None
            self._forget_old()

    async def _sleep(self) -> None:
        """Until the next module is due; `add` wakes it for a module that is due earlier."""
        self._forget_old()
        due = min((self._sent_at.get(name, 0.0) + self._pause for name in self._waiting), default=0.0)
        seconds = due - self._time()
        if seconds > CHECK_EVERY:
            self._wake.clear()
            self._sleeping_until = due
            timer = asyncio.get_running_loop().call_later(seconds - CHECK_EVERY, self._wake.set)
            try:
                await self._wake.wait()
            finally:
                timer.cancel()
                self._sleeping_until = 0.0
        await asyncio.sleep(CHECK_EVERY)

    def _forget_old(self) -> None:
        now = self._time()
        self._sent_at = {name: at for name, at in self._sent_at.items() if at + self._pause > now}

    async def _send_batch(self, modules: Sequence[Reportable]) -> float:
        """Returns how long to wait before the next batch."""
        begun = self._time()
        for module in modules:
            self._waiting.pop(module.id, None)
        # No await between taking the changes and sending them: an order confirmed there would be overwritten.
        changed = [module for module in modules if module.has_changes]
        reports = [module.report(self._clock.now()) for module in changed]
        if not reports:
            return 0.0
        self._sent_at |= {module.id: begun for module in changed}
        try:
            await self._sink(reports)
        except Exception as error:
            _log.error("reports refused; they are sent again", plant_id=self._plant_id, reports=len(reports), exc_info=error)
            for module, report in zip(changed, reports, strict=True):
                module.take_back(report)
                self._waiting[module.id] = module
            return RETRY
        return min(LONGEST_SHARE, SHARE * (self._time() - begun))
