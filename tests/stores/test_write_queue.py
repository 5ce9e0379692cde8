"""The queue of writes: the writer thread is woken once for each group of writes, and no write stays in the queue."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from domogate.stores import batch
from domogate.stores.batch import Unit, WriteQueue

LONG = 60.0
"""In seconds. A write that does not wake the writer thread would wait for this time."""


class Taker:
    """A thread that takes all writes, like the writer thread."""

    def __init__(self, queue: WriteQueue) -> None:
        self.queue = queue
        self.seconds = LONG
        self.groups: list[int] = []
        self.expected: int | None = None
        """The number of callers that write again. None means the callers of the last group."""
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Semaphore(0)
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self.queue.closed:
            group = self.queue.take(self.seconds)
            if group:
                self.groups.append(len(group))
                self.queue.expect(len(group) if self.expected is None else self.expected)
                self._loop.call_soon_threadsafe(self._count, len(group))

    def _count(self, number: int) -> None:
        for _ in range(number):
            self._arrived.release()

    async def wait_for(self, number: int) -> None:
        async with asyncio.timeout(LONG / 2):  # After this time, a write stayed in the queue.
            for _ in range(number):
                await self._arrived.acquire()


@pytest.fixture
async def taker() -> AsyncIterator[Taker]:
    taker = Taker(WriteQueue(256))
    taker.thread.start()
    yield taker
    taker.queue.close()
    taker.thread.join()


def make_unit() -> Unit:
    return Unit(asyncio.get_running_loop().create_future(), None)


def put_all(queue: WriteQueue, number: int) -> None:
    unit = make_unit()
    for _ in range(number):
        queue.put(unit)


class TestTheQueue:
    async def test_each_write_wakes_a_waiting_thread(self, taker: Taker) -> None:
        for _ in range(500):
            put_all(taker.queue, 1)
            await taker.wait_for(1)

    async def test_no_write_is_left_behind_if_many_come_at_once(self, taker: Taker) -> None:
        for number in range(1, 200):
            put_all(taker.queue, number)
            await taker.wait_for(number)

    async def test_a_write_takes_no_lock_while_the_thread_does_not_wait(self) -> None:
        queue = WriteQueue(256)
        held, done = threading.Event(), threading.Event()
        needed_no_lock: list[bool] = []

        def hold_the_lock() -> None:
            with queue._arrived:
                held.set()
                needed_no_lock.append(done.wait(LONG))

        holding = threading.Thread(target=hold_the_lock)
        holding.start()
        held.wait()
        put_all(queue, 10)  # If `put` needed the lock, it would wait for the other thread.
        done.set()
        holding.join()
        assert needed_no_lock == [True]
        assert len(queue.take(0.0)) == 10


class TestAGroup:
    async def test_the_thread_is_woken_once_for_a_group_whose_size_is_known(
        self, taker: Taker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(batch, "QUIET", LONG)
        monkeypatch.setattr(batch, "LONGEST", LONG)
        taker.expected = 8
        put_all(taker.queue, 1)  # While the thread does not know how many callers there are, it takes the first write at once.
        await taker.wait_for(1)
        del taker.groups[:]
        for _ in range(8):
            put_all(taker.queue, 1)
            await asyncio.sleep(0.01)  # The thread has time to take a smaller group.
        await taker.wait_for(8)
        assert taker.groups == [8]

    async def test_a_thread_that_often_reads_the_feed_still_waits_for_the_whole_group(
        self, taker: Taker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(batch, "QUIET", LONG)
        monkeypatch.setattr(batch, "LONGEST", LONG)
        taker.expected, taker.seconds = 8, 0.05
        put_all(taker.queue, 1)
        await taker.wait_for(1)
        del taker.groups[:]
        for _ in range(8):
            put_all(taker.queue, 1)
            await asyncio.sleep(0.1)  # longer than the time after which the thread reads the feed
        await taker.wait_for(8)
        assert sum(taker.groups) == 8
        assert len(taker.groups) <= 2, taker.groups

    async def test_a_group_ends_if_no_more_writes_come(self, taker: Taker) -> None:
        taker.expected = 8
        put_all(taker.queue, 1)
        await taker.wait_for(1)
        for _ in range(20):
            put_all(taker.queue, 3)
            await taker.wait_for(3)

    async def test_a_group_ends_although_writes_come_again_and_again(
        self, taker: Taker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(batch, "QUIET", 0.2)
        monkeypatch.setattr(batch, "LONGEST", 0.6)
        taker.expected = 10_000
        put_all(taker.queue, 1)
        await taker.wait_for(1)
        del taker.groups[:]
        putting = asyncio.create_task(put_regularly(taker.queue))
        try:
            await taker.wait_for(2)
        finally:
            putting.cancel()


async def put_regularly(queue: WriteQueue) -> None:
    while True:
        put_all(queue, 1)
        await asyncio.sleep(0.01)
