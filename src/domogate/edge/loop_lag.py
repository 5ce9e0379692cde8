"""Measures how late the timers of the event loop are. A busy event loop delays all requests of the process."""

import asyncio
from collections import deque

_TICK = 0.5
_WINDOW = 60.0


class LoopLag:
    """Measures how late the event loop runs a regular timer. Keeps the delays of the last minute."""

    def __init__(self) -> None:
        self._delays: deque[float] = deque(maxlen=int(_WINDOW / _TICK))
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_TICK, self._tick, loop, loop.time() + _TICK)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def longest(self) -> float:
        """Return the longest delay of the timer in the last minute, in seconds."""
        return max(self._delays, default=0.0)

    def _tick(self, loop: asyncio.AbstractEventLoop, expected: float) -> None:
        now = loop.time()
        self._delays.append(max(0.0, now - expected))
        self._timer = loop.call_later(_TICK, self._tick, loop, now + _TICK)
