"""How much and how long a client may take, and the sweep over all connections that sees to it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much and how long a client may take; bytes and seconds."""

    max_header: int = 32_768
    header_deadline: float = 10.0
    body_deadline: float = 30.0
    keep_alive: float = 75.0


class Refusal(Exception):
    """What a client gets that is not understood, or not waited for."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Guarded(ABC):
    """A connection that keeps a deadline."""

    @abstractmethod
    def extend(self, seconds: float) -> None:
        """So much later."""

    @abstractmethod
    def is_due(self, moment: float) -> bool: ...

    @abstractmethod
    def expire(self, now: float) -> None:
        """Its time is up."""


class Guards:
    """What all connections of one server share: limits, a coarse clock, and the sweep."""

    def __init__(self, limits: Limits, on_refused: Callable[[int], None] | None = None) -> None:
        self.limits = limits
        self.on_refused = on_refused
        self.now = 0.0
        shortest = min(limits.header_deadline, limits.body_deadline, limits.keep_alive)
        self.sweep_interval = min(0.5, max(0.05, shortest / 4))

    def sweep(self, connections: Iterable[object], now: float) -> None:
        """Cut what is overdue, or would be before the next sweep: a limit is a promise, not an average.

        A sweep that comes late tells that nothing was read meanwhile either: that time is not held against the clients.
        """
        late = now - self.now - self.sweep_interval if self.now else 0.0
        self.now = now
        guarded = [connection for connection in connections if isinstance(connection, Guarded)]
        if late > self.sweep_interval / 4:
            for connection in guarded:
                connection.extend(late)
        due = now + self.sweep_interval
        for connection in guarded:
            if connection.is_due(due):
                connection.expire(now)
