"""Runs reads on threads.

A caller waits no longer than its deadline, and a thread that hangs does not keep the process alive.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf
from queue import SimpleQueue
from typing import Any, TypeVar

from domogate.ports import StoreTimeout
from domogate.stores.direct import time_limit

T = TypeVar("T")

GRACE = 0.25
"""The seconds that a caller still waits after the deadline.

If the whole process was paused, an answer that has come in the meantime is not lost.
"""


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
    """A few threads on which reads run. The threads end after `close`.

    Reads that are started with `in_turn=True` share one separate thread, so they run one after the other (Decision 0101).
    """

    def __init__(self, threads: int) -> None:
        self._jobs: _Jobs = SimpleQueue()
        self._jobs_in_turn: _Jobs | None = None
        self._threads: list[tuple[threading.Thread, _Jobs]] = []
        for _ in range(threads):
            self._start_thread(self._jobs)

    async def run(self, work: Callable[[], T], seconds: float, *, in_turn: bool = False) -> T:
        """Run the work on a thread and return its result. Raises StoreTimeout if there is no result in time.

        `seconds` is the time limit. If `in_turn` is true, the work waits until all earlier work with `in_turn` has ended.
        """
        loop = asyncio.get_running_loop()
        job = _Job(loop, work, seconds)
        timer = None if seconds == inf else loop.call_later(seconds + GRACE, expire, job.future, seconds)
        (self._find_jobs_in_turn() if in_turn else self._jobs).put(job)
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

    def _find_jobs_in_turn(self) -> _Jobs:
        """Return the queue of the reads that run one after the other. Its thread is started at the first such read."""
        if self._jobs_in_turn is None:
            self._jobs_in_turn = SimpleQueue()
            self._start_thread(self._jobs_in_turn)
        return self._jobs_in_turn

    def _start_thread(self, jobs: _Jobs) -> None:
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
