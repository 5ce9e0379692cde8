"""While the clock is far from the time that the store last saw, nothing is pruned."""

import asyncio
import io
import logging
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domogate.edge.log_repeats import LogRepeats
from domogate.services import clock_check
from domogate.services.clock_check import TOLERANCE, ClockCheck
from domogate.services.plants import history
from domogate.services.plants.history import History
from domogate.stores import SqlStore, sqlite_url
from support.clocks import NOW, ManualClock
from support.log_lines import capture_logs
from support.stores import ANNA

DAY = 86_400.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(clock: ManualClock, tmp_path: Path) -> AsyncIterator[SqlStore]:
    store = SqlStore(sqlite_url(tmp_path / "domogate.db"), clock=clock, temporary=True)
    await store.start()
    yield store
    await store.stop()


@pytest.fixture
def check(store: SqlStore, clock: ManualClock) -> ClockCheck:
    return ClockCheck(store, clock)


class TestTheCheck:
    @pytest.mark.parametrize("days", [0, 1, 6.9, -1, -6.9])
    async def test_a_clock_that_is_near_is_right(self, check: ClockCheck, clock: ManualClock, days: float) -> None:
        assert await check.check()
        clock.at = NOW + days * DAY
        assert await check.check()

    @pytest.mark.parametrize("days", [7.1, 400, 1e9, -7.1, -400])
    async def test_a_clock_that_is_far_off_is_wrong_until_it_is_right_again(
        self, check: ClockCheck, clock: ManualClock, days: float
    ) -> None:
        assert await check.check()
        clock.at = NOW + days * DAY
        with capture_logs() as logs:
            for _ in range(3):
                assert not await check.check()
        assert [line["event"] for line in logs] == [f"nothing is pruned: the clock is far {'ahead' if days > 0 else 'behind'}"]
        assert "domogate clock confirm" in logs[0]["reason"]
        assert check.problem is not None
        clock.at = NOW + DAY
        assert await check.check()
        assert check.problem is None

    async def test_a_wrong_clock_that_leaps_in_the_other_direction_is_logged_again(
        self, check: ClockCheck, clock: ManualClock
    ) -> None:
        await check.check()
        with capture_logs() as logs:
            for days in (400, 400, -400, -400, 400):
                clock.at = NOW + days * DAY
                assert not await check.check()
        assert [line["event"].rpartition(" ")[2] for line in logs] == ["ahead", "behind", "ahead"]
        assert [re.findall("ahead of|behind", line["reason"]) for line in logs] == [["ahead of"], ["behind"], ["ahead of"]]

    async def test_the_other_direction_is_not_a_repeated_line(
        self, check: ClockCheck, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The log writes a repeated failure as a count."""
        output = io.StringIO()
        handler = logging.StreamHandler(output)
        handler.addFilter(LogRepeats().filter)
        monkeypatch.setattr(logging.getLogger(clock_check.__name__), "handlers", [handler])
        await check.check()
        for days in (400, 0, -400):
            clock.at = NOW + days * DAY
            await check.check()
        lines = [line for line in output.getvalue().splitlines() if line.startswith("nothing is pruned")]
        assert [line.rpartition(" ")[2] for line in lines] == ["ahead", "behind"]

    @pytest.mark.parametrize(("leap", "logged"), [(2 * 3600.0, [7200]), (-2 * 3600.0, [-7200]), (30.0, []), (-30.0, [])])
    async def test_a_clock_that_was_set_is_logged_once(
        self, store: SqlStore, clock: ManualClock, leap: float, logged: list[int]
    ) -> None:
        uptime = 0.0
        check = ClockCheck(store, clock, lambda: uptime)
        await check.check()
        uptime += 60
        clock.at += 60 + leap
        with capture_logs() as logs:
            for _ in range(3):
                assert await check.check()
        assert [line["seconds"] for line in logs if line["event"] == "the clock of this machine was set"] == logged

    async def test_what_was_written_with_a_wrong_clock_does_not_make_it_right(
        self, check: ClockCheck, clock: ManualClock, store: SqlStore
    ) -> None:
        await check.check()
        clock.at = NOW + 400 * DAY
        await store.save_user(ANNA)
        assert not await ClockCheck(store, clock).check()

    async def test_a_confirmed_clock_is_right(self, check: ClockCheck, clock: ManualClock, store: SqlStore) -> None:
        await check.check()
        clock.at = NOW + 400 * DAY
        assert not await check.check()
        await store.confirm_clock(clock.at)
        assert await check.check()

    async def test_time_passes_while_the_gateway_runs(self, check: ClockCheck, clock: ManualClock) -> None:
        for _ in range(20):
            assert await check.check()
            clock.at += 0.9 * TOLERANCE

    async def test_a_store_of_an_earlier_version_has_the_time_of_its_newest_change(
        self, check: ClockCheck, clock: ManualClock, store: SqlStore
    ) -> None:
        await store.save_user(ANNA)
        clock.at = NOW + 400 * DAY
        assert not await check.check()


class TestPruning:
    async def test_nothing_is_removed_by_a_wrong_clock_and_all_is_pruned_again_when_it_is_confirmed(
        self, store: SqlStore, clock: ManualClock, check: ClockCheck, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(history, "_FIRST_PRUNE", 0.01)
        monkeypatch.setattr(history, "_CHECK_EVERY", 0.01)
        pruned: list[float] = []
        prune_authorization = store.prune_authorization

        async def prune(now: float, token_lifetime: float) -> None:
            pruned.append(now)
            await prune_authorization(now, token_lifetime)

        monkeypatch.setattr(store, "prune_authorization", prune)
        await check.check()
        for number in range(3):
            await store.use_ticket(f"ticket {number}", NOW + 60)
        clock.at = NOW + 400 * DAY
        kept = dict.fromkeys(("changes_kept", "readings_raw", "readings_kept", "orders_kept"), DAY)
        pruning = History(store, clock, check, **kept, most_readings=1_000)
        await pruning.start()
        try:
            await asyncio.sleep(0.3)
            assert pruned == []
            assert not await store.use_ticket("ticket 1", NOW + 60)
            await store.confirm_clock(clock.at)
            async with asyncio.timeout(30):
                while not pruned:
                    await asyncio.sleep(0.01)
        finally:
            await pruning.stop()
