"""Time that leaps: a loop that has nothing to do now is at once where its next timer is due.

What a test waits for then costs no time, takes exactly as long as it says, and comes in the same order on a machine that
stalls. Only for tests that keep to one loop: for a thread or another process such a loop would not wait.
"""

import asyncio
from typing import Any


class _LeapingSelector:
    """Looks for what is ready, and never waits for it while a timer is running."""

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


def leap(loop: asyncio.AbstractEventLoop) -> None:
    """From now on the time of this loop leaps. It begins at 0."""
    assert isinstance(loop, asyncio.SelectorEventLoop)
    selector = _LeapingSelector(loop._selector)  # type: ignore[attr-defined]  # asyncio has no public place for it
    loop._selector = selector  # type: ignore[attr-defined]
    loop.time = lambda: selector.now  # type: ignore[method-assign]
