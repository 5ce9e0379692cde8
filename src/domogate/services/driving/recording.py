"""What drivers say goes to the store, and is remembered for as long as the module is driven.

The store takes reports up in the order of the calls and lets those of many callers share a commit. What a driver says by itself
waits its turn in that driver's lane, so that one that floods slows down itself and nobody else; what an order or a question
brought goes straight to the store. A report that was overtaken on the way never undoes what overtook it.
"""

import asyncio
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec
import structlog

from domogate.domain.commands import OrderEnd
from domogate.domain.faults import Internal
from domogate.domain.ids import Id
from domogate.domain.states import Report, State
from domogate.ports import OrderStore, StateStore, StoredState

_log = structlog.get_logger(__name__)

_BATCH = 250
"""Enough to share a commit, few enough that encoding them holds nobody else up."""
_MOST_WAITING = 20_000
"""Reports that may wait in a lane. A driver that awaits what it hands in never comes near."""


class RecordingStore(StateStore, OrderStore, Protocol):
    """The reports and the ends of orders."""


class TooManyReports(RuntimeError):
    """The driver hands in more than is taken up, without waiting for it."""


class _Last:
    """What was last recorded of a module, and how recent that was when it was handed in."""

    __slots__ = ("number", "reachable", "state")

    def __init__(self, state: State | None, reachable: bool) -> None:
        self.state = state
        self.reachable = reachable
        self.number = 0


class Recording:
    """Has reports recorded, and knows what was last recorded of each module that is driven."""

    def __init__(self, store: RecordingStore) -> None:
        self._store = store
        self._last: dict[str, _Last] = {}
        self._numbers = itertools.count(1)

    # what was last recorded

    def know(self, module_ids: Iterable[Id], states: Mapping[Id, StoredState]) -> None:
        """Begin from what the store holds of them; what was recorded since then is newer, and stays."""
        for module_id in module_ids:
            if module_id not in self._last:
                stored = states.get(module_id)
                self._last[module_id] = _Last(None, True) if stored is None else _Last(stored.state, stored.reachable)

    def forget(self, module_ids: Iterable[Id]) -> None:
        for module_id in module_ids:
            self._last.pop(module_id, None)

    def is_news(self, report: Report) -> bool:
        last = self._last.get(report.module_id)
        if last is None:
            return True
        return last.reachable != report.reachable or (report.state is not None and report.state != last.state)

    def is_reachable(self, module_id: Id) -> bool:
        """As far as is known."""
        last = self._last.get(module_id)
        return last is None or last.reachable

    # recording

    def take_number(self) -> int:
        """Grows with each call: of two reports of a module, the one with the higher number was handed in later."""
        return next(self._numbers)

    async def push(self, reports: Sequence[Report], number: int | None = None) -> None:
        """Have what was said unasked recorded. What cannot be is logged: who said it goes on."""
        number = self.take_number() if number is None else number
        for start in range(0, len(reports), _BATCH):
            batch = self._without_overtaken(reports[start : start + _BATCH], number)
            if not batch:
                continue
            try:
                # Nothing may be awaited before this: the order of calls is the order of events.
                await self._store.record(batch)
            except Exception as error:
                _log.error("reports not recorded", plant_id=batch[0].plant_id, reports=len(batch), exc_info=error)
            else:
                self._remember(batch)

    async def record(self, report: Report) -> None:
        """Return once it is on disk. Being cancelled does not take it back. Raises Internal."""
        self._overtake(report)
        try:
            await self._store.record((report,))
        except Exception as error:
            raise self._not_recorded(report, error) from error
        self._remember((report,))

    async def confirm(self, end: OrderEnd, report: Report) -> None:
        """As `record`, with the end of the order that brought it, in one commit."""
        self._overtake(report)
        try:
            await self._store.end_order(end, report)
        except Exception as error:
            raise self._not_recorded(report, error) from error
        self._remember((report,))

    def _not_recorded(self, report: Report, error: Exception) -> Internal:
        _log.error("report not recorded", plant_id=report.plant_id, module_id=report.module_id, exc_info=error)
        return Internal("what the device did could not be recorded")

    def _overtake(self, report: Report) -> None:
        last = self._last.get(report.module_id)
        if last is not None:
            last.number = self.take_number()

    def _without_overtaken(self, reports: Sequence[Report], number: int) -> Sequence[Report]:
        """Of those that something newer was recorded of meanwhile, only what they measured is left."""
        kept = []
        for report in reports:
            last = self._last.get(report.module_id)
            if last is None or last.number <= number:
                if last is not None:
                    last.number = number
                kept.append(report)
            elif report.readings:
                kept.append(msgspec.structs.replace(report, state=None, reachable=last.reachable, absence=None))
        return kept

    def _remember(self, reports: Sequence[Report]) -> None:
        for report in reports:
            last = self._last.get(report.module_id)
            if last is not None:
                last.reachable = report.reachable
                if report.state is not None:
                    last.state = report.state


class Lane:
    """The way of one driver's reports to the store: a batch at a time, whoever hands in waits."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._turn = asyncio.Lock()
        self.waiting = 0
        """Reports handed in and not on disk yet."""

    async def push(self, reports: Sequence[Report]) -> None:
        """Raises TooManyReports."""
        if self.waiting >= _MOST_WAITING:
            raise TooManyReports(f"{self.waiting} reports wait to be taken up; {len(reports)} more are not taken")
        number = self._recording.take_number()
        self.waiting += len(reports)
        try:
            async with self._turn:
                await self._recording.push(reports, number)
        finally:
            self.waiting -= len(reports)
