"""Reads on threads: which of them run at the same time."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest

from domogate.stores.readers import Readers
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
            asyncio.create_task(readers.run(partial(held.read, name), WAIT, in_turn=True)) for name in ("first", "second")
        ]
        while not held.begun:
            await asyncio.sleep(0)
        # These reads need all other threads at the same time. So a second read in turn has none of these threads.
        meeting = threading.Barrier(THREADS)
        await asyncio.gather(*(readers.run(partial(meeting.wait, WAIT), WAIT) for _ in range(THREADS)))
        assert held.begun == ["first"]
        held.may_end.set()
        assert await asyncio.gather(*in_turn) == ["first", "second"]

    async def test_their_thread_ends_too(self) -> None:
        readers = Readers(1)
        threads = [await readers.run(threading.current_thread, WAIT, in_turn=in_turn) for in_turn in (False, True)]
        await readers.close(WAIT)
        assert [thread.is_alive() for thread in threads] == [False, False]


class TestPlants:
    async def test_only_the_plants_of_sqlite_are_read_in_turn(
        self, open_store: OpenStore, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = await open_store(database_url)
        chosen = []
        run = Readers.run

        async def record(self: Readers, work: Callable[[], Any], seconds: float, *, in_turn: bool = False) -> Any:
            chosen.append(in_turn)
            return await run(self, work, seconds, in_turn=in_turn)

        monkeypatch.setattr(Readers, "run", record)
        assert await store.find_plant(HOUSE.id) is None
        await store.newest_cursor()
        assert chosen == [database_url.startswith("sqlite"), False]
