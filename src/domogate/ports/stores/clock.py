"""The port for the last stored clock time of a gateway. This time shows whether a clock is wrong."""

from typing import Protocol


class ClockStore(Protocol):
    """Stores the last clock time of a gateway. A clock that is far from this time may be wrong."""

    async def check_clock(self, now: float, tolerance: float) -> float | None:
        """Compare the time `now` with the stored time.

        If they differ by at most `tolerance` seconds, store `now` and return None.

        Otherwise return the stored time, which does not change.
        """
        ...

    async def find_last_time(self) -> float | None:
        """Return the last clock time of a gateway.

        If no such time is stored, return the time of the newest change, or None if there is no change.
        """
        ...

    async def confirm_clock(self, now: float) -> None:
        """Store the time `now`, even if it is far from the stored time."""
        ...
