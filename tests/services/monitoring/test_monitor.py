"""The monitor takes one sample each minute, and a database that does not answer does not stop it."""

import asyncio
from itertools import count

import pytest

from domogate.domain.figures import StoreFigures
from domogate.services.monitoring.counters import Counters
from domogate.services.monitoring.monitor import Monitor
from support.clocks import LoopClock

FIGURES = StoreFigures(
    at=0.0, database="sqlite", size=1, plants=1, removed_plants=0, modules=1, absent={}, webhooks=0, failing_webhooks=0,
    pending=0, oldest_pending=None, dead_letters=0, open_orders=0, ended_orders={"confirmed": 2},
)  # fmt: skip


class FakeStore:
    def __init__(self) -> None:
        self.calls = 0

    async def count_figures(self, since: float) -> StoreFigures:
        self.calls += 1
        if self.calls == 2:
            raise TimeoutError("the database did not answer")
        return FIGURES


@pytest.mark.usefixtures("virtual_time")
async def test_a_sample_is_taken_each_minute() -> None:
    numbers = count(10, 10)
    monitor = Monitor(
        FakeStore(), LoopClock(), read_counters=lambda: Counters({}, next(numbers), {}, 0), count_streams=lambda: 0
    )
    await monitor.start()
    await asyncio.sleep(190)
    activity = await monitor.read()
    await monitor.stop()
    assert [minute.counters.events for minute in activity.minutes] == [10, 10, 10]
    assert [minute.end.figures for minute in activity.minutes] == [FIGURES, None, FIGURES]
    assert (activity.now.counters.events, activity.total.events) == (10, 40)
    assert activity.ended_orders == {"confirmed": 6}
