"""Ends background tasks, and waits for events."""

import asyncio
from typing import Any


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
