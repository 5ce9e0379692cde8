"""Rates of subscription keys: the moving window of `limits`, on our own clock.

The library's own memory storage asks time.time() and starts a timer thread every few milliseconds; this one asks the
Clock and starts none.
"""

import re
from collections import deque

from limits import (
    RateLimitItem,
    RateLimitItemPerDay,
    RateLimitItemPerHour,
    RateLimitItemPerMinute,
    RateLimitItemPerSecond,
)
from limits.storage import MovingWindowSupport, Storage

from domogate.ports import Clock

_RATE = re.compile(r"([1-9][0-9]{0,8})/(second|minute|hour|day)", re.ASCII).fullmatch
_ITEMS: dict[str, type[RateLimitItem]] = {
    "second": RateLimitItemPerSecond,
    "minute": RateLimitItemPerMinute,
    "hour": RateLimitItemPerHour,
    "day": RateLimitItemPerDay,
}

# Into how many slices a window is cut: what a key costs in memory at most, whatever its rate.
_SLICES = 1_000


def parse_rate(text: str) -> RateLimitItem:
    """'10/second', '600/minute', '5000/hour' or '20000/day'; anything else is a ValueError."""
    match = _RATE(text)
    if match is None:
        raise ValueError(
            f"a rate is written N/second, N/minute, N/hour or N/day with N from 1 to 999999999, such as 10/second, not {text!r}"
        )
    return _ITEMS[match[2]](int(match[1]))


class _Slice:
    """Requests that came within a thousandth of the window; they leave it together, with the newest of them."""

    __slots__ = ("count", "newest", "oldest")

    def __init__(self, at: float, count: int) -> None:
        self.oldest = self.newest = at
        self.count = count


class _Window:
    """When a key's admitted requests came, the oldest first."""

    __slots__ = ("_length", "_slices", "count")

    def __init__(self, length: int) -> None:
        self._length = length
        self._slices: deque[_Slice] = deque()
        self.count = 0

    def move_to(self, now: float) -> None:
        slices = self._slices
        if slices and slices[-1].newest > now:  # the clock was set back: what it said before means nothing
            slices.clear()
            self.count = 0
        while slices and slices[0].newest + self._length <= now:
            self.count -= slices.popleft().count

    def add(self, now: float, amount: int) -> None:
        last = self._slices[-1] if self._slices else None
        if last is not None and now - last.oldest < self._length / _SLICES:
            last.newest = now
            last.count += amount
        else:
            self._slices.append(_Slice(now, amount))
        self.count += amount

    @property
    def start(self) -> float:
        return self._slices[0].newest

    @property
    def end(self) -> float:
        return self._slices[-1].newest + self._length


class MovingWindows(Storage, MovingWindowSupport):
    """The windows of all keys that were used lately."""

    STORAGE_SCHEME = None

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._now = clock.now
        self._windows: dict[str, _Window] = {}

    @property
    def base_exceptions(self) -> type[Exception]:
        return ValueError

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        if self.get(key) + amount > limit:
            return False
        self.incr(key, expiry, amount)
        return True

    # The library's signature: the window kept under `key` has its length already, and counting needs no limit.
    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:  # noqa: ARG002
        count = self.get(key)
        return (self._windows[key].start, count) if count else (self._now(), 0)

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        window = self._windows.get(key)
        if window is None:
            window = self._windows[key] = _Window(expiry)
        now = self._now()
        window.move_to(now)
        window.add(now, amount)
        return window.count

    def get(self, key: str) -> int:
        window = self._windows.get(key)
        if window is None:
            return 0
        window.move_to(self._now())
        return window.count

    def get_expiry(self, key: str) -> float:
        """When the window will be empty."""
        return self._windows[key].end if self.get(key) else self._now()

    def check(self) -> bool:
        return True

    def reset(self) -> int:
        count = len(self._windows)
        self._windows.clear()
        return count

    def clear(self, key: str) -> None:
        self._windows.pop(key, None)

    def sweep(self) -> None:
        """Forget the windows that are empty by now."""
        for key in [key for key in self._windows if not self.get(key)]:
            self.clear(key)
