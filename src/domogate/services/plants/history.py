"""What was measured, for as long as it is kept: as it was for some days, then an hour at a time."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Protocol

import structlog

from domogate.domain.ids import Id
from domogate.domain.states import Reading, ReadingSummary
from domogate.ports import AuditStore, Clock, FeedStore, OrderStore, ReadingStore, TicketStore, TokenStore

_log = structlog.get_logger(__name__)

_FIRST_PRUNING = 60.0
_PRUNING = 3600.0
_HOUR, _DAY = 3600.0, 86_400.0
_PAGE = 5_000
"""How many rows of an export are held at once."""
_FIRST_SPANS = 1_000
_MOST_IN_A_SPAN = 1_000_000
"""No module says more in a second."""

Page = Sequence[tuple[Id, ReadingSummary]]
_Ask = Callable[[float, float, int], Awaitable[Sequence[ReadingSummary]]]


class HistoryStore(ReadingStore, OrderStore, FeedStore, TokenStore, TicketStore, AuditStore, Protocol):
    """The readings, and everything else that is kept for a limited time."""


class History:
    """Answers what was measured; now and then summarises what is old and throws away what is past keeping."""

    def __init__(
        self,
        store: HistoryStore,
        clock: Clock,
        *,
        changes_kept: float,
        readings_raw: float,
        readings_kept: float,
        orders_kept: float,
        most_readings: int,
        audit_kept: float | None = None,
    ) -> None:
        """In seconds. `audit_kept`: None is for ever."""
        self._store = store
        self._clock = clock
        self._changes_kept = changes_kept
        self._readings_raw = min(readings_raw, readings_kept)
        self._readings_kept = readings_kept
        self._orders_kept = orders_kept
        self._most_readings = most_readings
        self._audit_kept = audit_kept
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._prune_now_and_then(), name="pruning of history")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    # asking

    def kept_since(self, resolution: float | None) -> float:
        """How far back there can be answers: readings (None) and spans shorter than an hour end sooner than longer ones."""
        kept = self._readings_raw if resolution is None or resolution < _HOUR else self._readings_kept
        return max(0.0, self._clock.now() - kept)

    async def list_readings(self, module_id: Id, since: float, until: float, limit: int) -> Sequence[tuple[str, Reading]]:
        """The module's newest readings of that time with what each measures, oldest first."""
        return await self._store.list_readings(module_id, since, until, limit)

    async def list_summaries(
        self, module_id: Id, since: float, until: float, resolution: float, limit: int
    ) -> Sequence[ReadingSummary]:
        """The newest of that time, oldest first; `resolution` is 60 seconds or more (else ValueError)."""
        return await self._store.list_summaries(module_id, since, until, resolution, limit)

    async def export(
        self, module_ids: Sequence[Id], since: float, until: float, resolution: float | None
    ) -> AsyncIterator[Page]:
        """All of that time in pages, module by module, oldest first. Without a resolution each reading is a summary of one."""
        for module_id in module_ids:
            if resolution is None:
                width, ask = 1.0, self._ask_readings(module_id)
            else:
                width, ask = resolution, self._ask_summaries(module_id, resolution)
            async for found in _walk(ask, since, until, width):
                yield [(module_id, summary) for summary in found]

    def _ask_readings(self, module_id: Id) -> _Ask:
        async def ask(since: float, until: float, limit: int) -> Sequence[ReadingSummary]:
            found = await self._store.list_readings(module_id, since, until, limit)
            return [_summary_of_one(measure, reading) for measure, reading in found]

        return ask

    def _ask_summaries(self, module_id: Id, resolution: float) -> _Ask:
        async def ask(since: float, until: float, limit: int) -> Sequence[ReadingSummary]:
            return await self._store.list_summaries(module_id, since, until, resolution, limit)

        return ask

    # keeping

    async def prune(self) -> None:
        """What one step cannot do keeps no other from being done. Raises an ExceptionGroup of what went wrong."""
        errors = []
        for step in self._steps():
            try:
                await step
            except Exception as error:
                errors.append(error)
        if errors:
            raise ExceptionGroup("not all of what is past keeping is gone", errors)

    def _steps(self) -> Iterator[Awaitable[object]]:
        now = self._clock.now()
        yield self._store.summarise_readings(now - self._readings_raw)
        yield self._store.prune_changes(now - self._changes_kept)
        yield self._store.prune_orders(now - self._orders_kept)
        yield self._store.prune_readings(now - self._readings_kept, self._most_readings)
        yield self._store.prune_authorization(now)
        # An hour later than they expired: another gateway's clock may be behind.
        yield self._store.prune_tickets(now - _HOUR)
        if self._audit_kept is not None:
            # By whole days: each removal is itself noted, and once a day is often enough.
            yield self._store.prune_audit(now // _DAY * _DAY - self._audit_kept)

    async def _prune_now_and_then(self) -> None:
        # Soon after the start, not at it: a gateway restarted every half hour must prune too, one that starts has better to do.
        pause = _FIRST_PRUNING
        while True:
            await asyncio.sleep(pause)
            pause = _PRUNING
            try:
                await self.prune()
            except Exception as error:
                _log.error("history not pruned as it should be, next try in an hour", exc_info=error)


def _summary_of_one(measure: str, reading: Reading) -> ReadingSummary:
    value = reading.value
    return ReadingSummary(measure, reading.unit, reading.at, 1, value, value, value, value)


async def _walk(ask: _Ask, since: float, until: float, width: float) -> AsyncIterator[Sequence[ReadingSummary]]:
    """In windows of whole spans, each as wide as what was found lately suggests: years without anything are a few questions."""
    at, end, spans = math.floor(since / width), math.floor(until / width) + 1, _FIRST_SPANS
    while at < end:
        upto = min(at + spans, end)
        # Up to but not including the moment at which the next window begins.
        last = min(until, math.nextafter(upto * width, 0.0))
        found = await ask(max(since, at * width), last, _PAGE + 1)
        if len(found) > _PAGE and spans > 1:
            spans = max(1, spans // 4)
            continue
        if len(found) > _PAGE:  # more in one span than a page holds: there is nothing to divide any further
            found = await ask(max(since, at * width), last, _MOST_IN_A_SPAN)
        if found:
            yield found
        at = upto
        if len(found) < _PAGE // 4:
            spans *= 4
