"""Measures stalls: times in which the process did not run, for example because it was frozen or the machine was suspended."""

import asyncio
import time

_TICK = 0.05
_KEPT = 0.5
"""For this number of seconds after a stall, `StallMeter.seconds` returns the length of the stall.

In this time, the process handles the messages that waited during the stall.
"""


class StallMeter:
    """Measures how long this process did not run: a timer of the event loop runs at short intervals, and the monotonic clock
    shows how late the timer is.
    """

    def __init__(self) -> None:
        self._expected = 0.0
        self._length = 0.0
        self._ended = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._tick()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def seconds(self) -> float:
        """Return the longest delay, in seconds, that a stall of this process can have caused for a message that it handles now.

        Stalls that ended more than `_KEPT` seconds ago do not count: they did not delay this message.
        """
        now = time.monotonic()
        running = max(0.0, now - self._expected)
        return max(running, self._length if now - self._ended < _KEPT else 0.0)

    def _tick(self) -> None:
        now = time.monotonic()
        if self._timer is not None and (late := now - self._expected) > _TICK:
            self._length, self._ended = late, now
        self._expected = now + _TICK
        self._timer = asyncio.get_running_loop().call_later(_TICK, self._tick)
