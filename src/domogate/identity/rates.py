"""Rates of subscription keys. Each rate is counted in a sliding window (Decision 0014)."""

import re
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

_RATE = re.compile(r"([1-9][0-9]{0,8})/(second|minute|hour|day)", re.ASCII).fullmatch
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}

# A window has at most this number of slices, so the memory of a key does not grow with its rate.
_SLICES = 1_000

_MOST_KEYS = 100_000
"""The greatest number of keys for which the requests of other gateways are counted.

Without this limit, a stranger who can send messages between gateways could fill the memory with invented keys.
"""


class Rate(NamedTuple):
    """A rate: at most `amount` requests in any period of `seconds`."""

    amount: int
    unit: str
    seconds: int

    def __str__(self) -> str:
        return f"{self.amount}/{self.unit}"


def parse_rate(text: str) -> Rate:
    """Read a rate such as '10/second', '600/minute', '5000/hour' or '20000/day'. Raises ValueError for any other text."""
    match = _RATE(text)
    if match is None:
        raise ValueError(
            f"a rate is written N/second, N/minute, N/hour or N/day with N from 1 to 999999999, such as 10/second, not {text!r}"
        )
    return Rate(int(match[1]), match[2], _SECONDS[match[2]])


class _Slice:
    """Requests that came within a short time: a thousandth of the length of the window.

    All these requests count until the newest request of the slice leaves the window.
    """

    __slots__ = ("count", "newest", "oldest")

    def __init__(self, now: float) -> None:
        self.oldest = self.newest = now
        self.count = 0


class RateWindow:
    """The admitted requests of one key in its sliding window."""

    __slots__ = ("_count", "_slices", "key", "rate")

    def __init__(self, rate: Rate, key: str = "") -> None:
        self.rate = rate
        self.key = key
        self._slices: deque[_Slice] = deque()
        self._count = 0

    def admit(self, now: float) -> bool:
        """Count a request and return True. If the rate is used up, count nothing and return False."""
        if self.count(now) >= self.rate.amount:
            return False
        self.add(now, 1)
        return True

    def add(self, now: float, number: int) -> None:
        """Count requests, even if this exceeds the rate.

        Before you call this method, call `count` with the same time: it removes the requests that are outside the window.
        """
        slices = self._slices
        if not slices or now - slices[-1].oldest >= self.rate.seconds / _SLICES:
            slices.append(_Slice(now))
        slices[-1].newest = now
        slices[-1].count += number
        self._count += number

    def count(self, now: float) -> int:
        """Return the number of requests in the window that ends now. Forget the requests that are outside this window."""
        slices = self._slices
        if slices and slices[-1].newest > now:  # the clock was set back: the old times cannot be used
            slices.clear()
            self._count = 0
        while slices and slices[0].newest + self.rate.seconds <= now:
            self._count -= slices.popleft().count
        return self._count

    def frees_at(self, now: float) -> float:
        """Return the time at which the oldest requests leave the window."""
        return (self._slices[0].newest if self._slices else now) + self.rate.seconds

    def __len__(self) -> int:
        return len(self._slices)


class RateWindows:
    """The sliding windows (see RateWindow) of all keys that were used recently."""

    def __init__(self) -> None:
        self._windows: dict[str, RateWindow] = {}
        self.on_admitted: Callable[[RateWindow], None] | None = None
        """In a cluster: called for each request that this gateway admits."""

    def find(self, key: str, rate: Rate) -> RateWindow:
        """Return the window of the key. If it has no window, or if the rate of the key has changed, make a new window."""
        window = self._windows.get(key)
        if window is None or window.rate != rate:
            window = self._windows[key] = RateWindow(rate, key)
        return window

    def admit(self, window: RateWindow, now: float) -> bool:
        """Count a request and return True. If the rate is used up, count nothing and return False."""
        if not window.admit(now):
            return False
        if self.on_admitted is not None:
            self.on_admitted(window)
        return True

    def add(self, key: str, rate: Rate, now: float, number: int) -> None:
        """Count requests that another gateway has admitted.

        If the key has another rate at this gateway, these requests are ignored.
        """
        window = self._windows.get(key)
        if window is None:
            if len(self._windows) >= _MOST_KEYS:
                return
            window = self.find(key, rate)
        if window.rate == rate:
            window.count(now)
            window.add(now, number)

    def sweep(self, now: float) -> None:
        """Remove the windows that contain no request any more."""
        self._windows = {key: window for key, window in self._windows.items() if window.count(now)}

    def __len__(self) -> int:
        return len(self._windows)
