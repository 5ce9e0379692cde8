"""Limits how often something may happen in a period. Examples are requests of one person, and wrong secrets of one client.

The counts are in the memory of this process. The number of keys (such as ids or IP addresses) is limited.
"""

from collections import OrderedDict


class WindowLimiter:
    """Counts the uses of each key. The period of a key begins with its first use. After the period the count is 0 again."""

    def __init__(self, allowance: int, span: float, capacity: int = 10_000) -> None:
        """Each key is allowed `allowance` uses in a period of `span` seconds.

        `capacity` is the number of keys that are counted. If there are more keys, the key whose last use is oldest is
        forgotten.
        """
        self._allowance = allowance
        self._span = span
        self._capacity = capacity
        self._spans: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def wait(self, key: str, now: float) -> float:
        """Return the seconds until the period of the key ends, if the key has used up its allowance.

        Otherwise return 0: the next use is allowed now.
        """
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
