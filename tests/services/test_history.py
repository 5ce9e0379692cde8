import asyncio

import pytest
from structlog.testing import capture_logs

from domogate.domain.states import Reading, Unit
from domogate.services import history
from domogate.services.history import History
from support.devices import NOON, FakeStore, StillClock, make_id

PLUG = make_id(7)
DAY = 86_400.0


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


class TestReadings:
    async def test_are_those_of_the_module_and_the_time_asked_for(self, store):
        readings = [("power", Reading(float(hour), Unit.WATT, NOON + hour * 3600)) for hour in range(6)]
        store.readings[PLUG] = readings
        kept = History(store, StillClock(), 7 * DAY, 30 * DAY)
        assert list(await kept.list_readings(PLUG, NOON + 3600, NOON + 4 * 3600, 2)) == readings[1:3]
        assert list(await kept.list_readings(make_id(8), 0, NOON * 2, 10)) == []


class TestPruning:
    async def test_throws_away_what_is_older_than_is_kept_of_each(self, store):
        clock = StillClock()
        await History(store, clock, 7 * DAY, 30 * DAY).prune()
        assert store.pruned == [(NOON - 7 * DAY, NOON - 30 * DAY)]
        assert store.forgot_authorization_at == NOON

    async def test_the_audit_log_is_kept_for_ever_unless_it_is_told_otherwise(self, store):
        removed = []

        async def prune_audit(before: float) -> None:
            removed.append(before)

        store.prune_audit = prune_audit
        await History(store, StillClock(), DAY, DAY).prune()
        assert removed == []
        await History(store, StillClock(), DAY, DAY, audit_kept=90 * DAY).prune()
        # By whole days, so that hourly prunings leave one record a day.
        assert removed == [NOON // DAY * DAY - 90 * DAY]

    async def test_goes_on_in_the_background_even_after_a_failure(self, store, monkeypatch):
        monkeypatch.setattr(history, "_FIRST_PRUNING", 0.0)
        monkeypatch.setattr(history, "_PRUNING", 0.0)
        tries = 0
        prune = store.prune

        async def fail_once(changes_before: float, readings_before: float) -> None:
            nonlocal tries
            tries += 1
            if tries == 1:
                raise OSError("disk full")
            await prune(changes_before, readings_before)

        store.prune = fail_once
        kept = History(store, StillClock(), DAY, DAY)
        with capture_logs() as logs:
            await kept.start()
            while len(store.pruned) < 2:
                await asyncio.sleep(0)
            await kept.stop()
        assert [entry["log_level"] for entry in logs] == ["error"]

    async def test_ends_with_the_service_and_never_runs_at_the_start(self, store):
        kept = History(store, StillClock(), DAY, DAY)
        await kept.start()
        await asyncio.sleep(0)
        await kept.stop()
        await kept.stop()
        assert store.pruned == []
