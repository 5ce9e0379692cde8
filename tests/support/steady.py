"""Steady time: for a loop with everything it talks to, time passes only while it has nothing to do.

On a machine that stalls, a gateway and its driver in one loop stall together: neither may find that the other took long. What a
loop is kept from doing is therefore not counted. Timers still take as long as they say, unlike those of time that leaps
(support/leaping.py), so that the system has the time it needs to carry what goes over sockets.
"""

import asyncio
import time
from typing import Any


class _SteadySelector:
    """Counts how long it waited in vain, and never more than it was to wait."""

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


def steady(loop: asyncio.AbstractEventLoop) -> None:
    """From now on the time of this loop is steady. It begins at 0."""
    assert isinstance(loop, asyncio.SelectorEventLoop)
    selector = _SteadySelector(loop._selector)  # type: ignore[attr-defined]  # asyncio has no public place for it
    loop._selector = selector  # type: ignore[attr-defined]
    loop.time = lambda: selector.now  # type: ignore[method-assign]


def hold_up(loop: asyncio.AbstractEventLoop, seconds: float) -> None:
    """As if the loop had been kept from running for so long, and that were counted: what was to come meanwhile is there."""
    loop._selector.now += seconds  # type: ignore[attr-defined]  # it is steady
