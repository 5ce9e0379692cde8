"""A clock and an event loop whose time a test can move forward."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable

_MOST_STEPS = 10
"""`advance` moves the time in at most this number of steps. After each step, the timers that are due fire. A timer can start
another timer, so one step is not enough.
"""
_ROUNDS = 5
"""The number of rounds of the event loop after each step. In these rounds, the timers that are due fire."""


class LeapingLoop(asyncio.SelectorEventLoop):
    """An event loop whose time can be moved forward (`ahead`). The timers that are then due fire at once."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


class MovableClock:
    """The time of this machine, moved forward. Implements Clock."""

    ahead = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def reset(self) -> None:
        """Set this clock to the time of this machine. The time of the event loop is not changed: it must never go back."""
        self.ahead = 0.0

    async def advance(self, seconds: float, settle: Callable[[], Awaitable[object]]) -> None:
        """Move this clock and the timers of the running event loop forward.

        The time moves in steps. Before each step, `settle` waits for work that has started, such as a statement of the
        database. Otherwise this work could miss its deadline because of the step.
        """
        loop = asyncio.get_running_loop()
        steps = min(_MOST_STEPS, max(1, math.ceil(seconds)))
        for _ in range(steps):
            await settle()
            self.ahead += seconds / steps
            if isinstance(loop, LeapingLoop):
                loop.ahead += seconds / steps
            for _ in range(_ROUNDS):
                await asyncio.sleep(0)
