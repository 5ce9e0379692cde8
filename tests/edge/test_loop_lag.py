"""The delay of the event loop."""

import asyncio
import time

import pytest

from domogate.edge.loop_lag import LoopLag


@pytest.mark.slow
async def test_a_blocked_event_loop_is_measured() -> None:
    lag = LoopLag()
    lag.start()
    time.sleep(0.8)  # blocks the event loop, so the timer of 0.5 s is late by 0.3 s
    await asyncio.sleep(0.001)
    lag.stop()
    assert lag.longest() >= 0.29


@pytest.mark.slow
async def test_nothing_is_measured_after_the_stop() -> None:
    lag = LoopLag()
    lag.start()
    lag.stop()
    time.sleep(0.6)
    await asyncio.sleep(0.001)
    assert lag.longest() == 0.0
