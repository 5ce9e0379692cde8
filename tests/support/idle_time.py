"""Idle time: the clock of an event loop advances only while the loop waits.

It is for a driver and an OpenWebNet gateway in one loop. When the machine pauses, both pause, and neither must see a timeout
of the other. Timers still take real time, unlike with virtual time (support/virtual_time.py), because sockets need real time.
"""

import asyncio
import time
from typing import Any


class _IdleTimeSelector:
    """A selector that counts the time it waited, up to the requested time."""

    def __init__(self, selector: Any) -> None:
        self._selector = selector
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        begun = time.monotonic()
        ready: list[Any] = self._selector.select(timeout)
        if timeout is not None and timeout > 0 and not ready:
            self.now += min(timeout, time.monotonic() - begun)
        return ready

    def __getattr__(self, name: str) -> Any:
        return getattr(self._selector, name)


def use_idle_time(loop: asyncio.AbstractEventLoop) -> None:
    """Use idle time in this loop from now on. It starts at 0."""
    assert isinstance(loop, asyncio.SelectorEventLoop)
    selector = _IdleTimeSelector(loop._selector)  # type: ignore[attr-defined]  # asyncio has no public attribute
    loop._selector = selector  # type: ignore[attr-defined]  # as above
    loop.time = lambda: selector.now  # type: ignore[method-assign]  # another clock


def skip_time(loop: asyncio.AbstractEventLoop, seconds: float) -> None:
    """Move the clock forward as if the loop had been blocked for this time."""
    loop._selector.now += seconds  # type: ignore[attr-defined]  # set by `use_idle_time`
