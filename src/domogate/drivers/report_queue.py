"""Sends reports to the recorder in batches of one plant, and never faster than the recorder accepts them (Decision 0038)."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from domogate.common.log import get_logger
from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.ports import Clock, ReportSink

_log = get_logger(__name__)

CHECK_EVERY = 0.05
"""Seconds between two checks for modules whose report is due."""
BATCH = 20
"""The largest number of modules in a batch. It is so small that other tasks wait only for milliseconds."""
SHARE, LONGEST_SHARE = 4.0, 5.0
"""After a batch, the queue waits `SHARE` times as long as the batch took. So the recorder has time for other work.

The queue waits at most `LONGEST_SHARE` seconds. Without this limit, it would wait too long after a batch that took a long time
only because the gateway itself was busy.
"""
RETRY = 1.0
"""In seconds: the pause before a refused batch is sent again.

While a batch is sent, an order to one of its modules may begin. Then the changes of this module wait for its answer,
for at most `HOLD` seconds. The pause is not shorter than `HOLD`, so this wait is over when the batch is sent again.
"""
BURST = 10
"""This number of changes of a module is reported without a pause. After that, all changes during one pause share one report."""
HOLD = 1.0
"""In seconds: the longest time for which the changes of a module wait for the answer to an order."""


class Reportable(Protocol):
    """A module that may have changes to report."""

    @property
    def plant_id(self) -> Id: ...
    @property
    def id(self) -> Id: ...
    @property
    def has_changes(self) -> bool: ...
    @property
    def is_urgent(self) -> bool:
        """Whether a value that is not a measured value has changed. `ReportQueue` reports such a change with less delay."""
        ...

    def report(self, now: float) -> Report: ...
    def take_back(self, report: Report, /) -> None:
        """Remember that the recorder refused the report: its content must be reported again."""
        ...


class ReportQueues:
    """One queue for each plant of a driver."""

    def __init__(self, clock: Clock, pause: float) -> None:
        self._clock = clock
        self._pause = pause
        self._sink: ReportSink | None = None
        self._queues: dict[Id, ReportQueue] = {}
        self._held_until: dict[Id, float] = {}

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

    @contextmanager
    def hold(self, module: Reportable) -> Iterator[None]:
        """Inside the `with` block, the module executes an order. Its changes wait until the block ends, at most `HOLD` seconds.

        Then the changes that waited are reported together.
        """
        loop = asyncio.get_running_loop()
        until = self._held_until[module.id] = loop.time() + HOLD
        if module.plant_id in self._queues:
            self._queues[module.plant_id].discard(module)
        timer = loop.call_at(until, self.add, module)
        try:
            yield
        finally:
            timer.cancel()
            if self._held_until.get(module.id) == until:  # If they differ, another order has begun.
                del self._held_until[module.id]
            self.add(module)

    def add(self, module: Reportable) -> None:
        if self._sink is None or not module.has_changes:
            return
        if self._held_until.get(module.id, 0.0) > asyncio.get_running_loop().time():
            return
        queue = self._queues.get(module.plant_id)
        if queue is None:
            queue = self._queues[module.plant_id] = ReportQueue(module.plant_id, self._sink, self._clock, self._pause)
        queue.add(module)


class ReportQueue:
    """The modules of one plant that have changes.

    A change is reported immediately, with two exceptions. After `BURST` changes in a short time, the module is reported only
    once in `pause` seconds. If only measured values have changed, the report waits until `pause` seconds after the last report.
    """

    def __init__(self, plant_id: Id, sink: ReportSink, clock: Clock, pause: float) -> None:
        self._plant_id = plant_id
        self._sink = sink
        self._clock = clock
        self._pause = pause
        self._time = asyncio.get_running_loop().time
        self._waiting: dict[Id, tuple[float, Reportable]] = {}
        """Modules with the times from which they may report."""
        self._sent_at: dict[Id, float] = {}
        self._recovered_at: dict[Id, float] = {}
        """For each module: the time from which it may again report `BURST` changes without a pause."""
        self._sending: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._sleeping_until = 0.0

    def add(self, module: Reportable) -> None:
        if not module.has_changes:
            return
        due = self._due_at(module)
        self._waiting[module.id] = (due, module)
        if due < self._sleeping_until:
            self._wake.set()
        if self._sending is None:
            self._sending = asyncio.create_task(self._send(), name=f"reports of plant {self._plant_id}")

    def discard(self, module: Reportable) -> None:
        self._waiting.pop(module.id, None)

    async def stop(self) -> None:
        self._waiting.clear()
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    async def _send(self) -> None:
        try:
            while self._waiting:
                now = self._time()
                modules = [module for due, module in self._waiting.values() if due <= now]
                for start in range(0, len(modules), BATCH):
                    await asyncio.sleep(await self._send_batch(modules[start : start + BATCH]))
                await self._sleep()
        finally:
            self._sending = None
            self._forget_old()

    def _due_at(self, module: Reportable) -> float:
        if module.is_urgent:
            return self._recovered_at.get(module.id, 0.0) - (BURST - 1) * self._pause
        return self._sent_at.get(module.id, -self._pause) + self._pause

    async def _sleep(self) -> None:
        """Sleep until the next report of a module is due. `add` ends the sleep if a report is due earlier."""
        self._forget_old()
        due = min((due for due, _ in self._waiting.values()), default=0.0)
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
        self._recovered_at = {name: at for name, at in self._recovered_at.items() if at > now}

    async def _send_batch(self, modules: Sequence[Reportable]) -> float:
        """Send the changes of the modules. Returns the seconds to wait before the next batch."""
        begun = self._time()
        # No await between taking the changes and sending them: an order that is confirmed in between would be overwritten.
        changed = [module for module in modules if self._waiting.pop(module.id, None) is not None and module.has_changes]
        for module in changed:
            if module.is_urgent:
                self._recovered_at[module.id] = max(begun, self._recovered_at.get(module.id, begun)) + self._pause
        reports = [module.report(self._clock.now()) for module in changed]
        if not reports:
            return 0.0
        self._sent_at |= {module.id: begun for module in changed}
        try:
            await self._sink(reports)
        except Exception as error:
            _log.error(
                "reports were refused; they will be sent again", plant_id=self._plant_id, reports=len(reports), exc_info=error
            )
            for module, report in zip(changed, reports, strict=True):
                module.take_back(report)
                self._waiting[module.id] = (0.0, module)
            return RETRY
        return min(LONGEST_SHARE, SHARE * (self._time() - begun))
