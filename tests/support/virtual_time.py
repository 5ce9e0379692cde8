"""Virtual time: the clock of an idle event loop jumps to the next timer.

Waiting then takes no real time, and timers fire in the same order on every machine. Use it only for tests with one loop:
such a loop does not wait for threads or other processes.
"""

import asyncio
from typing import Any


class _VirtualTimeSelector:
    """A selector that does not wait while a timer is pending."""

    def __init__(self, selector: Any) -> None:
        self._selector = selector
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        waits = timeout is not None and timeout > 0
        ready: list[Any] = self._selector.select(0 if waits else timeout)
        if waits and not ready:
            self.now += timeout or 0.0
        return ready

    def __getattr__(self, name: str) -> Any:
        return getattr(self._selector, name)


def use_virtual_time(loop: asyncio.AbstractEventLoop) -> None:
    """Use virtual time in this loop from now on. It starts at 0."""
    assert isinstance(loop, asyncio.SelectorEventLoop)
    selector = _VirtualTimeSelector(loop._selector)  # type: ignore[attr-defined]  # asyncio has no public attribute
    loop._selector = selector  # type: ignore[attr-defined]  # as above
    loop.time = lambda: selector.now  # type: ignore[method-assign]  # another clock
