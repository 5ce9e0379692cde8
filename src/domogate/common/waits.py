"""Remembers how long requests waited for the store and for devices. The log of slow requests shows these times."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

_MOST = 1_000
"""The number of requests whose waiting times are remembered. If there are more, the oldest one is forgotten."""


class _Wait:
    """The total time in which a request waited for one thing (`what` in `Waits.measure`), for example the store.

    If several steps of the request wait for this thing at the same time, the time counts only once.
    """

    __slots__ = ("_began", "_ended", "_steps")

    def __init__(self) -> None:
        self._steps = 0
        self._began = self._ended = 0.0

    def begin(self) -> None:
        if not self._steps:
            self._began = perf_counter()
        self._steps += 1

    def end(self) -> None:
        self._steps -= 1
        if not self._steps:
            self._ended += perf_counter() - self._began

    def ended_within(self, seconds: float) -> bool:
        """Whether the request no longer waits for this thing, and has waited for it less than `seconds` seconds in total."""
        return not self._steps and self._ended < seconds

    @property
    def seconds(self) -> float:
        return self._ended + (perf_counter() - self._began if self._steps else 0.0)


class Waits:
    """The waiting times of requests by their id. A request without a long wait is not remembered."""

    def __init__(self, find_request: Callable[[], str | None], shortest: float) -> None:
        """`find_request` returns the id of the request that runs now. Waits of less than `shortest` seconds are ignored."""
        self._find_request = find_request
        self._shortest = shortest
        self.of_requests: dict[str, dict[str, _Wait]] = {}
        """The waits of each request, by the id of the request and by the name of what it waited for."""

    @contextmanager
    def measure(self, what: str) -> Iterator[None]:
        """Measure how long the request that runs now waits for `what`. The wait lasts until the end of the `with` block."""
        request = self._find_request()
        if request is None:
            yield
            return
        waits = self.of_requests.setdefault(request, {})
        wait = waits.setdefault(what, _Wait())
        wait.begin()
        if len(self.of_requests) > _MOST:
            del self.of_requests[next(iter(self.of_requests))]
        try:
            yield
        finally:
            wait.end()
            if all(one.ended_within(self._shortest) for one in waits.values()):
                self.of_requests.pop(request, None)

    def take(self) -> dict[str, float]:
        """Return and forget the waiting times of the request that runs now. Short waiting times are left out."""
        waits = self.of_requests.pop(self._find_request() or "", {})
        return {what: wait.seconds for what, wait in waits.items() if wait.seconds >= self._shortest}
