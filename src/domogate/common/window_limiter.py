"""Limits how often something may happen in a span of time, in this process and in bounded memory."""

from collections import OrderedDict


class WindowLimiter:
    """Counts by key. A key's span begins with its first count, and the counts end with the span."""

    def __init__(self, allowance: int, span: float, capacity: int = 10_000) -> None:
        """`capacity`: how many keys are counted; the oldest one is forgotten first."""
        self._allowance = allowance
        self._span = span
        self._capacity = capacity
        self._spans: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def wait(self, key: str, now: float) -> float:
        """Seconds until the span ends, if the allowance is used up; otherwise 0."""
        begun, counted = self._spans.get(key, (now, 0))
        left = begun + self._span - now
        return left if counted >= self._allowance and 0 < left <= self._span else 0.0

    def count(self, key: str, now: float) -> None:
        begun, counted = self._spans.get(key, (now, 0))
        if not begun <= now < begun + self._span:
            begun, counted = now, 0
        self._spans[key] = (begun, counted + 1)
        self._spans.move_to_end(key)
        if len(self._spans) > self._capacity:
            self._spans.popitem(last=False)
