import asyncio

from domogate.common.feed_cache import FeedCache


class Source:
    """A store in small: values by key, a cursor, and a gate that holds fetches up."""

    def __init__(self, **values):
        self.values = values
        self.cursor = 0
        self.fetches = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def fetch(self, key):
        self.fetches.append(key)
        value, cursor = self.values.get(key), self.cursor
        await self.gate.wait()
        return value, cursor

    def change(self, shelf, key, value):
        self.cursor += 1
        self.values[key] = value
        shelf.drop(key, self.cursor)


class TestAShelf:
    async def test_fetches_once_and_then_finds_without_waiting(self):
        source = Source(a=1)
        shelf = FeedCache(source.fetch, capacity=10)
        assert shelf.find("a") is None
        assert await shelf.get("a") == 1
        assert shelf.find("a") == 1
        assert await shelf.get("a") == 1
        assert source.fetches == ["a"]

    async def test_many_who_ask_at_once_share_one_fetch(self):
        source = Source(a=1)
        source.gate.clear()
        shelf = FeedCache(source.fetch, capacity=10)
        asking = [asyncio.create_task(shelf.get("a")) for _ in range(20)]
        await asyncio.sleep(0)
        source.gate.set()
        assert await asyncio.gather(*asking) == [1] * 20
        assert source.fetches == ["a"]

    async def test_one_who_gives_up_does_not_take_it_from_the_others(self):
        source = Source(a=1)
        source.gate.clear()
        shelf = FeedCache(source.fetch, capacity=10)
        first, second = asyncio.create_task(shelf.get("a")), asyncio.create_task(shelf.get("a"))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        source.gate.set()
        assert await second == 1

    async def test_what_changes_while_it_is_fetched_is_fetched_again(self):
        source = Source(a=1)
        source.gate.clear()
        shelf = FeedCache(source.fetch, capacity=10)
        asking = asyncio.create_task(shelf.get("a"))
        await asyncio.sleep(0)
        source.change(shelf, "a", 2)
        source.gate.set()
        assert await asking == 2
        assert shelf.find("a") == 2

    async def test_a_change_that_the_fetch_already_saw_is_not_fetched_again(self):
        source = Source(a=1)
        source.cursor = 7
        source.gate.clear()
        shelf = FeedCache(source.fetch, capacity=10)
        asking = asyncio.create_task(shelf.get("a"))
        await asyncio.sleep(0)
        shelf.outdate("a", 7)
        source.gate.set()
        assert await asking == 1
        assert source.fetches == ["a"]

    async def test_what_changed_is_not_found_any_more(self):
        source = Source(a=1)
        shelf = FeedCache(source.fetch, capacity=10)
        await shelf.get("a")
        source.change(shelf, "a", 2)
        assert shelf.find("a") is None
        assert await shelf.get("a") == 2

    async def test_holds_no_more_than_its_capacity_and_lets_the_least_used_go(self):
        source = Source(**{key: len(key) for key in ("a", "bb", "ccc")})
        shelf = FeedCache(source.fetch, capacity=5, weigh=lambda value: value)
        await shelf.get("a")
        await shelf.get("bb")
        assert shelf.find("a") == 1  # used again: now bb is the least recently used
        await shelf.get("ccc")
        assert (shelf.find("a"), shelf.find("bb"), shelf.find("ccc")) == (1, None, 3)
        assert shelf.weight == 4

    async def test_keeps_nothing_of_keys_that_are_unknown(self):
        source = Source()
        shelf = FeedCache(source.fetch, capacity=10)
        assert await shelf.get("a") is None
        assert len(shelf) == 0
        source.values["a"] = 1
        assert await shelf.get("a") == 1

    async def test_a_fetch_that_fails_fails_its_callers_and_is_tried_anew(self):
        broken = True

        async def fetch(key):
            if broken:
                raise OSError("disk")
            return key, 0

        shelf = FeedCache(fetch, capacity=10)
        outcomes = await asyncio.gather(shelf.get("a"), shelf.get("a"), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [OSError, OSError]
        broken = False
        assert await shelf.get("a") == "a"

    async def test_clearing_outdates_what_is_being_fetched_too(self):
        source = Source(a=1)
        source.gate.clear()
        shelf = FeedCache(source.fetch, capacity=10)
        asking = asyncio.create_task(shelf.get("a"))
        await asyncio.sleep(0)
        source.cursor, source.values["a"] = 1, 2
        shelf.clear(1)
        source.gate.set()
        assert await asking == 2
