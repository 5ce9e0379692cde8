"""The queue of writes: the writer thread is woken when it waits, and no write stays in the queue."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from domogate.stores.batch import Unit, WriteQueue

LONG = 60.0
"""In seconds. A write that does not wake the writer thread would wait for this time."""


class Taker:
    """A thread that takes all writes, like the writer thread."""

    def __init__(self, queue: WriteQueue) -> None:
        self.queue = queue
        self.groups: list[list[Unit]] = []
        self.arrived = threading.Semaphore(0)
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self.queue.closed:
            group = self.queue.take(LONG)
            self.groups.append(group)
            self.queue.expect(len(group))
            for _ in group:
                self.arrived.release()

    def wait_for(self, number: int) -> None:
        for _ in range(number):
            assert self.arrived.acquire(timeout=LONG / 2), "a write stayed in the queue"


@pytest.fixture
def taker() -> Iterator[Taker]:
    taker = Taker(WriteQueue(256))
    taker.thread.start()
    yield taker
    taker.queue.close()
    taker.thread.join()


def make_unit() -> Unit:
    future: asyncio.Future[None] = asyncio.Future(loop=asyncio.new_event_loop())
    future.get_loop().close()
    return Unit(future, None)


def put_all(queue: WriteQueue, units: list[Unit]) -> None:
    for unit in units:
        queue.put(unit)


class TestTheQueue:
    def test_each_write_wakes_a_waiting_thread(self, taker: Taker) -> None:
        unit = make_unit()
        for _ in range(500):
            taker.queue.put(unit)
            taker.wait_for(1)

    def test_no_write_is_left_behind_if_many_come_at_once(self, taker: Taker) -> None:
        unit = make_unit()
        for number in range(1, 200):
            put_all(taker.queue, [unit] * number)
            taker.wait_for(number)

    def test_a_write_takes_no_lock_while_the_thread_does_not_wait(self) -> None:
        queue = WriteQueue(256)
        unit = make_unit()
        with queue._arrived:  # If `put` needed the lock, the other thread would wait for this thread.
            putting = threading.Thread(target=put_all, args=(queue, [unit] * 10))
            putting.start()
            putting.join(LONG)
            assert not putting.is_alive()
        assert len(queue.take(0.0)) == 10
