"""The port for the current time."""

from typing import Protocol


class Clock(Protocol):
    """Gives the current time. Tests use a clock that they set."""

    def now(self) -> float:
        """Return the seconds since the epoch."""
        ...
