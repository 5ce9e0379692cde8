"""The queue of the writes of concurrent callers. The writer thread takes them in groups."""

import threading
import time
from collections import deque
from math import inf

from domogate.stores.batch import Unit

QUIET = 0.002
"""In seconds. The writer stops waiting for more callers if no caller came for this time."""
LONGEST = 0.005
"""In seconds. The writer never waits longer than this for more callers."""


class WriteQueue:
    """The queue of writes. Callers on the event loop's thread add writes, and the writer thread takes them in groups."""

    def __init__(self, most: int) -> None:
        """`most` is the largest number of writes that the writer thread takes at once."""
        self._most = most
        self._arrived = threading.Condition()
        self._pending: deque[Unit] = deque()
        self._wanted = inf
        """The number of writes for which the writer thread waits. It is infinite while the thread does not wait."""
        self._expected = 1
        self._woken = False
        self.closed = False

    def put(self, unit: Unit) -> None:
        """Add a write to the queue. Raises RuntimeError if the queue is closed."""
        if self.closed:
            raise RuntimeError("the store is stopped")
        self._pending.append(unit)
        if len(self._pending) >= self._wanted:
            with self._arrived:
                self._wanted = inf  # The next writes need no lock.
                self._arrived.notify()

    def wake(self) -> None:
        """Let `take` return now, even if the queue is empty."""
        with self._arrived:
            self._woken = True
            self._arrived.notify()

    def end_wake(self) -> bool:
        """Return whether `wake` was called while writes followed each other: then `take` has not returned an empty list yet."""
        with self._arrived:
            woken, self._woken = self._woken, False
            return woken

    def close(self) -> None:
        with self._arrived:
            self.closed = True
            self._arrived.notify()

    def expect(self, number: int) -> None:
        """Set the number of callers that `take` waits for. Call this directly before callers get their answers.

        `number` is the number of these callers: they may come again. The callers that are already in the queue are added to
        this number. So `take` returns the writes of all these callers as one group. Otherwise the callers would form two groups
        that alternate.
        """
        self._expected = number + len(self._pending)

    def take(self, seconds: float) -> list[Unit]:
        """Remove and return the queued writes. If no write comes for this number of seconds, return an empty list.

        If the last group had several callers, wait a short time so that the same number of callers can come again. Without this
        wait, commits on a fast disk are so short that callers rarely share a commit. Waiting for only half of the callers was
        slower in a measurement, because the writer thread and the event loop's thread then compete for the interpreter.
        """
        with self._arrived:
            self._wanted = 1
            if not self._pending and not self.closed and not self._woken:
                self._arrived.wait(seconds)
            if not self._pending:
                self._woken, self._expected = False, 1
                return []
            wanted = self._wanted = min(self._expected, self._most)
            deadline = time.monotonic() + LONGEST
            seen = 0
            while seen < len(self._pending) < wanted and not self.closed and time.monotonic() < deadline:
                seen = len(self._pending)
                self._arrived.wait(QUIET)
            self._wanted = inf
            return [self._pending.popleft() for _ in range(min(len(self._pending), self._most))]
