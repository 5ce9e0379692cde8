"""What is to be reported: of each module its newest, whenever whoever listens has time for more."""

import asyncio
from collections.abc import Callable

import structlog

from domogate.drivers.openwebnet.driven import Driven
from domogate.ports import Clock, ReportSink

_log = structlog.get_logger(__name__)

PAUSE = 0.05
"""Between two batches: a flood of events becomes one report of each module in so many seconds."""
PAUSE_AFTER_FAILURE = 1.0
_BATCH = 250


class Outbox:
    """Holds modules, not reports: a listener that takes its time hears less often, and always the newest."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed: dict[Driven, None] = {}
        self._news = asyncio.Event()

    def put(self, driven: Driven) -> None:
        self._changed[driven] = None
        self._news.set()

    def discard(self, gone: Callable[[Driven], bool]) -> None:
        self._changed = {driven: None for driven in self._changed if not gone(driven)}

    def clear(self) -> None:
        self._changed.clear()

    async def keep_sending(self, sink: ReportSink) -> None:
        while True:
            await self._news.wait()
            taken = await self._send(sink)
            if not self._changed:
                self._news.clear()
            await asyncio.sleep(PAUSE if taken else PAUSE_AFTER_FAILURE)

    async def _send(self, sink: ReportSink) -> bool:
        if not self._changed:
            return True  # what was to be told is not driven any more
        batch = [driven for driven, _ in zip(tuple(self._changed), range(_BATCH), strict=False)]
        for driven in batch:
            del self._changed[driven]
        now = self._clock.now()
        reports = [driven.report(now) for driven in batch]
        try:
            await sink(reports)
        except Exception as error:
            _log.error("reports not taken", reports=len(reports), plant_id=reports[0].plant_id, exc_info=error)
            for driven, report in zip(batch, reports, strict=True):
                driven.take_back(report)
                self._changed.setdefault(driven, None)
            return False
        return True
