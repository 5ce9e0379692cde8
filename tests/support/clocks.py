"""Clocks of tests."""

import asyncio
import time

NOON = 1_763_208_000.0
"""2025-11-15 12:00 UTC"""
NOW = 1_800_000_000.0


DAY = 86_400.0


def avoid_midnight(seconds: float = 60.0) -> None:
    """Wait until the next day (UTC) if this day ends within so many seconds. Then a quota counts from 0 again."""
    left = DAY - time.time() % DAY
    if left < seconds:
        time.sleep(left)


class ManualClock:
    """Time passes only when the test moves the clock."""

    def __init__(self, at: float = NOW) -> None:
        self.at = at

    def now(self) -> float:
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += seconds


class LoopClock(ManualClock):
    """Follows the time of the running event loop, so that no deadline is met or missed by chance."""

    def __init__(self, at: float = NOON) -> None:
        super().__init__(at)

    def now(self) -> float:
        return self.at + asyncio.get_running_loop().time()
