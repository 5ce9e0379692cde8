"""The port for the last stored clock time of a gateway, which shows whether a clock is wrong."""

from typing import Protocol


class ClockStore(Protocol):
    """Stores the last clock time of a gateway. A clock that is far from this time may be wrong."""

    async def check_clock(self, now: float, tolerance: float) -> float | None:
        """If `now` is at most `tolerance` seconds from the last time, store `now` and return None.

        Otherwise return the last time.
        """
        ...

    async def find_last_time(self) -> float | None:
        """Return the last clock time of a gateway, or None if no gateway has used this store yet."""
        ...

    async def confirm_clock(self, now: float) -> None:
        """Store `now` as the last time, even if it is far from the former last time."""
        ...
