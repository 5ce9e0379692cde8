"""A bounded memory of what was used lately, whose hit is one dictionary look-up."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Keeps about the `size` values used last, in two generations.

    A strict LRU would move an entry on every hit. Here a hit among the young costs nothing more than finding it; when the
    young are half of `size` they become the old, and the former old, unused for a whole generation, are forgotten.
    """

    __slots__ = ("_half", "_old", "_young")

    def __init__(self, size: int) -> None:
        if size < 2:
            raise ValueError(f"a memory of {size} entries is too small, at least 2 are needed")
        self._half = size // 2
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def find(self, key: K) -> V | None:
        value = self._young.get(key)
        if value is None and self._old:
            value = self._old.get(key)
            if value is not None:
                self.keep(key, value)
        return value

    def keep(self, key: K, value: V) -> None:
        if len(self._young) >= self._half and key not in self._young:
            self._old = self._young
            self._young = {}
        self._young[key] = value

    def forget(self, key: K) -> None:
        self._young.pop(key, None)
        self._old.pop(key, None)

    def forget_where(self, concerned: Callable[[V], bool]) -> None:
        for generation in (self._young, self._old):
            for key in [key for key, value in generation.items() if concerned(value)]:
                del generation[key]

    def clear(self) -> None:
        self._young = {}
        self._old = {}
