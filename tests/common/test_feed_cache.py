import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from domogate.common.feed_cache import FeedCache


@dataclass(frozen=True)
class KeyChanged:
    key: str


@dataclass(frozen=True)
class AllChanged:
    pass


@dataclass(frozen=True)
class Change:
    cursor: int
    event: object


INVALIDATED_BY = {KeyChanged: lambda event: (event.key,), AllChanged: lambda _: None}


class Source:
    """A small store: values by key, a cursor, and a gate that delays fetches."""

    def __init__(self, **values: Any) -> None:
        self.values = values
        self.cursor = 0
        self.fetches: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    def cache(self, **options: Any) -> FeedCache[str, Any]:
        return FeedCache(self.fetch, **{"capacity": 10, "invalidated_by": INVALIDATED_BY, **options})

    async def begun(self, fetches: int = 1) -> None:
        while len(self.fetches) < fetches:
            await asyncio.sleep(0)

    async def fetch(self, key: str) -> Any:
        self.fetches.append(key)
        value = self.values.get(key)
        await self.gate.wait()
        return value

    def change(self, cache: FeedCache[str, Any], key: str, value: Any) -> None:
        self.cursor += 1
        self.values[key] = value
        cache.apply([Change(self.cursor, KeyChanged(key))])


class TestFetching:
    async def test_a_value_is_fetched_once_and_then_found_without_waiting(self) -> None:
        source = Source(a=1)
        cache = source.cache()
        assert cache.find("a") is None
        assert await cache.get("a") == 1
        assert cache.find("a") == 1
        assert await cache.get("a") == 1
        assert source.fetches == ["a"]

    async def test_concurrent_callers_share_one_fetch(self) -> None:
        source = Source(a=1)
        source.gate.clear()
        cache = source.cache()
        asking = [asyncio.create_task(cache.get("a")) for _ in range(20)]
        await asyncio.sleep(0)
        source.gate.set()
        assert await asyncio.gather(*asking) == [1] * 20
        assert source.fetches == ["a"]

    async def test_a_caller_that_is_cancelled_does_not_cancel_the_fetch(self) -> None:
        source = Source(a=1)
        source.gate.clear()
        cache = source.cache()
        first, second = asyncio.create_task(cache.get("a")), asyncio.create_task(cache.get("a"))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        source.gate.set()
        assert await second == 1

    async def test_a_fetch_that_fails_fails_its_callers_and_is_repeated(self) -> None:
        broken = True

        async def fetch(key: str) -> str:
            if broken:
                raise OSError("disk")
            return key

        cache = FeedCache(fetch, capacity=10, invalidated_by={})
        outcomes = await asyncio.gather(cache.get("a"), cache.get("a"), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [OSError, OSError]
        broken = False
        assert await cache.get("a") == "a"

    async def test_a_caller_can_say_how_to_fetch(self) -> None:
        cache: FeedCache[str, int] = FeedCache(capacity=10, invalidated_by={})
        source = Source(b=2)
        assert await cache.get("a", lambda: source.fetch("b")) == 2
        assert cache.find("a") == 2
        with pytest.raises(LookupError):
            await cache.get("c")

    async def test_an_unknown_key_takes_no_memory(self) -> None:
        source = Source()
        cache = source.cache()
        assert await cache.get("a") is None
        assert len(cache) == 0
        source.values["a"] = 1
        assert await cache.get("a") == 1

    async def test_a_bounded_number_of_unknown_keys_is_remembered_if_asked_for(self) -> None:
        source = Source()
        cache = source.cache(absent_capacity=2)
        for key in ("a", "b", "b", "c", "c"):
            assert await cache.get(key) is None
        assert source.fetches == ["a", "b", "c"]
        assert len(cache) == 2
        source.change(cache, "c", 3)
        assert await cache.get("c") == 3

    async def test_the_capacity_is_kept_and_the_least_recently_used_value_goes(self) -> None:
        source = Source(**{key: len(key) for key in ("a", "bb", "ccc")})
        cache = source.cache(capacity=5, weigh=lambda value: value)
        await cache.get("a")
        await cache.get("bb")
        assert cache.find("a") == 1  # used again: now bb is the least recently used
        await cache.get("ccc")
        assert (cache.find("a"), cache.find("bb"), cache.find("ccc")) == (1, None, 3)
        assert cache.weight == 4


class TestChanges:
    async def test_a_value_that_changed_is_dropped(self) -> None:
        source = Source(a=1, b=1)
        cache = source.cache()
        await cache.get("a")
        await cache.get("b")
        source.change(cache, "a", 2)
        assert (cache.find("a"), cache.find("b"), cache.weight) == (None, 1, 1)
        assert await cache.get("a") == 2

    async def test_an_event_that_is_not_in_the_table_drops_nothing(self) -> None:
        source = Source(a=1)
        cache = source.cache()
        await cache.get("a")
        cache.apply([Change(1, object())])
        assert cache.find("a") == 1

    async def test_a_value_that_changes_while_it_is_fetched_is_fetched_again(self) -> None:
        source = Source(a=1)
        source.gate.clear()
        cache = source.cache()
        asking = asyncio.create_task(cache.get("a"))
        await source.begun()
        source.change(cache, "a", 2)
        source.gate.set()
        assert await asking == 2
        assert cache.find("a") == 2

    async def test_a_change_of_another_key_does_not_repeat_the_fetch(self) -> None:
        source = Source(a=1)
        source.gate.clear()
        cache = source.cache()
        asking = asyncio.create_task(cache.get("a"))
        await source.begun()
        source.change(cache, "b", 2)
        source.gate.set()
        assert await asking == 1
        assert source.fetches == ["a"]

    async def test_a_change_that_the_value_includes_does_not_repeat_the_fetch(self) -> None:
        source = Source(a=7)
        source.gate.clear()
        cache = source.cache(cursor_of=lambda value: value)
        asking = asyncio.create_task(cache.get("a"))
        await source.begun()
        cache.apply([Change(7, KeyChanged("a"))])
        source.gate.set()
        assert await asking == 7
        assert source.fetches == ["a"]

    async def test_a_key_that_gets_a_value_while_it_is_fetched_is_fetched_again(self) -> None:
        source = Source()
        source.gate.clear()
        cache = source.cache(absent_capacity=2)
        asking = asyncio.create_task(cache.get("a"))
        await source.begun()
        source.change(cache, "a", 1)
        source.gate.set()
        assert await asking == 1

    async def test_a_caller_during_the_last_attempt_gets_no_value_from_before_the_call(self) -> None:
        stored, reads = 0, 0
        late: asyncio.Task[int | None] | None = None

        async def fetch(key: str) -> int:
            nonlocal stored, reads, late
            value, reads = stored, reads + 1
            if reads <= 5:  # The value changes during each attempt.
                stored += 1
                cache.apply([Change(stored, KeyChanged(key))])
            if reads == 5:
                late = asyncio.create_task(cache.get(key))
                await asyncio.sleep(0)
            return value

        cache: FeedCache[str, int] = FeedCache(fetch, capacity=10, invalidated_by=INVALIDATED_BY)
        assert await cache.get("a") == 4
        assert late is not None
        assert await late == 5

    async def test_a_value_that_never_stops_changing_is_returned_but_not_kept(self) -> None:
        cache: FeedCache[str, int]

        async def fetch(key: str) -> int:
            cache.apply([Change(1, KeyChanged(key))])
            return 1

        cache = FeedCache(fetch, capacity=10, invalidated_by=INVALIDATED_BY)
        assert await cache.get("a") == 1
        assert cache.find("a") is None

    @pytest.mark.parametrize("by_event", [True, False])
    async def test_clearing_drops_all_values_and_repeats_running_fetches(self, by_event: bool) -> None:
        source = Source(a=1, b=1)
        cache = source.cache()
        await cache.get("b")
        source.gate.clear()
        asking = asyncio.create_task(cache.get("a"))
        await source.begun(2)
        source.values["a"] = 2
        if by_event:
            cache.apply([Change(1, AllChanged())])
        else:
            cache.clear()
        assert (cache.find("b"), cache.weight) == (None, 0)
        source.gate.set()
        assert await asking == 2


class TestTags:
    def cache(self, source: Source) -> FeedCache[str, Any]:
        return source.cache(tags_of=lambda value: value)

    async def test_a_change_drops_every_value_that_has_the_tag(self) -> None:
        source = Source(a=("anna", "app"), b=("bruno", "app"), c=("anna", "other"))
        cache = self.cache(source)
        for key in "abc":
            await cache.get(key)
        cache.apply([Change(1, KeyChanged("anna")), Change(2, KeyChanged("nobody"))])
        assert [cache.find(key) is None for key in "abc"] == [True, False, True]

    @pytest.mark.parametrize(("changed", "fetches"), [("anna", 2), ("bruno", 1)])
    async def test_a_running_fetch_is_repeated_if_its_value_has_the_tag(self, changed: str, fetches: int) -> None:
        source = Source(a=("anna", "app"))
        source.gate.clear()
        cache = self.cache(source)
        asking = asyncio.create_task(cache.get("a"))
        await source.begun()
        cache.apply([Change(1, KeyChanged(changed))])
        source.gate.set()
        await asking
        assert len(source.fetches) == fetches
