"""Readings: single readings are kept for some days, hourly summaries for longer. Old data is removed regularly."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Protocol

from domogate.common.log import get_logger
from domogate.common.tasks import cancel
from domogate.domain.ids import Id
from domogate.domain.states import Reading, ReadingSummary
from domogate.ports import AuditStore, Clock, FeedStore, OrderStore, ReadingStore, TicketStore, TokenStore
from domogate.services.clock_check import ClockCheck

_log = get_logger(__name__)

_FIRST_PRUNE = 60.0
_PRUNE_EVERY = 3600.0
_CHECK_EVERY = 60.0
_HOUR, _DAY = 3600.0, 86_400.0
_PAGE = 5_000
"""The number of rows of an export in memory at the same time. If a single interval has more rows, the number is higher."""
_FIRST_SPANS = 1_000
_MOST_IN_A_SPAN = 1_000_000
"""The largest number of rows that are read for one interval.

For single readings, an interval is a second. No module sends more readings than this in a second.
"""

Page = Sequence[tuple[Id, ReadingSummary]]
_Fetch = Callable[[float, float, int], Awaitable[Sequence[ReadingSummary]]]


class HistoryStore(ReadingStore, OrderStore, FeedStore, TokenStore, TicketStore, AuditStore, Protocol):
    """The parts of the store with readings and other data that is kept for a limited time."""


class History:
    """Lists readings and summaries. Once an hour it summarises old readings and removes expired data."""

    def __init__(
        self,
        store: HistoryStore,
        clock: Clock,
        clock_check: ClockCheck | None = None,
        /,
        *,
        changes_kept: float,
        readings_raw: float,
        readings_kept: float,
        orders_kept: float,
        most_readings: int,
        audit_kept: float | None = None,
        token_lifetime: float = 0.0,
    ) -> None:
        """All times are in seconds. If `audit_kept` is None, audit records are never removed.

        `token_lifetime` is the longest lifetime of a token. Codes, refresh tokens and grants are kept for at least this time
        after their end, because a token that was made with them may still be valid.
        """
        self._store = store
        self._clock = clock
        self._changes_kept = changes_kept
        self._readings_raw = min(readings_raw, readings_kept)
        self._readings_kept = readings_kept
        self._orders_kept = orders_kept
        self._most_readings = most_readings
        self._audit_kept = audit_kept
        self._token_lifetime = token_lifetime
        self._clock_check = clock_check
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._is_clock_right()
        self._task = asyncio.create_task(self._prune_regularly(), name="prune history")

    async def stop(self) -> None:
        await cancel(self._task)

    # reading

    def kept_since(self, resolution: float | None) -> float:
        """Return the earliest time for which data is kept.

        Single readings (`resolution` is None) are kept for a shorter time than hourly summaries. Summaries of intervals below
        an hour are computed from single readings. So such summaries are available for the same time as single readings.
        """
        kept = self._readings_raw if resolution is None or resolution < _HOUR else self._readings_kept
        return max(0.0, self._clock.now() - kept)

    async def list_readings(self, module_id: Id, since: float, until: float, limit: int) -> Sequence[tuple[str, Reading]]:
        """Return the newest `limit` readings of the module in this period, each with the name of its measure.

        The oldest of these readings is first.
        """
        return await self._store.list_readings(module_id, since, until, limit)

    async def list_summaries(
        self, module_id: Id, since: float, until: float, resolution: float, limit: int
    ) -> Sequence[ReadingSummary]:
        """Return the newest `limit` summaries of the module in this period. The oldest of these summaries is first.

        Each summary is about an interval of `resolution` seconds and one measure.

        Raises ValueError if `resolution` is below 60 seconds.
        """
        return await self._store.list_summaries(module_id, since, until, resolution, limit)

    async def export(
        self, module_ids: Sequence[Id], since: float, until: float, resolution: float | None
    ) -> AsyncIterator[Page]:
        """Yield all data of this period in pages, by module, oldest first.

        Without a resolution, each single reading is yielded as a summary.
        """
        for module_id in module_ids:
            if resolution is None:
                width, fetch = 1.0, self._fetch_readings(module_id)
            else:
                width, fetch = resolution, self._fetch_summaries(module_id, resolution)
            async for found in _walk(fetch, since, until, width):
                yield [(module_id, summary) for summary in found]

    def _fetch_readings(self, module_id: Id) -> _Fetch:
        async def fetch(since: float, until: float, limit: int) -> Sequence[ReadingSummary]:
            found = await self._store.list_readings(module_id, since, until, limit)
            return [_summary_of_one(measure, reading) for measure, reading in found]

        return fetch

    def _fetch_summaries(self, module_id: Id, resolution: float) -> _Fetch:
        async def fetch(since: float, until: float, limit: int) -> Sequence[ReadingSummary]:
            return await self._store.list_summaries(module_id, since, until, resolution, limit)

        return fetch

    # removing

    async def prune(self) -> None:
        """Summarise and remove old data. All steps run, even if one fails. Raises an ExceptionGroup of the errors."""
        errors = []
        for step in self._steps():
            try:
                await step
            except Exception as error:
                errors.append(error)
        if errors:
            raise ExceptionGroup("not all expired data was removed", errors)

    def _steps(self) -> Iterator[Awaitable[object]]:
        now = self._clock.now()
        yield self._store.summarise_readings(now - self._readings_raw)
        yield self._store.prune_changes(now - self._changes_kept)
        # The order of a ticket shows that the ticket was used, so it is kept longer than the ticket is valid.
        yield self._store.prune_orders(now - max(self._orders_kept, _HOUR))
        yield self._store.prune_readings(now - self._readings_kept, self._most_readings)
        yield self._store.prune_authorization(now, self._token_lifetime)
        # Tickets are kept for one hour longer, because the clock of another gateway may be slow.
        yield self._store.prune_tickets(now - _HOUR)
        if self._audit_kept is not None:
            # Only whole days are removed, so that the audit log has at most one removal a day.
            yield self._store.prune_audit(now // _DAY * _DAY - self._audit_kept)

    async def _prune_regularly(self) -> None:
        # The first pruning is soon after the start, but does not delay it. So a gateway that restarts often also prunes.
        pause = _FIRST_PRUNE
        while True:
            # The clock is checked every minute, so that the last clock time in the store stays close to the present time.
            await asyncio.sleep(min(pause, _CHECK_EVERY) if pause > 0 else _CHECK_EVERY)
            pause -= _CHECK_EVERY
            if not await self._is_clock_right() or pause > 0:
                continue
            pause = _PRUNE_EVERY
            try:
                await self.prune()
            except Exception as error:
                _log.error("history not completely pruned; will retry in an hour", exc_info=error)

    async def _is_clock_right(self) -> bool:
        if self._clock_check is None:
            return True
        try:
            return await self._clock_check.check()
        except Exception as error:
            _log.error("the clock was not compared with the store; will retry", exc_info=error)
            return False


def _summary_of_one(measure: str, reading: Reading) -> ReadingSummary:
    value = reading.value
    return ReadingSummary(measure, reading.unit, reading.at, 1, value, value, value, value)


async def _walk(fetch: _Fetch, since: float, until: float, width: float) -> AsyncIterator[Sequence[ReadingSummary]]:
    """Fetch the data of the period in windows (shorter periods), and yield the data of each window.

    A window has a whole number of intervals of `width` seconds. A window with little data is followed by a larger window. So
    years without data take little time.
    """
    at, end, spans = math.floor(since / width), math.floor(until / width) + 1, _FIRST_SPANS
    while at < end:
        upto = min(at + spans, end)
        # The next window starts at `upto * width`, so this window ends just before that time.
        last = min(until, math.nextafter(upto * width, 0.0))
        found = await fetch(max(since, at * width), last, _PAGE + 1)
        if len(found) > _PAGE and spans > 1:
            spans = max(1, spans // 4)
            continue
        if len(found) > _PAGE:  # one interval has more rows than a page and cannot be divided
            found = await fetch(max(since, at * width), last, _MOST_IN_A_SPAN)
        if found:
            yield found
        at = upto
        if len(found) < _PAGE // 4:
            spans *= 4
