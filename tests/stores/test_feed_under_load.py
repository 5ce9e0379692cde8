"""Several gateways write to one PostgreSQL. A gateway whose writes follow each other without a pause still reads the feed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from domogate.domain.events import UserChanged
from domogate.stores import SqlStore
from support.clocks import NOW
from support.stored_orders import an_order
from support.stores import ANNA, CARLA, SMALL, OpenStore, record_changes

pytestmark = pytest.mark.slow

Write = Callable[[SqlStore], Awaitable[object]]
MOST_WRITES = 1_000


async def give_order(store: SqlStore) -> None:
    """A write that adds nothing to the change feed."""
    await store.add_orders((an_order(),), NOW, sent=True)


async def save_anna(store: SqlStore) -> None:
    await store.save_user(ANNA)


class Load:
    """Writes that follow each other without a pause."""

    def __init__(self, store: SqlStore, write: Write) -> None:
        self._store = store
        self._write = write
        self.written = 0

    async def run(self) -> None:
        while True:
            await self._write(self._store)
            self.written += 1

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition is true. The test fails if it is not true after many writes."""
        begun = self.written
        while not condition():
            assert self.written < begun + MOST_WRITES
            await asyncio.sleep(0.005)


@asynccontextmanager
async def load(store: SqlStore, write: Write) -> AsyncIterator[Load]:
    one = Load(store, write)
    callers = [asyncio.create_task(one.run()) for _ in range(2)]
    try:
        await one.until(lambda: one.written > 10)
        yield one
    finally:
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)


async def test_changes_of_others_are_applied(open_store: OpenStore, postgres_url: str) -> None:
    busy = await open_store(postgres_url, member=True, poll=0.1)
    await busy.import_estate(SMALL, prune=False)
    other = await open_store(postgres_url, member=True)
    recorded = record_changes(busy)
    async with load(busy, give_order) as orders:
        await other.save_user(CARLA)
        await orders.until(lambda: recorded.events == [UserChanged(user_id=CARLA.id)])


async def test_poll_now_reads_them_before_the_next_regular_read(open_store: OpenStore, postgres_url: str) -> None:
    busy = await open_store(postgres_url, member=True, poll=3600.0)
    await busy.import_estate(SMALL, prune=False)
    other = await open_store(postgres_url, member=True)
    recorded = record_changes(busy)
    async with load(busy, give_order) as orders:
        await other.save_user(CARLA)
        busy.poll_now()
        await orders.until(lambda: recorded.events == [UserChanged(user_id=CARLA.id)])


@pytest.mark.parametrize("write", [give_order, save_anna])
async def test_the_gateway_does_not_count_its_data_as_old(open_store: OpenStore, postgres_url: str, write: Write) -> None:
    busy = await open_store(postgres_url, member=True, poll=0.1)
    await busy.import_estate(SMALL, prune=False)
    async with load(busy, write) as writes:
        await asyncio.sleep(1.5)
        await writes.until(lambda: busy.knowledge_age() < 0.5)
