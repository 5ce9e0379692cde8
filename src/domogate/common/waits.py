"""Remembers how long requests waited for the store and for devices, so that the log of slow requests can say it."""

from collections.abc import Callable

_MOST = 1_000
"""The number of requests whose waiting times are remembered."""


class Waits:
    """The waiting times of requests by their id. Short waits are ignored, so a fast request leaves nothing behind."""

    def __init__(self, find_request: Callable[[], str | None], shortest: float) -> None:
        """`find_request` returns the id of the request that runs now. Waits of less than `shortest` seconds are ignored."""
        self._find_request = find_request
        self._shortest = shortest
        self._of: dict[str, dict[str, float]] = {}

    def note(self, what: str, seconds: float) -> None:
        """Add a wait of the request that runs now."""
        if seconds < self._shortest or (request := self._find_request()) is None:
            return
        waits = self._of.setdefault(request, {})
        waits[what] = waits.get(what, 0.0) + seconds
        if len(self._of) > _MOST:
            del self._of[next(iter(self._of))]

    def find(self, what: str) -> float:
        """Return how long the request that runs now has waited for this, in seconds."""
        return self._of.get(self._find_request() or "", {}).get(what, 0.0)

    def take(self) -> dict[str, float]:
        """Return the waiting times of the request that runs now, and forget them."""
        return self._of.pop(self._find_request() or "", {})
