"""What is to be reported goes out in batches, one plant at a time and never faster than it is taken (Decision 0038)."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

import structlog

from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.ports import Clock, ReportSink

_log = structlog.get_logger(__name__)

PAUSE = 1.0
"""Seconds between two reports of the same module, at least. The first after a silence goes out at once."""
LOOK = 0.05
"""Seconds between two looks at whose turn it is."""
BATCH = 20
"""So few at once that nobody else is held up for more than a moment."""
SHARE, LONGEST_SHARE = 4.0, 5.0
"""After a batch that took a second to be taken, so many are waited: whoever takes reports has time for others.

But not for ever: a batch may also have taken long because the gateway itself was held up.
"""
RETRY = 1.0


class Newsworthy(Protocol):
    """Something of which there may be news."""

    @property
    def id(self) -> Id: ...
    @property
    def has_news(self) -> bool: ...
    def report(self, now: float) -> Report: ...
    def unreport(self) -> None:
        """The report was not taken: it is news again."""
        ...


class Outbox:
    """The modules of one plant that have news. What is said of each is what it is in when its turn comes: the newest."""

    def __init__(self, plant_id: Id, report: ReportSink, clock: Clock) -> None:
        self._plant_id = plant_id
        self._report = report
        self._clock = clock
        self._time = asyncio.get_running_loop().time
        self._waiting: dict[Id, Newsworthy] = {}
        self._sent_at: dict[Id, float] = {}
        self._sending: asyncio.Task[None] | None = None
        self._rested = asyncio.Event()
        self._resting_until = 0.0

    def add(self, module: Newsworthy) -> None:
        if not module.has_news:
            return
        self._waiting[module.id] = module
        if self._sent_at.get(module.id, 0.0) + PAUSE < self._resting_until:
            self._rested.set()
        if self._sending is None:
            self._sending = asyncio.create_task(self._send(), name=f"reports of plant {self._plant_id} by mqtt")

    async def stop(self) -> None:
        self._waiting.clear()
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    async def _send(self) -> None:
        try:
            while self._waiting:
                now = self._time()
                due = [module for name, module in self._waiting.items() if self._sent_at.get(name, -PAUSE) + PAUSE <= now]
                for start in range(0, len(due), BATCH):
                    await asyncio.sleep(await self._send_batch(due[start : start + BATCH]))
                await self._rest()
        finally:
            self._sending = None
            self._forget_long_ago()

    async def _rest(self) -> None:
        """Until it is somebody's turn: that of one who was just heard, or of one who has news that comes after."""
        self._forget_long_ago()
        turn = min((self._sent_at.get(name, 0.0) + PAUSE for name in self._waiting), default=0.0)
        pause = turn - self._time()
        if pause > LOOK:
            self._rested.clear()
            self._resting_until = turn
            timer = asyncio.get_running_loop().call_later(pause - LOOK, self._rested.set)
            try:
                await self._rested.wait()
            finally:
                timer.cancel()
                self._resting_until = 0.0
        await asyncio.sleep(LOOK)

    def _forget_long_ago(self) -> None:
        now = self._time()
        self._sent_at = {name: at for name, at in self._sent_at.items() if at + PAUSE > now}

    async def _send_batch(self, modules: Sequence[Newsworthy]) -> float:
        """How long to wait before the next."""
        begun = self._time()
        for module in modules:
            self._waiting.pop(module.id, None)
        # Nothing may be awaited between taking the news and handing it on: an order confirmed then would be overwritten.
        news = [module for module in modules if module.has_news]
        reports = [module.report(self._clock.now()) for module in news]
        if not reports:
            return 0.0
        self._sent_at |= {module.id: begun for module in news}
        try:
            await self._report(reports)
        except Exception as error:
            _log.error("reports not taken, they are kept", plant_id=self._plant_id, reports=len(reports), exc_info=error)
            for module in news:
                module.unreport()
                self._waiting[module.id] = module
            return RETRY
        return min(LONGEST_SHARE, SHARE * (self._time() - begun))
