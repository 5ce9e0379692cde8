"""A ticket is used once, over all processes, on both databases."""

import asyncio
from collections import Counter

from domogate.stores import SqlStore
from support.clocks import NOW
from support.stores import OpenStore


class TestUsingATicket:
    async def test_is_true_once_and_false_ever_after(self, store: SqlStore) -> None:
        assert [await store.use_ticket("a", NOW + 60) for _ in range(3)] == [True, False, False]
        assert await store.use_ticket("b", NOW + 60)

    async def test_of_fifty_at_once_one_is_true(self, store: SqlStore) -> None:
        used = await asyncio.gather(*(store.use_ticket("a", NOW + 60) for _ in range(50)))
        assert Counter(used) == {True: 1, False: 49}

    async def test_of_fifty_at_once_on_two_gateways_one_is_true(
        self, store: SqlStore, open_store: OpenStore, database_url: str
    ) -> None:
        other = await open_store(database_url)
        for ticket in "abc":
            used = await asyncio.gather(*(each.use_ticket(ticket, NOW + 60) for each in (store, other) for _ in range(25)))
            assert Counter(used) == {True: 1, False: 49}

    async def test_is_remembered_by_a_gateway_that_starts_later(
        self, store: SqlStore, open_store: OpenStore, database_url: str
    ) -> None:
        await store.use_ticket("a", NOW + 60)
        await store.stop()
        assert not await (await open_store(database_url)).use_ticket("a", NOW + 60)

    async def test_is_no_change_that_anybody_is_told_of(self, store: SqlStore) -> None:
        before = await store.newest_cursor()
        await store.use_ticket("a", NOW + 60)
        assert await store.newest_cursor() == before


class TestPruning:
    async def test_forgets_those_that_had_expired_by_then_and_no_others(self, store: SqlStore) -> None:
        for ticket, expires_at in (("old", NOW - 1), ("just", NOW), ("new", NOW + 60)):
            await store.use_ticket(ticket, expires_at)
        await store.prune_tickets(NOW)
        assert [await store.use_ticket(ticket, NOW + 60) for ticket in ("old", "just", "new")] == [True, False, False]
