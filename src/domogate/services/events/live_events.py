"""New events of a stream, on their way from the hub to the connection.

The hub writes an event itself if the stream only waits for new events and its rights are valid. Otherwise the event waits in
the queue of the stream, and the task of the stream writes it (Decision 0044).
"""

import asyncio
from abc import ABC, abstractmethod
from math import inf

from domogate.domain.notices import Notice
from domogate.services.events.endings import SLOW, End
from domogate.services.events.filters import EventFilter
from domogate.services.events.queue import EventQueue, EventWriter, QueueLimits
from domogate.services.events.stream_rights import FramedNotice, FramedNotices, StreamRights


class LiveEvents(ABC):
    """The part of a stream that the hub calls for each event. Its methods never wait."""

    def __init__(self, rights: StreamRights, event_filter: EventFilter, limits: QueueLimits) -> None:
        self.rights = rights
        self._kinds = event_filter.kinds
        self._live_after: float = inf
        """Changes after this cursor come from the hub. Infinite at first, while all changes come from the store."""
        self._writer: EventWriter | None = None
        """The connection, while the stream waits for new events and its rights are valid. Otherwise None."""
        self._unwritten: list[FramedNotice] = []
        """Events that the hub writes soon. Empty while `_writer` is None."""
        self._queue = EventQueue(limits)
        self._wakeup = asyncio.Event()
        self._end: End | None = None
        self.closed = False
        self.sent = 0
        """The number of events that were written to the connection, or that `Stream.frames` yielded."""
        self.written_at = asyncio.get_running_loop().time()
        """The time of the last frame, by the clock of the event loop."""

    @property
    def waiting(self) -> int:
        """The number of new events that are not written to the connection yet."""
        return len(self._queue) + len(self._unwritten)

    def accepts(self, notice: Notice) -> bool:
        return notice.cursor > self._live_after and (not self._kinds or not self._kinds.isdisjoint(notice.kinds))

    def push(self, framed: FramedNotice) -> int:
        """Add an event. Return the number of events that wait until the hub calls `write_waiting`."""
        if self._writer is not None:
            self._unwritten.append(framed)
        else:
            self._put(framed)
        return len(self._unwritten)

    def write_waiting(self, now: float, moment: float) -> None:
        """Write the waiting events. The present time is `now` by the gateway's clock and `moment` by the event loop's clock."""
        waiting, writer = self._unwritten, self._writer
        if writer is None or not waiting:
            return
        if now < self.rights.until and writer.write_now(join(waiting)):
            self.sent += len(waiting)
            self.written_at = moment
            waiting.clear()
        else:
            self._wake()

    def _wake(self) -> None:
        """Let the task of the stream run. Until this task waits again, the hub does not write to the connection."""
        self._writer = None
        self._wakeup.set()
        waiting, self._unwritten = self._unwritten, []
        for framed in waiting:
            self._put(framed)

    def _put(self, framed: FramedNotice) -> None:
        """Put the event into the queue. If the queue is full, end the stream. A stream that ends gets no more events."""
        if self._end is None and not self.closed and not self._queue.add(framed):
            self.end(SLOW)

    def _drop_waiting(self) -> None:
        self._unwritten.clear()
        self._queue.take()

    @abstractmethod
    def end(self, end: End) -> None:
        """End the stream. Events that still wait are dropped."""


def join(notices: FramedNotices) -> bytes:
    """Return the bytes of all notices."""
    return notices[0][1] if len(notices) == 1 else b"".join([frame for _, frame in notices])
