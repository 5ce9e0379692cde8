"""Size and time limits for clients, and the sweep: a regular check that enforces the time limits on all connections."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import msgspec

from domogate.edge.connections import Connections
from domogate.edge.request_ids import next_request_id

CHECKED_AT_ONCE = 50
"""The number of connections that a sweep checks before other tasks of the event loop can run."""
_MORE_HEADERS = {405: b"allow: GET, HEAD, POST, OPTIONS\r\n", 503: b"retry-after: 1\r\n"}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for clients, in bytes and seconds."""

    max_header: int = 32_768
    header_deadline: float = 10.0
    body_deadline: float = 30.0
    keep_alive: float = 75.0


class Refusal(Exception):
    """The HTTP server refuses the request. The client gets this status and message, and the connection is closed."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def to_bytes(self, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
        """Return the complete answer as bytes. The connection is closed after this answer."""
        body = self.message.encode("ascii", "replace") + b"\n"
        content = [b"%b: %b\r\n" % header for header in headers]
        content.append(b"x-request-id: %b\r\ncontent-type: text/plain; charset=utf-8\r\n" % next_request_id())
        content.append(_MORE_HEADERS.get(self.status, b""))
        content.append(b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body))
        return b"".join([*content, body])


class Guarded(Protocol):
    """A connection with a deadline for its client. `Guards.sweep` calls `expire` at about the deadline."""

    def extend(self, seconds: float) -> None:
        """Make the deadline later by this number of seconds."""

    def is_due(self, moment: float) -> bool: ...

    def expire(self, now: float) -> None:
        """Handle the end of the deadline: close the connection, or answer with an error."""


class Guards:
    """The limits and counts that all connections of a server share.

    It also has the regular sweep: a method that expires the connections whose deadline has passed or will pass soon.
    """

    def __init__(
        self, limits: Limits, on_refused: Callable[[int], None] | None = None, connections: Connections | None = None
    ) -> None:
        self.limits = limits
        self.on_refused = on_refused
        self.connections = Connections() if connections is None else connections
        self.now = 0.0
        self.is_draining = False
        """True when the server has begun to stop: each answer is then the last one on its connection."""
        shortest = min(limits.header_deadline, limits.body_deadline, limits.keep_alive)
        self.sweep_interval = min(0.5, max(0.05, shortest / 4))

    async def sweep(self, connections: Collection[Guarded], now: float) -> None:
        """Expire all connections whose deadline has passed or will pass before the next sweep.

        Other tasks can run after each `CHECKED_AT_ONCE` connections.

        If a sweep is late, the event loop was busy, and the gateway did not read what the clients sent. So the deadlines of all
        connections are extended by the delay.
        """
        late = now - self.now - self.sweep_interval if self.now else 0.0
        self.now = now
        if late > self.sweep_interval / 4:
            for connection in connections:
                connection.extend(late)
        due = now + self.sweep_interval
        for checked, connection in enumerate(tuple(connections), start=1):
            if connection.is_due(due) and connection in connections:  # It may have been closed while other tasks ran.
                connection.expire(now)
            if checked % CHECKED_AT_ONCE == 0:
                await asyncio.sleep(0)
        self.connections.log_refused(now)
