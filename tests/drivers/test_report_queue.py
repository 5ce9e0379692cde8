"""When changes of a module are reported: at once, unless there are very many, or only measured values."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from domogate.domain.ids import Id, new_id
from domogate.domain.states import LightState, Report
from domogate.drivers.report_queue import BURST, CHECK_EVERY, HOLD, ReportQueues
from support.clocks import NOON, ManualClock
from support.driver_bench import PLANT

PAUSE = 1.0
AT_ONCE = 2 * CHECK_EVERY


class Lamp:
    """A lamp whose level changes, and that may measure something."""

    def __init__(self) -> None:
        self.plant_id = PLANT
        self.id: Id = new_id()
        self.level = 0
        self.has_changes = False
        self.is_urgent = False

    def change(self, level: int, *, urgent: bool = True) -> None:
        self.level, self.has_changes, self.is_urgent = level, True, urgent or self.is_urgent

    def report(self, now: float) -> Report:
        self.has_changes = self.is_urgent = False
        return Report(self.plant_id, self.id, now, LightState(on=True, level=self.level))

    def take_back(self, report: Report) -> None:
        self.has_changes = self.is_urgent = True


class Bench:
    """Queues, and the levels that they reported with the time of each."""

    def __init__(self) -> None:
        self.reported: list[tuple[int, float]] = []
        self.queues = ReportQueues(ManualClock(NOON), PAUSE)
        self.queues.start(self._take)
        self.lamp = Lamp()

    async def _take(self, reports: Sequence[Report]) -> None:
        for report in reports:
            assert isinstance(report.state, LightState)
            self.reported.append((report.state.level or 0, asyncio.get_running_loop().time()))

    @property
    def levels(self) -> list[int]:
        return [level for level, _ in self.reported]

    def change(self, level: int, *, urgent: bool = True) -> None:
        self.lamp.change(level, urgent=urgent)
        self.queues.add(self.lamp)


@pytest.fixture
async def bench(virtual_time: None) -> AsyncIterator[Bench]:
    one = Bench()
    yield one
    await one.queues.stop()


class TestChanges:
    async def test_within_a_second_of_each_other_are_each_reported_at_once(self, bench: Bench) -> None:
        loop = asyncio.get_running_loop()
        for level in range(1, BURST + 1):
            changed_at = loop.time()
            bench.change(level)
            await asyncio.sleep(AT_ONCE)
            assert bench.reported[-1][0] == level
            assert bench.reported[-1][1] - changed_at <= AT_ONCE

    async def test_in_a_flood_become_one_report_in_each_pause_and_the_newest_is_never_lost(self, bench: Bench) -> None:
        for number in range(1, 201):
            bench.change(number % 100)
            await asyncio.sleep(0.05)
        assert BURST <= len(bench.reported) <= BURST + 10 / PAUSE + 1
        await asyncio.sleep(PAUSE)
        assert bench.levels[-1] == 0

    async def test_after_a_calm_time_are_reported_at_once_again(self, bench: Bench) -> None:
        for number in range(1, 41):
            bench.change(number)
            await asyncio.sleep(0.05)
        await asyncio.sleep(BURST * PAUSE)
        before = len(bench.reported)
        for level in (91, 92, 93):
            bench.change(level)
            await asyncio.sleep(AT_ONCE)
        assert bench.levels[before:] == [91, 92, 93]

    async def test_of_measured_values_wait_and_others_do_not_wait_for_them(self, bench: Bench) -> None:
        for number in range(1, 101):
            bench.change(number, urgent=False)
            await asyncio.sleep(0.1)
        assert len(bench.reported) <= 10 / PAUSE + 1
        await asyncio.sleep(PAUSE / 2)
        bench.change(7, urgent=False)
        bench.change(8)
        await asyncio.sleep(AT_ONCE)
        assert bench.levels[-1] == 8


class TestAnOrder:
    async def test_holds_the_changes_that_its_answer_reports(self, bench: Bench) -> None:
        with bench.queues.hold(bench.lamp):
            bench.change(5)
            await asyncio.sleep(HOLD / 2)
            bench.lamp.report(0.0)
        await asyncio.sleep(AT_ONCE)
        assert bench.reported == []

    async def test_that_failed_releases_them_at_once(self, bench: Bench) -> None:
        with bench.queues.hold(bench.lamp):
            bench.change(5)
        await asyncio.sleep(AT_ONCE)
        assert bench.levels == [5]

    async def test_that_has_no_answer_holds_them_for_a_short_time_only(self, bench: Bench) -> None:
        with bench.queues.hold(bench.lamp):
            bench.change(5)
            await asyncio.sleep(HOLD + AT_ONCE)
            assert bench.levels == [5]

    async def test_holds_what_was_waiting_before(self, bench: Bench) -> None:
        bench.change(1)
        await asyncio.sleep(AT_ONCE)
        bench.change(2, urgent=False)
        with bench.queues.hold(bench.lamp):
            await asyncio.sleep(HOLD / 2)
            bench.change(3)
            bench.lamp.report(0.0)
        await asyncio.sleep(2 * PAUSE)
        assert bench.levels == [1]
