"""Ends background tasks."""

import asyncio
from typing import Any


async def cancel(*tasks: "asyncio.Task[Any] | None") -> None:
    """Cancel the tasks and wait until they have ended. Their errors are ignored."""
    running = [task for task in tasks if task is not None]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
