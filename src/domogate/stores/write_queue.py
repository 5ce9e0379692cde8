"""The queue of writes: callers on the event loop's thread put their writes in, the writer thread takes them out in groups."""

import threading
import time
from collections import deque

from domogate.stores.batch import Unit

QUIET = 0.002
"""In seconds. The writer stops waiting for more callers if none came for this time."""
LONGEST = 0.005
"""In seconds. The writer never waits longer than this for more callers."""


class WriteQueue:
    """Both threads use it; its condition protects it."""

    def __init__(self, most: int) -> None:
        """`most` is the number of writes that are taken at once."""
        self._most = most
        self._arrived = threading.Condition()
        self._pending: deque[Unit] = deque()
        self._wanted = 1
        self._expected = 1
        self._woken = False
        self.closed = False

    def put(self, unit: Unit) -> None:
        """Raises RuntimeError if the queue is closed."""
        with self._arrived:
            if self.closed:
                raise RuntimeError("the store is stopped")
            self._pending.append(unit)
            if len(self._pending) >= self._wanted:
                self._arrived.notify()

    def wake(self) -> None:
        """Let `take` return now, also without a write."""
        with self._arrived:
            self._woken = True
            self._arrived.notify()

    def close(self) -> None:
        with self._arrived:
            self.closed = True
            self._arrived.notify()

    def expect(self, number: int) -> None:
        """Say how many callers the last group had, before they are answered and come again.

        Callers that came in the meantime count too, so two alternating groups become one.
        """
        self._expected = number + len(self._pending)

    def take(self, seconds: float) -> list[Unit]:
        """Take the queued writes. Without writes, return an empty list after this number of seconds.

        If the last group had several callers, wait a short time until the same number has come again. Without the wait, commits
        on a fast disk are so short that callers rarely share one (PostgreSQL has commit_delay and commit_siblings for this). A
        single caller does not wait. Waiting for only half of the callers was slower when measured, because the two threads then
        compete for the interpreter.
        """
        with self._arrived:
            if not self._pending and not self.closed and not self._woken:
                self._arrived.wait(seconds)
            self._woken = False
            if not self._pending:
                self._expected = 1
                return []
            self._wanted = min(self._expected, self._most)
            deadline = time.monotonic() + LONGEST
            seen = 0
            while seen < len(self._pending) < self._wanted and not self.closed and time.monotonic() < deadline:
                seen = len(self._pending)
                self._arrived.wait(QUIET)
            self._wanted = 1
            return [self._pending.popleft() for _ in range(min(len(self._pending), self._most))]
