"""Waiting for an event."""

import asyncio

from domogate.common.tasks import wait_for_event


class TestWaitForEvent:
    async def test_an_event_that_is_set_needs_no_time(self) -> None:
        event = asyncio.Event()
        event.set()
        assert await wait_for_event(event, 0.0)
        assert await wait_for_event(event, -1.0)

    async def test_an_event_that_is_set_later_ends_the_wait(self) -> None:
        event = asyncio.Event()
        asyncio.get_running_loop().call_soon(event.set)
        assert await wait_for_event(event, 60.0)

    async def test_an_event_that_is_never_set(self) -> None:
        assert not await wait_for_event(asyncio.Event(), 0.0)

    async def test_a_cancelled_wait_is_not_a_timeout(self) -> None:
        waiting = asyncio.create_task(wait_for_event(asyncio.Event(), 60.0))
        await asyncio.sleep(0)
        waiting.cancel()
        (ended,) = await asyncio.gather(waiting, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError)
