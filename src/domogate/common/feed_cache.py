"""An LRU cache that the change feed invalidates."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, NoReturn, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Change(Protocol):
    """One change of the change feed: its cursor, and the event that happened."""

    @property
    def cursor(self) -> int: ...
    @property
    def event(self) -> object: ...


InvalidatedBy = Mapping[type, Callable[[Any], Iterable[Hashable] | None]]
"""For each type of event, a function that gets the event. It returns the tags of the cached values that become stale.

If the function returns None, all values become stale. Each value in the cache has tags, for example its key.
"""

_ATTEMPTS = 5
_EVERYTHING = object()
"""A tag that every value has."""


class _Fetch(Generic[V]):
    """A running fetch of a value. All callers that need this value wait for the fetch."""

    __slots__ = ("stale", "task")

    def __init__(self) -> None:
        self.stale: dict[Hashable, int] = {}
        """The tags that became stale since the present attempt of the fetch began, each with the cursor of the change."""
        self.task: asyncio.Task[V | None] | None = None


class FeedCache(Generic[K, V]):
    """A cache with a limited size that follows the change feed.

    The cache fetches a value at its first use, and drops the value when it becomes stale. If the cache is full, it drops the
    value that was not used for the longest time.

    If a value changes while it is fetched, it is fetched again, so no stale value is kept (Decision 0006). If the value changes
    during every attempt, the cache stops after some attempts. It returns the value of the last attempt and does not keep this
    value. A returned value includes all changes that the cache got before the call of `get`.
    """

    def __init__(
        self,
        fetch: Callable[[K], Awaitable[V | None]] | None = None,
        *,
        capacity: int,
        invalidated_by: InvalidatedBy,
        tags_of: Callable[[V], Iterable[Hashable]] | None = None,
        cursor_of: Callable[[V], int] = lambda _: -1,
        weigh: Callable[[V], int] = lambda _: 1,
        absent_capacity: int = 0,
    ) -> None:
        """`tags_of` returns the tags of a value; by default the key of the value is its only tag.

        A change makes all values with certain tags stale: `invalidated_by` says which tags.

        `capacity` is the greatest sum of the weights of all values. `weigh` returns the weight of a value; by default it is 1.
        `cursor_of` returns the cursor of the last change that the value includes: earlier changes do not make it stale.
        The cache also remembers that certain keys have no value: at most `absent_capacity` keys.
        """
        self._fetch = fetch or _no_fetch
        self._capacity = capacity
        self._half = capacity / 2
        self._invalidated_by = invalidated_by
        self._tags_of = tags_of
        self._cursor_of = cursor_of
        self._weigh = weigh
        self._absent_capacity = absent_capacity
        self._held: OrderedDict[Hashable, V] = OrderedDict()
        self._absent: OrderedDict[Hashable, None] = OrderedDict()
        self._weight = 0
        self._fetching: dict[K, _Fetch[V]] = {}

    def __len__(self) -> int:
        return len(self._held) + len(self._absent)

    @property
    def weight(self) -> int:
        return self._weight

    def find(self, key: K) -> V | None:
        """Return the value if it is in memory, without a wait. If the result is None, call `get`."""
        value = self._held.get(key)
        # The order of use matters only when the cache is nearly full.
        if value is not None and self._weight > self._half:
            self._held.move_to_end(key)
        return value

    def peek(self, key: K) -> V | None:
        """Return the value if it is in memory, or else None. Unlike `find`, do not mark the value as used."""
        return self._held.get(key)

    async def get(self, key: K, fetch: Callable[[], Awaitable[V | None]] | None = None) -> V | None:
        """Return the value of `key`, or None if there is no such value.

        If the value is not in memory, fetch it first. If `fetch` is given, it is called instead of the `fetch` of the cache.
        Use `fetch` if the key alone is not enough to fetch the value.
        """
        value = self.find(key)
        if value is not None or key in self._absent:
            return value
        running = self._fetching.get(key)
        if running is None:
            running = self._fetching[key] = _Fetch()
            running.task = asyncio.create_task(self._run(key, running, fetch))
            running.task.add_done_callback(_retrieve_exception)
        assert running.task is not None
        # A caller that is cancelled must not cancel the fetch for the other callers.
        return await asyncio.shield(running.task)

    def apply(self, changes: Sequence[Change]) -> None:
        """Drop the values that these changes make stale."""
        stale: dict[Hashable, int] = {}
        for change in changes:
            list_tags = self._invalidated_by.get(type(change.event))
            if list_tags is not None:
                tags = list_tags(change.event)
                stale.update(dict.fromkeys((_EVERYTHING,) if tags is None else tags, change.cursor))
        if stale:
            self._invalidate(stale)

    def drop(self, key: Hashable) -> None:
        value = self._held.pop(key, None)
        if value is not None:
            self._weight -= self._weigh(value)
        self._absent.pop(key, None)

    def clear(self) -> None:
        self._invalidate({_EVERYTHING: 0})

    def _invalidate(self, stale: Mapping[Hashable, int]) -> None:
        for running in self._fetching.values():
            running.stale.update(stale)
        if _EVERYTHING in stale:
            self._held.clear()
            self._absent.clear()
            self._weight = 0
        elif self._tags_of is None:  # The tags are the keys.
            for key in stale:
                self.drop(key)
        else:
            tags_of, tags = self._tags_of, stale.keys()
            for key in [key for key, value in self._held.items() if not tags.isdisjoint(tags_of(value))]:
                self.drop(key)

    async def _run(self, key: K, running: _Fetch[V], fetch: Callable[[], Awaitable[V | None]] | None) -> V | None:
        async def read() -> V | None:
            return await self._fetch(key) if fetch is None else await fetch()

        try:
            for _ in range(_ATTEMPTS - 1):
                running.stale.clear()
                value = await read()
                if not (running.stale and self._is_stale(key, value, running.stale)):
                    self._keep(key, value)
                    return value
        finally:
            del self._fetching[key]
        # A caller that comes during this last attempt begins its own fetch: the last value may be older than its call.
        return await read()

    def _is_stale(self, key: K, value: V | None, stale: Mapping[Hashable, int]) -> bool:
        seen = -1 if value is None else self._cursor_of(value)
        tags = (key,) if value is None or self._tags_of is None else self._tags_of(value)
        return any(stale.get(tag, -1) > seen for tag in (_EVERYTHING, *tags))

    def _keep(self, key: K, value: V | None) -> None:
        if value is None:
            if self._absent_capacity:
                self._absent[key] = None
                if len(self._absent) > self._absent_capacity:
                    self._absent.popitem(last=False)
            return
        self._held[key] = value
        self._weight += self._weigh(value)
        while self._weight > self._capacity and len(self._held) > 1:
            _, oldest = self._held.popitem(last=False)
            self._weight -= self._weigh(oldest)


async def _no_fetch(key: object) -> NoReturn:
    raise LookupError(f"this cache cannot fetch {key!r} by itself")


def _retrieve_exception(task: "asyncio.Task[Any]") -> None:
    """Read the exception of a finished fetch. Otherwise asyncio would log the exception if all callers were cancelled."""
    if not task.cancelled():
        task.exception()
