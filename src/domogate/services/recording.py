"""What drivers say goes to the store in the order in which they said it, many reports to a commit.

One queue for everything: a tick's report that was overtaken by an order must never be written after that order's own.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import structlog

from domogate.domain.faults import Internal
from domogate.domain.ids import Id
from domogate.domain.states import Report, State
from domogate.ports import Store, StoredState

_log = structlog.get_logger(__name__)

_BATCH = 250
"""Enough to share a commit, few enough that encoding them holds nobody else up."""
_FULL = 20_000


class _Entry(msgspec.Struct):
    """What was said at once; `done` is there when somebody waits for it to be on disk."""

    reports: Sequence[Report]
    done: asyncio.Future[None] | None = None


class Recording:
    """Writes reports one batch at a time, and knows what was last recorded of each module that is driven."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: list[_Entry] = []
        self._queued = 0
        self._writer: asyncio.Task[None] | None = None
        self._last: dict[str, tuple[State | None, bool]] = {}

    # what was last recorded

    def know(self, module_ids: Iterable[Id], states: Mapping[Id, StoredState]) -> None:
        """Begin from what the store holds of them; what was recorded since then is newer, and stays."""
        for module_id in module_ids:
            stored = states.get(module_id)
            self._last.setdefault(module_id, (None, True) if stored is None else (stored.state, stored.reachable))

    def forget(self, module_ids: Iterable[Id]) -> None:
        for module_id in module_ids:
            self._last.pop(module_id, None)

    def is_news(self, report: Report) -> bool:
        last = self._last.get(report.module_id)
        if last is None:
            return True
        state, reachable = last
        return reachable != report.reachable or (report.state is not None and report.state != state)

    # recording

    async def push(self, reports: Sequence[Report]) -> None:
        """Have them recorded soon. Waits only when far too many are waiting already."""
        for start in range(0, len(reports), _BATCH):
            self._enter(_Entry(reports[start : start + _BATCH]))
        while self._queued > _FULL and self._writer is not None:
            await asyncio.wait((self._writer,))

    async def record(self, report: Report) -> None:
        """Have it recorded, and return once it is on disk. Being cancelled does not take it back. Raises Internal."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._enter(_Entry((report,), done))
        await done

    async def flush(self) -> None:
        """Wait until all that was said up to now is recorded, or has failed to be."""
        while self._writer is not None:
            await asyncio.wait((self._writer,))

    def _enter(self, entry: _Entry) -> None:
        # Nothing may be awaited before this: the order of calls is the order of events.
        self._queue.append(entry)
        self._queued += len(entry.reports)
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_all(), name="recording of reports")

    async def _write_all(self) -> None:
        try:
            while self._queue:
                await self._write(self._take_batch())
        finally:
            self._writer = None

    def _take_batch(self) -> list[_Entry]:
        size = taken = 0
        for entry in self._queue:
            if taken and size + len(entry.reports) > _BATCH:
                break
            size += len(entry.reports)
            taken += 1
        batch, self._queue = self._queue[:taken], self._queue[taken:]
        self._queued -= size
        return batch

    async def _write(self, batch: Sequence[_Entry]) -> None:
        try:
            await self._store.record([report for entry in batch for report in entry.reports])
        except Exception as error:
            if len(batch) > 1:
                # One bad report must not take the others of its batch with it.
                for entry in batch:
                    await self._write((entry,))
                return
            (entry,) = batch
            _log.error("reports not recorded", plant_id=entry.reports[0].plant_id, reports=len(entry.reports), exc_info=error)
            if entry.done is not None and not entry.done.done():
                entry.done.set_exception(Internal("what the device did could not be recorded"))
            return
        for entry in batch:
            for report in entry.reports:
                self._note(report)
            if entry.done is not None and not entry.done.done():
                entry.done.set_result(None)

    def _note(self, report: Report) -> None:
        last = self._last.get(report.module_id)
        if last is not None:
            self._last[report.module_id] = (last[0] if report.state is None else report.state, report.reachable)
