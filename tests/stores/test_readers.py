"""Reads on threads: which of them run at the same time."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest

from domogate.stores import SqlStore
from domogate.stores.engine import READERS
from domogate.stores.readers import Lane, Readers
from domogate.stores.subject import reads
from support.stores import HOUSE, OpenStore

THREADS = 2
WAIT = 30.0
"""Seconds. A test that waits for so long has failed."""


class HeldReads:
    """Reads that end when the test says so."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_end = threading.Event()

    def read(self, name: str) -> str:
        self.begun.append(name)
        assert self.may_end.wait(WAIT)
        return name


@pytest.fixture
async def readers() -> AsyncIterator[Readers]:
    readers = Readers(THREADS)
    yield readers
    await readers.close(WAIT)


class TestReadsInTurn:
    async def test_the_next_one_begins_when_the_first_has_ended(self, readers: Readers) -> None:
        held = HeldReads()
        in_turn = [
            asyncio.create_task(readers.run(partial(held.read, name), WAIT, Lane.IN_TURN)) for name in ("first", "second")
        ]
        while not held.begun:
            await asyncio.sleep(0)
        # These reads need all other threads at the same time. So a second read in turn has none of these threads.
        meeting = threading.Barrier(THREADS)
        await asyncio.gather(*(readers.run(partial(meeting.wait, WAIT), WAIT) for _ in range(THREADS)))
        assert held.begun == ["first"]
        held.may_end.set()
        assert await asyncio.gather(*in_turn) == ["first", "second"]

    async def test_their_thread_ends_too_and_that_of_long_reads(self) -> None:
        readers = Readers(1)
        threads = [await readers.run(threading.current_thread, WAIT, lane) for lane in Lane]
        await readers.close(WAIT)
        assert [thread.is_alive() for thread in threads] == [False] * len(Lane)


class TestLongReads:
    async def test_they_leave_threads_for_other_reads(self, open_store: OpenStore, database_url: str) -> None:
        """For example when they wait for a database server that does not answer any more."""
        held, read = HeldReads(), "a long read"

        class StoreWithLongRead(SqlStore):
            read_long = reads(lambda _: held.read(read), lane=Lane.LONG)

        store = await open_store(database_url, StoreWithLongRead, deadline=WAIT / 2)
        assert isinstance(store, StoreWithLongRead)
        many = [asyncio.create_task(store.read_long()) for _ in range(2 * READERS)]
        while not held.begun:
            await asyncio.sleep(0.01)
        await asyncio.gather(*(store.newest_cursor() for _ in range(2 * READERS)))
        held.may_end.set()
        assert await asyncio.gather(*many) == [read] * len(many)


class TestPlants:
    async def test_only_the_plants_of_sqlite_are_read_in_turn(
        self, open_store: OpenStore, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = await open_store(database_url)
        chosen = []
        run = Readers.run

        async def record(self: Readers, work: Callable[[], Any], seconds: float, lane: Lane = Lane.ORDINARY) -> Any:
            chosen.append(lane)
            return await run(self, work, seconds, lane)

        monkeypatch.setattr(Readers, "run", record)
        assert await store.find_plant(HOUSE.id) is None
        await store.newest_cursor()
        assert chosen == [Lane.IN_TURN if database_url.startswith("sqlite") else Lane.ORDINARY, Lane.ORDINARY]
