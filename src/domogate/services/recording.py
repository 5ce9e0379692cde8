"""What drivers say goes to the store, and is remembered for as long as the module is driven.

The store takes reports up in the order of the calls and lets those of many callers share a commit, so nothing is queued here: a
tick's report that was overtaken by an order is never written after that order's own.
"""

from collections.abc import Iterable, Mapping, Sequence

import structlog

from domogate.domain.faults import Internal
from domogate.domain.ids import Id
from domogate.domain.states import Report, State
from domogate.ports import Store, StoredState

_log = structlog.get_logger(__name__)

_BATCH = 250
"""Enough to share a commit, few enough that encoding them holds nobody else up."""


class Recording:
    """Has reports recorded, and knows what was last recorded of each module that is driven."""

    def __init__(self, store: Store) -> None:
        self._store = store
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
        """Have what a driver said by itself recorded. What cannot be is logged: the driver goes on."""
        for start in range(0, len(reports), _BATCH):
            batch = reports[start : start + _BATCH]
            try:
                await self._record(batch)
            except Exception as error:
                _log.error("reports not recorded", plant_id=batch[0].plant_id, reports=len(batch), exc_info=error)

    async def record(self, report: Report) -> None:
        """Return once it is on disk. Being cancelled does not take it back. Raises Internal."""
        try:
            await self._record((report,))
        except Exception as error:
            _log.error("report not recorded", plant_id=report.plant_id, module_id=report.module_id, exc_info=error)
            raise Internal("what the device did could not be recorded") from error

    async def _record(self, reports: Sequence[Report]) -> None:
        # Nothing may be awaited before this: the order of calls is the order of events.
        await self._store.record(reports)
        for report in reports:
            last = self._last.get(report.module_id)
            if last is not None:
                self._last[report.module_id] = (last[0] if report.state is None else report.state, report.reachable)
