"""The last time that a gateway with a right clock saw."""

from typing import Protocol


class ClockStore(Protocol):
    """Tells a wrong clock from the time that the store last saw."""

    async def check_clock(self, now: float, tolerance: float) -> float | None:
        """Return None if `now` is near the last time, and store `now` as the last time. Otherwise return the last time."""
        ...

    async def find_last_time(self) -> float | None:
        """Return None if no gateway has used this store yet."""
        ...

    async def confirm_clock(self, now: float) -> None:
        """Store `now` as the last time, however far it is from the former one."""
        ...
