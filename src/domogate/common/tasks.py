"""Ends background tasks, and waits for work that may hang and for an `asyncio.Event`, with a time limit."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def cancel(*tasks: "asyncio.Task[Any] | None") -> None:
    """Cancel the tasks and wait until they have ended. Their errors are ignored."""
    running = [task for task in tasks if task is not None]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def wait_for_event(event: asyncio.Event, seconds: float) -> bool:
    """Wait until the event is set. Return False if it is not set after this number of seconds."""
    try:
        # Not asyncio.wait_for: before Python 3.12 it may lose a cancellation.
        async with asyncio.timeout(max(0.0, seconds)):
            return await event.wait()
    except TimeoutError:
        return False


_abandoned: set[asyncio.Task[Any]] = set()


async def bounded(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work. Raises TimeoutError after `seconds`, even if the work ignores its cancellation."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait((task,), timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            _abandoned.add(task)
            task.add_done_callback(_drop)
    if not task.done():
        raise TimeoutError(f"not done after {seconds:g} s")
    return task.result()


def _drop(task: asyncio.Task[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not log it
