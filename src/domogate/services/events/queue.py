"""The events that wait for the client of one stream, and the connection that takes them."""

from typing import Protocol

import msgspec

from domogate.services.events.stream_rights import FramedNotice, FramedNotices


class QueueLimits(msgspec.Struct, frozen=True):
    """How many events, and how many bytes of events, may wait for a client that reads too slowly."""

    events: int
    size: int


class EventQueue:
    """The events of a stream that wait for the client, each with the bytes to send."""

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self._events: list[FramedNotice] = []
        self._size = 0

    def __len__(self) -> int:
        return len(self._events)

    def add(self, framed: FramedNotice) -> bool:
        """Add an event. Return False if the queue is now larger than its limits."""
        self._events.append(framed)
        self._size += len(framed[1])
        return len(self._events) <= self._limits.events and self._size <= self._limits.size

    def take(self) -> FramedNotices:
        """Return all events, and empty the queue."""
        taken, self._events, self._size = self._events, [], 0
        return taken


class EventWriter(Protocol):
    """The connection to the client of a stream."""

    def write_now(self, frame: bytes) -> bool:
        """Write the bytes, unless too many earlier bytes still wait for the client. Return whether they were written."""
        ...

    async def until_writable(self) -> None:
        """Wait until the connection can take more bytes. It cannot if too many bytes wait to be sent to the client."""
        ...
