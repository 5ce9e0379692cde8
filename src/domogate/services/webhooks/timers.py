"""The times at which the workers of webhooks run next."""

import asyncio
import heapq

from domogate.common.tasks import wait_for_event
from domogate.domain.ids import Id


class Timers:
    """The time at which each webhook must be handled next. A webhook has at most one such time.

    If a webhook gets a new time, its old time stays in `_heap`. When the old time has come, it is ignored.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, Id]] = []
        self._time_of: dict[Id, float] = {}
        self._set_at = 0.0
        self._changed = asyncio.Event()

    def set(self, at: float, webhook_id: Id, now: float) -> None:
        self._set_at = max(self._set_at, now)
        if self._time_of.get(webhook_id) != at:
            self._time_of[webhook_id] = at
            heapq.heappush(self._heap, (at, webhook_id))
            self._changed.set()

    def forget(self, webhook_id: Id) -> None:
        self._time_of.pop(webhook_id, None)

    def clear(self) -> None:
        self._heap.clear()
        self._time_of.clear()
        self._set_at = 0.0

    def was_set_back(self, now: float, seconds: float) -> bool:
        """Whether `now` is more than `seconds` before the highest `now` that `set` got: then the clock was set back."""
        return self._set_at - now > seconds

    def has_due(self, now: float) -> bool:
        return any(at <= now for at in self._time_of.values())

    def take_due(self, now: float) -> list[Id]:
        """Return the webhooks whose time has come, and forget these times."""
        due = []
        while self._heap and self._heap[0][0] <= now:
            at, webhook_id = heapq.heappop(self._heap)
            if self._time_of.get(webhook_id) == at:
                del self._time_of[webhook_id]
                due.append(webhook_id)
        return due

    async def wait(self, now: float, most: float) -> None:
        """Wait until the earliest of the times has come, or a new time is set. `most` is the longest wait in seconds."""
        self._changed.clear()
        left = self._heap[0][0] - now if self._heap else most
        await wait_for_event(self._changed, min(most, left))
