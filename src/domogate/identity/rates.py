"""Rates of subscription keys: the moving window of `limits`, on our own clock.

The library's own memory storage asks time.time() and starts a timer thread every few milliseconds; this one asks the
Clock and starts none.
"""

import re
from collections import deque

from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute, RateLimitItemPerSecond
from limits.storage import MovingWindowSupport, Storage

from domogate.ports import Clock

MAX_RATE = 100_000

_RATE = re.compile(r"([0-9]{1,6})/(second|minute|hour)", re.ASCII).fullmatch
_ITEMS: dict[str, type[RateLimitItem]] = {
    "second": RateLimitItemPerSecond,
    "minute": RateLimitItemPerMinute,
    "hour": RateLimitItemPerHour,
}


def parse_rate(text: str) -> RateLimitItem:
    """'10/second', '600/minute' or '5000/hour'; anything else is a ValueError. For a day there is the daily quota."""
    match = _RATE(text)
    # Each request of the window is remembered, so its number is bounded.
    if match is None or not 1 <= int(match[1]) <= MAX_RATE:
        raise ValueError(f"a rate is written N/second, N/minute or N/hour with N from 1 to {MAX_RATE}, not {text!r}")
    return _ITEMS[match[2]](int(match[1]))


class MovingWindows(Storage, MovingWindowSupport):
    """For each key when its admitted requests came, the oldest first."""

    STORAGE_SCHEME = None

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._now = clock.now
        self._windows: dict[str, deque[float]] = {}
        self._lengths: dict[str, int] = {}

    @property
    def base_exceptions(self) -> type[Exception]:
        return ValueError

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        window = self._current(key, expiry)
        if len(window) + amount > limit:
            return False
        window.extend([self._now()] * amount)
        return True

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:  # noqa: ARG002
        window = self._current(key, expiry)
        return (window[0], len(window)) if window else (self._now(), 0)

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        window = self._current(key, expiry)
        window.extend([self._now()] * amount)
        return len(window)

    def get(self, key: str) -> int:
        return len(self._current(key, self._lengths[key])) if key in self._windows else 0

    def get_expiry(self, key: str) -> float:
        """When the window will be empty."""
        return self._windows[key][-1] + self._lengths[key] if self.get(key) else self._now()

    def check(self) -> bool:
        return True

    def reset(self) -> int:
        count = len(self._windows)
        self._windows.clear()
        self._lengths.clear()
        return count

    def clear(self, key: str) -> None:
        self._windows.pop(key, None)
        self._lengths.pop(key, None)

    def sweep(self) -> None:
        """Forget the windows that are empty by now."""
        for key in [key for key in self._windows if not self.get(key)]:
            self.clear(key)

    def _current(self, key: str, expiry: int) -> deque[float]:
        window = self._windows.setdefault(key, deque())
        self._lengths[key] = expiry
        now = self._now()
        if window and window[-1] > now:  # the clock was set back: what it said before means nothing
            window.clear()
        while window and window[0] <= now - expiry:
            window.popleft()
        return window
