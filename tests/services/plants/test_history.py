import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domogate.domain.ids import Id
from domogate.domain.states import Reading, ReadingSummary, Report, Unit
from domogate.services.plants import history
from domogate.services.plants.history import History
from domogate.stores import SqlStore, sqlite_url
from support.clocks import NOW, ManualClock
from support.log_lines import capture_logs
from support.stores import HOUSE, LAMP, PLUG, SMALL

pytestmark = pytest.mark.slow

HOUR = 3600.0
DAY = 24 * HOUR


def watt(value: float, at: float) -> tuple[str, Reading]:
    return "power", Reading(value, Unit.WATT, at)


def one(value: float, at: float) -> ReadingSummary:
    return ReadingSummary("power", Unit.WATT, at, 1, value, value, value, value)


class Pruning(msgspec.Struct, frozen=True):
    """One call that prunes old data."""

    what: str
    given: dict[str, float]


class PrunedStore(SqlStore):
    """Records the calls that prune data."""

    def __init__(self, url: str, clock: ManualClock) -> None:
        super().__init__(url, clock=clock, gateway=False)
        self.told: list[Pruning] = []
        self.failures = 0

    async def summarise_readings(self, before: float) -> None:
        self.told.append(Pruning("summarise", {"before": before}))
        if self.failures:
            self.failures -= 1
            raise OSError("disk full")
        await super().summarise_readings(before)

    async def prune_changes(self, before: float) -> None:
        self.told.append(Pruning("changes", {"before": before}))
        await super().prune_changes(before)

    async def prune_orders(self, before: float) -> None:
        self.told.append(Pruning("orders", {"before": before}))
        await super().prune_orders(before)

    async def prune_readings(self, before: float, most: int) -> None:
        self.told.append(Pruning("readings", {"before": before, "most": most}))
        await super().prune_readings(before, most)

    async def prune_authorization(self, at: float, token_lifetime: float = 0.0) -> None:
        self.told.append(Pruning("authorization", {"at": at}))
        await super().prune_authorization(at, token_lifetime)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW + 2 * DAY)


@pytest.fixture
async def store(tmp_path: Path, clock: ManualClock) -> AsyncIterator[PrunedStore]:
    store = PrunedStore(sqlite_url(tmp_path / "x.db"), clock)
    await store.start()
    await store.import_estate(SMALL, prune=False)
    yield store
    await store.stop()


@pytest.fixture
def kept(store: PrunedStore, clock: ManualClock) -> History:
    return History(
        store,
        clock,
        changes_kept=7 * DAY,
        readings_raw=DAY,
        readings_kept=30 * DAY,
        orders_kept=10 * DAY,
        most_readings=1_000,
    )


async def measure(store: SqlStore, *readings: tuple[str, Reading], module_id: Id = PLUG.id) -> None:
    await store.record([Report(HOUSE.id, module_id, NOW, readings=readings)])


async def export(kept: History, *module_ids: Id, since: float, until: float, resolution: float | None) -> list[history.Page]:
    return [page async for page in kept.export(module_ids, since, until, resolution)]


class TestReadings:
    async def test_are_those_of_the_module_and_the_time_asked_for(self, store: PrunedStore, kept: History) -> None:
        await measure(store, *(watt(hour, NOW + hour * HOUR) for hour in range(6)))
        assert await kept.list_readings(PLUG.id, NOW + HOUR, NOW + 4 * HOUR, 2) == [watt(n, NOW + n * HOUR) for n in (3, 4)]
        assert await kept.list_summaries(PLUG.id, NOW + HOUR, NOW + 2 * HOUR, HOUR, 10) == [
            one(n, NOW + n * HOUR) for n in (1, 2)
        ]

    def test_how_far_back_depends_on_how_fine(self, kept: History, clock: ManualClock) -> None:
        assert kept.kept_since(None) == clock.at - DAY
        assert kept.kept_since(HOUR - 1) == clock.at - DAY
        assert kept.kept_since(HOUR) == clock.at - 30 * DAY

    def test_nothing_is_kept_longer_as_it_was_than_at_all(self, store: PrunedStore, clock: ManualClock) -> None:
        short = History(store, clock, changes_kept=1, readings_raw=30 * DAY, readings_kept=DAY, orders_kept=1, most_readings=1)
        assert short.kept_since(None) == clock.at - DAY


class TestExport:
    async def test_is_module_by_module_oldest_first(self, store: PrunedStore, kept: History) -> None:
        await measure(store, *(watt(n, NOW + n * HOUR) for n in range(3)))
        await measure(store, watt(9, NOW), module_id=LAMP.id)
        pages = await export(kept, PLUG.id, LAMP.id, since=NOW, until=NOW + 2 * HOUR, resolution=None)
        rows = [row for page in pages for row in page]
        assert rows == [*((PLUG.id, one(n, NOW + n * HOUR)) for n in range(3)), (LAMP.id, one(9, NOW))]

    @pytest.mark.parametrize("resolution", [None, 60.0, 5400.0])
    async def test_pages_are_small_and_neither_lose_nor_repeat_anything(
        self, store: PrunedStore, kept: History, monkeypatch: pytest.MonkeyPatch, resolution: float | None
    ) -> None:
        monkeypatch.setattr(history, "_PAGE", 7)
        moments = [NOW + n * 13.0 for n in range(60)] + [NOW + DAY + n * 5400.0 for n in range(20)]
        await measure(store, *(watt(n, at) for n, at in enumerate(moments)))
        pages = await export(kept, PLUG.id, since=0.0, until=NOW + 9 * DAY, resolution=resolution)
        rows = [row for page in pages for _, row in page]
        assert max(map(len, pages)) <= 7
        if resolution is None:
            assert rows == [one(n, at) for n, at in enumerate(moments)]
        else:
            assert rows == await store.list_summaries(PLUG.id, 0.0, NOW + 9 * DAY, resolution, 1_000)

    async def test_a_second_with_more_readings_than_a_page_is_a_page_of_its_own(
        self, store: PrunedStore, kept: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(history, "_PAGE", 5)
        await measure(store, *(watt(n, NOW + n / 100) for n in range(30)), watt(99, NOW + 1))
        pages = await export(kept, PLUG.id, since=NOW - 10, until=NOW + 10, resolution=None)
        assert [len(page) for page in pages] == [30, 1]

    async def test_the_bounds_are_kept(self, store: PrunedStore, kept: History) -> None:
        await measure(store, *(watt(n, NOW + n * 0.5) for n in range(10)))
        (page,) = await export(kept, PLUG.id, since=NOW + 0.5, until=NOW + 2.0, resolution=None)
        assert [row.last for _, row in page] == [1, 2, 3, 4]

    async def test_years_without_anything_are_a_few_questions(
        self, store: PrunedStore, kept: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = 0
        ask = store.list_readings

        async def counted(*arguments: Any) -> object:
            nonlocal asked
            asked += 1
            return await ask(*arguments)

        monkeypatch.setattr(store, "list_readings", counted)
        assert await export(kept, PLUG.id, since=0.0, until=NOW, resolution=None) == []
        assert asked < 20


class TestPruning:
    async def test_summarises_and_throws_away_what_is_older_than_is_kept_of_each(
        self, store: PrunedStore, kept: History, clock: ManualClock
    ) -> None:
        await measure(store, watt(1, NOW), watt(2, NOW + HOUR), watt(3, NOW + 2 * DAY - HOUR))
        await kept.prune()
        assert store.told == [
            Pruning("summarise", {"before": clock.at - DAY}),
            Pruning("changes", {"before": clock.at - 7 * DAY}),
            Pruning("orders", {"before": clock.at - 10 * DAY}),
            Pruning("readings", {"before": clock.at - 30 * DAY, "most": 1_000}),
            Pruning("authorization", {"at": clock.at}),
        ]
        assert await kept.list_readings(PLUG.id, 0, clock.at, 10) == [watt(3, NOW + 2 * DAY - HOUR)]
        assert len(await kept.list_summaries(PLUG.id, 0, clock.at, HOUR, 10)) == 3

    async def test_the_audit_log_is_never_pruned_by_default(
        self, store: PrunedStore, kept: History, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        removed = []

        async def prune_audit(before: float) -> None:
            removed.append(before)

        monkeypatch.setattr(store, "prune_audit", prune_audit)
        await kept.prune()
        assert removed == []
        kept_for = {"changes_kept": DAY, "readings_raw": DAY, "readings_kept": DAY, "orders_kept": DAY}
        await History(store, clock, **kept_for, most_readings=1_000, audit_kept=90 * DAY).prune()
        # By whole days, so that hourly prunings leave one record a day.
        assert removed == [clock.at // DAY * DAY - 90 * DAY]

    async def test_what_cannot_be_summarised_keeps_nothing_else_from_being_forgotten(
        self, store: PrunedStore, kept: History
    ) -> None:
        store.failures = 1
        with pytest.raises(ExceptionGroup) as failed:
            await kept.prune()
        assert [type(error) for error in failed.value.exceptions] == [OSError]
        assert [each.what for each in store.told] == ["summarise", "changes", "orders", "readings", "authorization"]

    async def test_goes_on_in_the_background_even_after_a_failure(
        self, store: PrunedStore, kept: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(history, "_FIRST_PRUNE", 0.0)
        monkeypatch.setattr(history, "_PRUNE_EVERY", 0.0)
        monkeypatch.setattr(history, "_CHECK_EVERY", 0.0)
        store.failures = 1
        with capture_logs() as logs:
            await kept.start()
            while [each.what for each in store.told].count("changes") < 2:
                await asyncio.sleep(0.001)
            await kept.stop()
        assert [entry["log_level"] for entry in logs] == ["error"]

    async def test_ends_with_the_service_and_never_runs_at_the_start(self, store: PrunedStore, kept: History) -> None:
        await kept.start()
        await asyncio.sleep(0)
        await kept.stop()
        await kept.stop()
        assert store.told == []
