"""Wakes several waiting callers at the same time."""

import asyncio


class Broadcast:
    """Wakes all callers of `wait` at the next call of `notify`."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self) -> None:
        await self._event.wait()
