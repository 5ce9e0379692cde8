"""Starts only some requests in each round of the event loop, so that a crowd of requests does not delay a health check."""

import asyncio
from collections import deque
from collections.abc import Callable

AT_ONCE = 8


class Pace:
    """Starts requests in the order in which they came."""

    def __init__(self) -> None:
        self._started = 0
        self._waiting: deque[Callable[[], None]] = deque()

    def start(self, begin: Callable[[], None]) -> None:
        """Call `begin` now or, if enough others were started in this round, in a later one."""
        if self._started == AT_ONCE:
            self._waiting.append(begin)
            return
        if not self._started:
            asyncio.get_running_loop().call_soon(self._next_round)
        self._started += 1
        begin()

    def _next_round(self) -> None:
        self._started = 0
        for _ in range(min(AT_ONCE, len(self._waiting))):
            self.start(self._waiting.popleft())
