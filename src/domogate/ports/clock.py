"""The port for the current time."""

from typing import Protocol, runtime_checkable


class Clock(Protocol):
    """Gives the current time. Tests use a clock that they set."""

    def now(self) -> float:
        """Return the seconds since the epoch."""
        ...


@runtime_checkable
class SharedClock(Clock, Protocol):
    """A clock that shows the same time in several gateways."""

    began_at: float
    """The time at which the first of the gateways started. Every gateway has the same value."""
