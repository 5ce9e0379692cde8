"""Time, so that tests own it."""

from typing import Protocol


class Clock(Protocol):
    """So that tests own the time."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...
