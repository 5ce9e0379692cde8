"""What was measured, for as long as it is kept."""

import asyncio
from collections.abc import Sequence

import structlog

from domogate.domain.ids import Id
from domogate.domain.states import Reading
from domogate.ports import Clock, Store

_log = structlog.get_logger(__name__)

_FIRST_PRUNING = 60.0
_PRUNING = 3600.0
_DAY = 86_400.0


class History:
    """Answers what was measured, and now and then throws away what is past keeping."""

    def __init__(
        self, store: Store, clock: Clock, changes_kept: float, readings_kept: float, audit_kept: float | None = None
    ) -> None:
        """In seconds. `audit_kept`: None is for ever."""
        self._store = store
        self._clock = clock
        self._changes_kept = changes_kept
        self._readings_kept = readings_kept
        self._audit_kept = audit_kept
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._prune_now_and_then(), name="pruning of history")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def list_readings(self, module_id: Id, since: float, until: float, limit: int) -> Sequence[tuple[str, Reading]]:
        """The module's newest readings of that time with what each measures, oldest first."""
        return await self._store.list_readings(module_id, since, until, limit)

    async def prune(self) -> None:
        now = self._clock.now()
        await self._store.prune(changes_before=now - self._changes_kept, readings_before=now - self._readings_kept)
        await self._store.prune_authorization(now)
        if self._audit_kept is not None:
            # By whole days: each removal is itself noted, and once a day is often enough.
            await self._store.prune_audit(now // _DAY * _DAY - self._audit_kept)

    async def _prune_now_and_then(self) -> None:
        # Soon after the start, not at it: a gateway restarted every half hour must prune too, one that starts has better to do.
        pause = _FIRST_PRUNING
        while True:
            await asyncio.sleep(pause)
            pause = _PRUNING
            try:
                await self.prune()
            except Exception as error:
                _log.error("history not pruned, next try in an hour", exc_info=error)
