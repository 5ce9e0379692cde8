"""A bounded shelf of what was fetched, kept true by being told what changed."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class _Fetch(Generic[V]):
    """One fetch under way, shared by all who wait for it."""

    __slots__ = ("changed_at", "task")

    def __init__(self) -> None:
        self.changed_at = -1
        self.task: asyncio.Task[V | None] | None = None


class FeedCache(Generic[K, V]):
    """Filled on first use, one fetch at a time per key, least recently used first to go.

    `fetch` gives the value and the cursor up to which it is true. What changes while it is being fetched is fetched again,
    so that no stale value is ever kept (Decision 0006). A key that has no value is not kept: unknown keys cost no memory.
    """

    def __init__(
        self,
        fetch: Callable[[K], Awaitable[tuple[V | None, int]]],
        *,
        capacity: int,
        weigh: Callable[[V], int] = lambda _: 1,
    ) -> None:
        self._fetch = fetch
        self._capacity = capacity
        self._weigh = weigh
        self._held: OrderedDict[K, V] = OrderedDict()
        self._weight = 0
        self._fetching: dict[K, _Fetch[V]] = {}

    def __len__(self) -> int:
        return len(self._held)

    @property
    def weight(self) -> int:
        return self._weight

    def find(self, key: K) -> V | None:
        """A hit, without waiting; None: ask `get`."""
        value = self._held.get(key)
        if value is not None:
            self._held.move_to_end(key)
        return value

    def peek(self, key: K) -> V | None:
        """As `find`, by someone whose interest does not make the key worth keeping."""
        return self._held.get(key)

    async def get(self, key: K) -> V | None:
        value = self.find(key)
        if value is not None:
            return value
        fetch = self._fetching.get(key)
        if fetch is None:
            fetch = self._fetching[key] = _Fetch()
            fetch.task = asyncio.create_task(self._run(key, fetch))
        assert fetch.task is not None
        # Shielded: one caller who gives up must not take the value away from the others.
        return await asyncio.shield(fetch.task)

    def drop(self, key: K, cursor: int) -> None:
        """`key` changed at `cursor`: what is held of it is not true any more."""
        value = self._held.pop(key, None)
        if value is not None:
            self._weight -= self._weigh(value)
        self.outdate(key, cursor)

    def outdate(self, key: K, cursor: int) -> None:
        """`key` changed at `cursor`: a fetch under way that is older must be made again; what is held is left."""
        fetch = self._fetching.get(key)
        if fetch is not None:
            fetch.changed_at = cursor

    def clear(self, cursor: int) -> None:
        """Anything may have changed at `cursor`."""
        self._held.clear()
        self._weight = 0
        for fetch in self._fetching.values():
            fetch.changed_at = cursor

    async def _run(self, key: K, fetch: _Fetch[V]) -> V | None:
        try:
            while True:
                value, cursor = await self._fetch(key)
                if fetch.changed_at <= cursor:
                    break
            if value is not None:
                self._keep(key, value)
            return value
        finally:
            del self._fetching[key]

    def _keep(self, key: K, value: V) -> None:
        self._held[key] = value
        self._weight += self._weigh(value)
        while self._weight > self._capacity and len(self._held) > 1:
            _, oldest = self._held.popitem(last=False)
            self._weight -= self._weigh(oldest)
