"""Runs reads on threads.

A caller waits at most `GRACE` longer than its deadline. A thread that hangs does not keep the process alive.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from math import inf
from queue import SimpleQueue
from typing import Any, TypeVar

from domogate.ports import StoreTimeout
from domogate.stores.direct import time_limit

T = TypeVar("T")

GRACE = 0.25
"""The seconds that a caller still waits after the deadline.

So an answer is not lost if it has come while the whole process was paused.
"""


LONG_READERS = 2


class Lane(Enum):
    """The kinds of reads. Each kind has its own threads."""

    ORDINARY = auto()
    IN_TURN = auto()
    """On SQLite, these reads run one after the other (Decision 0101). On PostgreSQL, they are ordinary reads."""
    LONG = auto()
    """These reads may take very long, so they must not use the threads of other reads (Decision 0069)."""


_THREADS = {Lane.IN_TURN: 1, Lane.LONG: LONG_READERS}


class _Job:
    __slots__ = ("future", "loop", "seconds", "work")

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Callable[[], Any], seconds: float) -> None:
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.work = work
        self.seconds = seconds

    def run(self) -> None:
        """Do the work, on a thread of `Readers`. The work is skipped if its caller has given up."""
        if self.future.done():
            return
        try:
            with time_limit(self.seconds):
                result = self.work()
        except BaseException as error:
            self._end(self._fail, error)
        else:
            self._end(self._succeed, result)

    def _end(self, end: Callable[[Any], None], outcome: Any) -> None:
        with suppress(RuntimeError):  # The loop is closed.
            self.loop.call_soon_threadsafe(end, outcome)

    def _succeed(self, result: Any) -> None:
        if not self.future.done():
            self.future.set_result(result)

    def _fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


_Jobs = SimpleQueue[_Job | None]


class Readers:
    """A few threads on which reads run. The threads end after `close`."""

    def __init__(self, threads: int) -> None:
        """`threads` is the number of threads for ordinary reads. The threads of another `Lane` start at its first read."""
        self._jobs: dict[Lane, _Jobs] = {}
        self._threads: list[tuple[threading.Thread, _Jobs]] = []
        self._start_threads(Lane.ORDINARY, threads)

    async def run(self, work: Callable[[], T], seconds: float, lane: Lane = Lane.ORDINARY) -> T:
        """Run the work on a thread of this lane and return its result. Raises StoreTimeout if there is no result in time.

        `seconds` is the time limit.
        """
        loop = asyncio.get_running_loop()
        job = _Job(loop, work, seconds)
        timer = None if seconds == inf else loop.call_later(seconds + GRACE, expire, job.future, seconds)
        if lane not in self._jobs:
            self._start_threads(lane, _THREADS[lane])
        self._jobs[lane].put(job)
        try:
            result: T = await job.future
            return result
        finally:
            if timer is not None:
                timer.cancel()

    async def close(self, seconds: float) -> None:
        """Let the threads end after their jobs. Wait for them, at most this number of seconds."""
        for _, jobs in self._threads:
            jobs.put(None)
        end = time.monotonic() + seconds

        def join() -> None:
            for thread, _ in self._threads:
                thread.join(max(0.0, end - time.monotonic()))

        await asyncio.to_thread(join)

    def _start_threads(self, lane: Lane, threads: int) -> None:
        jobs = self._jobs[lane] = SimpleQueue()
        for _ in range(threads):
            name = f"domogate-store-reader-{len(self._threads)}"
            thread = threading.Thread(target=_serve, args=(jobs,), name=name, daemon=True)
            self._threads.append((thread, jobs))
            thread.start()


def _serve(jobs: _Jobs) -> None:
    while (job := jobs.get()) is not None:
        job.run()


def expire(future: asyncio.Future[Any], seconds: float) -> None:
    if not future.done():
        future.set_exception(StoreTimeout(f"the database did not answer within {seconds:g} s"))
