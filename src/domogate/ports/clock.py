"""The time."""

from typing import Protocol


class Clock(Protocol):
    """The current time; tests use a clock that they set."""

    def now(self) -> float:
        """Return the seconds since the epoch."""
        ...
