"""Readings are stored as measured, later summarised by hour, and finally removed."""

import asyncio
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from domogate.domain.states import Reading, ReadingSummary, Report, Unit
from domogate.stores import SqlStore, recorder, retention, sqlite_url
from domogate.stores.subject import reads
from support.clocks import NOW, ManualClock
from support.examples import examples
from support.stores import GROUND, HOUSE, HOUSE_TOPOLOGY, KITCHEN, LAMP, PLUG, SMALL, OpenStore, an_id, record_statements

HOUR = 3600.0
DAY = 24 * HOUR
FOR_EVER = 10 * NOW


def watt(value: float, at: float) -> tuple[str, Reading]:
    return "power", Reading(value, Unit.WATT, at)


async def measure(store: SqlStore, *kept: tuple[str, Reading], module_id: str = PLUG.id) -> None:
    await store.record([Report(HOUSE.id, module_id, NOW, readings=kept)])


def summary(at: float, *values: float, measure: str = "power", unit: Unit = Unit.WATT) -> ReadingSummary:
    mean = sum(values) / len(values)
    return ReadingSummary(measure, unit, at, len(values), mean, min(values), max(values), values[-1])


class TestReadings:
    async def test_they_are_kept_oldest_first_within_the_bounds(self, filled_store: SqlStore) -> None:
        for second in (3, 1, 2, 4):
            await measure(filled_store, watt(second, NOW + second))
        found = await filled_store.list_readings(PLUG.id, NOW + 1, NOW + 3, 10)
        assert found == [watt(second, NOW + second) for second in (1, 2, 3)]

    async def test_writing_them_does_not_read_the_states_of_reachable_modules(self, filled_store: SqlStore) -> None:
        await measure(filled_store, watt(1, NOW))
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, reachable=False)])
        with record_statements() as statements:
            await measure(filled_store, watt(2, NOW + 1))
            assert not [statement for statement in statements if "FROM states" in statement]
            # The report of a module that was unreachable makes it reachable, so its last state is needed.
            await measure(filled_store, watt(3, NOW + 2), module_id=LAMP.id)
            assert len([statement for statement in statements if "FROM states" in statement]) == 1
        plant = await filled_store.find_plant(HOUSE.id)
        assert plant is not None
        assert plant.states[LAMP.id].reachable

    async def test_a_limit_keeps_the_newest_whichever_hour_they_are_of(self, filled_store: SqlStore) -> None:
        await measure(filled_store, *(watt(n, NOW + n * HOUR / 2) for n in range(5)))
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 3) == [watt(n, NOW + n * HOUR / 2) for n in (2, 3, 4)]

    async def test_years_may_lie_between_them(self, filled_store: SqlStore) -> None:
        moments = [0.0, 1.0, DAY, NOW / 2, NOW - 0.001, NOW, NOW + 300 * DAY]
        await measure(filled_store, *(watt(n, at) for n, at in enumerate(moments)))
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 10) == [watt(n, at) for n, at in enumerate(moments)]

    async def test_more_hours_than_one_query_asks_for(self, filled_store: SqlStore) -> None:
        await measure(filled_store, *(watt(n, NOW + n * HOUR) for n in range(120)))
        assert len(await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 1_000)) == 120
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 60) == [watt(n, NOW + n * HOUR) for n in range(60, 120)]

    async def test_the_same_reading_twice_is_one_and_the_last_counts(self, filled_store: SqlStore) -> None:
        energy = ("energy", Reading(2, Unit.WATT_HOUR, NOW))
        await measure(filled_store, watt(1, NOW), energy, watt(1, NOW))
        await measure(filled_store, watt(5, NOW), energy)
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 10) == [energy, watt(5, NOW)]

    async def test_times_are_kept_to_the_millisecond(self, filled_store: SqlStore) -> None:
        await measure(filled_store, watt(1, NOW + 0.1234), watt(2, NOW + 0.1236))
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 10) == [watt(1, NOW + 0.123), watt(2, NOW + 0.124)]

    async def test_each_module_has_its_own_in_each_unit(self, filled_store: SqlStore) -> None:
        warm, hot = ("temperature", Reading(20, Unit.CELSIUS, NOW)), ("temperature", Reading(68, Unit.FAHRENHEIT, NOW + 1))
        await measure(filled_store, warm, hot)
        await measure(filled_store, watt(7, NOW), module_id=LAMP.id)
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 10) == [warm, hot]
        assert await filled_store.list_readings(LAMP.id, 0, FOR_EVER, 10) == [watt(7, NOW)]
        assert await filled_store.list_readings(an_id(404), 0, FOR_EVER, 10) == []

    @pytest.mark.parametrize("at", [float("nan"), float("inf"), -1.0, 1e12])
    async def test_one_of_a_time_that_cannot_be_is_refused_alone(self, filled_store: SqlStore, at: float) -> None:
        results = await asyncio.gather(
            measure(filled_store, watt(1, NOW)),
            measure(filled_store, watt(2, at)),
            measure(filled_store, watt(3, NOW + 1)),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [type(None), ValueError, type(None)]
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 10) == [watt(1, NOW), watt(3, NOW + 1)]

    async def test_processes_find_each_others_series(self, open_store: OpenStore, database_url: str) -> None:
        one, other = await open_store(database_url), await open_store(database_url)
        await one.import_estate(SMALL, prune=False)
        for n in range(4):
            await measure((one, other)[n % 2], watt(n, NOW + n), ("energy", Reading(n, Unit.WATT_HOUR, NOW + n)))
        assert len(await other.list_readings(PLUG.id, 0, FOR_EVER, 10)) == 8


class TestOfAModuleThatIsGone:
    async def test_they_are_not_those_of_another_that_comes_after(self, filled_store: SqlStore) -> None:
        ground = replace(GROUND, ambients=(replace(KITCHEN, modules=(LAMP,)),))
        plant = replace(SMALL.plants[0], topology=replace(HOUSE_TOPOLOGY, floors=(ground,)))
        without = replace(SMALL, plants=(plant,))
        await measure(filled_store, watt(1, NOW))
        await filled_store.import_estate(without, prune=True)
        await measure(filled_store, watt(2, NOW + 1), module_id=LAMP.id)
        await filled_store.import_estate(SMALL, prune=False)
        await measure(filled_store, watt(3, NOW + 2))
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 10) == [watt(3, NOW + 2)]
        assert await filled_store.list_readings(LAMP.id, 0, FOR_EVER, 10) == [watt(2, NOW + 1)]
        await filled_store.summarise_readings(FOR_EVER)
        assert await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, HOUR, 10) == [summary(NOW, 3)]
        assert await reads(retention.count_readings)(filled_store) == 2


class TestSummaries:
    async def test_one_for_each_measure_and_span_oldest_first(self, filled_store: SqlStore) -> None:
        await measure(
            filled_store, watt(1, NOW), watt(5, NOW + 59), watt(3, NOW + 60), ("energy", Reading(9, Unit.WATT_HOUR, NOW + 60))
        )
        assert await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, 60.0, 10) == [
            summary(NOW, 1, 5),
            summary(NOW + 60, 9, measure="energy", unit=Unit.WATT_HOUR),
            summary(NOW + 60, 3),
        ]

    async def test_hours_that_were_summarised_are_told_as_before(self, filled_store: SqlStore) -> None:
        kept = [watt(n * 7 % 11, NOW + n * 600 + 1) for n in range(40)]
        await measure(filled_store, *kept)
        before = {width: await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, width, 99) for width in (HOUR, 2 * HOUR, DAY)}
        await filled_store.summarise_readings(NOW + 4 * HOUR)
        assert len(await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 99)) == 16
        for width, expected in before.items():
            assert await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, width, 99) == expected

    async def test_finer_ones_than_an_hour_go_as_far_back_as_readings(self, filled_store: SqlStore) -> None:
        await measure(filled_store, watt(1, NOW), watt(2, NOW + HOUR))
        await filled_store.summarise_readings(NOW + HOUR)
        assert await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, 1800.0, 10) == [summary(NOW + HOUR, 2)]

    async def test_only_whole_hours_are_summarised(self, filled_store: SqlStore) -> None:
        kept = [watt(1, NOW), watt(2, NOW + HOUR), watt(3, NOW + HOUR + 60)]
        await measure(filled_store, *kept)
        await filled_store.summarise_readings(NOW + HOUR + 30)
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 10) == kept[1:]

    async def test_what_comes_late_finds_its_place(self, filled_store: SqlStore) -> None:
        await measure(filled_store, watt(4, NOW + 30), watt(2, NOW + 50))
        await filled_store.summarise_readings(NOW + HOUR)
        await measure(filled_store, watt(6, NOW + 40))
        expected = ReadingSummary("power", Unit.WATT, NOW, 3, 4.0, 2.0, 6.0, 2.0)
        assert await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, HOUR, 10) == [expected]
        await filled_store.summarise_readings(NOW + HOUR)
        assert await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, HOUR, 10) == [expected]
        await measure(filled_store, watt(0, NOW + 60))
        await filled_store.summarise_readings(NOW + HOUR)
        expected = ReadingSummary("power", Unit.WATT, NOW, 4, 3.0, 0.0, 6.0, 0.0)
        assert await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, HOUR, 10) == [expected]

    async def test_spans_are_whole_whatever_part_of_them_is_asked_for(self, filled_store: SqlStore) -> None:
        await measure(filled_store, *(watt(n, NOW + n * 1200) for n in range(9)))
        hours = [summary(NOW + n * HOUR, *range(n * 3, n * 3 + 3)) for n in range(3)]
        for _ in range(2):
            assert await filled_store.list_summaries(PLUG.id, NOW + HOUR + 60, NOW + HOUR + 61, HOUR, 10) == hours[1:2]
            assert await filled_store.list_summaries(PLUG.id, NOW + 1, NOW + 2 * HOUR - 1, HOUR, 10) == hours[:2]
            assert await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, HOUR, 2) == hours[1:]
            assert await filled_store.list_summaries(PLUG.id, NOW + 1, NOW, HOUR, 0) == []
            await filled_store.summarise_readings(NOW + 2 * HOUR)

    async def test_a_limit_keeps_the_newest_over_many_hours(self, filled_store: SqlStore) -> None:
        await measure(filled_store, *(watt(n, NOW + n * HOUR) for n in range(200)))
        await filled_store.summarise_readings(NOW + 100 * HOUR)
        days = await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, DAY, 3)
        assert [day.at for day in days] == [NOW - NOW % DAY + n * DAY for n in (6, 7, 8)]
        assert [day.count for day in days[:2]] == [24, 24]
        assert days[-1].last == 199
        assert [hour.last for hour in await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, HOUR, 130)] == list(
            range(70, 200)
        )

    @pytest.mark.parametrize("resolution", [0.0, 59.9, -60.0, float("nan"), float("inf")])
    async def test_a_resolution_that_cannot_be_is_refused(self, filled_store: SqlStore, resolution: float) -> None:
        with pytest.raises(ValueError, match="at least 60 seconds"):
            await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, resolution, 10)

    async def test_they_go_in_pieces_that_may_end_in_the_middle_of_an_hour(
        self, filled_store: SqlStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(retention, "PIECE", 7)
        kept = [watt(n % 13, NOW + n * 97) for n in range(200)]
        await measure(filled_store, *kept, *(("energy", Reading(n, Unit.WATT_HOUR, NOW + n * 500)) for n in range(40)))
        expected = await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, HOUR, 99)
        before = filled_store.commits
        await filled_store.summarise_readings(FOR_EVER)
        assert filled_store.commits - before >= 240 // 7
        found = await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, HOUR, 99)
        assert [_rounded(each) for each in found] == [_rounded(each) for each in expected]
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 10) == []


def _rounded(each: ReadingSummary) -> tuple[object, ...]:
    return (each.measure, each.at, each.count, round(each.mean, 6), each.low, each.high, each.last)


class TestPrune:
    async def test_old_readings_and_summaries_go_by_whole_hours(self, filled_store: SqlStore) -> None:
        await measure(filled_store, *(watt(n, NOW + n * HOUR) for n in range(6)))
        await filled_store.summarise_readings(NOW + 3 * HOUR)
        await filled_store.prune_readings(NOW + 1.5 * HOUR, 99)
        assert [each.last for each in await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, HOUR, 99)] == [1, 2, 3, 4, 5]
        await filled_store.prune_readings(NOW + 4 * HOUR, 99)
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 10) == [watt(4, NOW + 4 * HOUR), watt(5, NOW + 5 * HOUR)]
        assert [each.last for each in await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, HOUR, 99)] == [4, 5]

    @pytest.mark.parametrize("most", [0, 1, 3, 7, 11, 12, 99])
    async def test_never_more_than_so_many_the_oldest_going_first(self, filled_store: SqlStore, most: int) -> None:
        await measure(filled_store, *(watt(n, NOW + n * HOUR) for n in range(12)))
        await filled_store.summarise_readings(NOW + 5 * HOUR)
        await filled_store.prune_readings(0, most)
        left = await filled_store.list_summaries(PLUG.id, 0, FOR_EVER, HOUR, 99)
        assert [each.last for each in left] == list(range(12))[max(0, 12 - most) :]

    async def test_it_ends_where_another_process_has_taken_all(
        self, filled_store: SqlStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await measure(filled_store, *(watt(n, NOW + n) for n in range(3)))
        monkeypatch.setattr(retention, "count_readings", lambda _: 1_000)
        await asyncio.wait_for(filled_store.prune_readings(0, 1), 30)
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 10) == []

    async def test_it_goes_on_until_all_is_gone_in_bounded_pieces(
        self, filled_store: SqlStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(retention, "PIECE", 10)
        await measure(filled_store, *(watt(n, NOW + n) for n in range(95)))
        before = filled_store.commits
        await filled_store.prune_readings(NOW + HOUR, 99)
        assert await filled_store.list_readings(PLUG.id, 0, FOR_EVER, 10) == []
        assert filled_store.commits - before >= 10


_measured = st.lists(
    st.tuples(st.sampled_from(["power", "energy"]), st.integers(0, 30_000_000), st.integers(-50, 50)),
    max_size=40,
    unique_by=lambda each: each[:2],
)


class TestAgainstAPlainCount:
    @pytest.mark.slow
    def test_any_readings_in_any_resolution_summarised_up_to_any_time(self, tmp_path: Path) -> None:
        # One store for all examples, because creating it is slow. Each example leaves no readings.
        store = SqlStore(sqlite_url(tmp_path / "x.db"), clock=ManualClock(), gateway=False)

        @settings(max_examples=examples(40), deadline=None)
        @given(
            measured=_measured,
            minutes=st.sampled_from([1, 7, 30, 59, 60, 120, 180, 300]),
            summarised=st.floats(0, 10 * HOUR),
            since=st.floats(0, 10 * HOUR),
            lasting=st.floats(0, 10 * HOUR),
        )
        def check(measured: list[tuple[str, int, int]], minutes: int, summarised: float, since: float, lasting: float) -> None:
            hours = minutes % 60 == 0
            runner.run(
                self._check(
                    store, measured, minutes * 60.0, NOW + summarised if hours else 0.0, NOW + since, NOW + since + lasting
                )
            )

        with asyncio.Runner() as runner:
            runner.run(store.start())
            runner.run(store.import_estate(SMALL, prune=False))
            check()
            runner.run(store.stop())

    async def _check(
        self,
        store: SqlStore,
        measured: list[tuple[str, int, int]],
        width: float,
        summarised: float,
        since: float,
        until: float,
    ) -> None:
        unit = {"power": Unit.WATT, "energy": Unit.WATT_HOUR}
        try:
            kept = [(what, Reading(value, unit[what], NOW + ms / 1000)) for what, ms, value in measured]
            await measure(store, *kept)
            await store.summarise_readings(summarised)
            found = await store.list_summaries(PLUG.id, since, until, width, 1_000)
            assert [_rounded(each) for each in found] == [_rounded(each) for each in self._count(kept, width, since, until)]
        finally:
            await store.prune_readings(FOR_EVER, 0)

    @staticmethod
    def _count(kept: Sequence[tuple[str, Reading]], width: float, since: float, until: float) -> list[ReadingSummary]:
        def key(each: tuple[str, Reading]) -> tuple[float, str]:
            return each[1].at // width * width, each[0]

        counted = []
        for (at, what), group in groupby(sorted(kept, key=lambda each: (*key(each), each[1].at)), key=key):
            found = list(group)
            if since // width * width <= at <= until:
                counted.append(summary(at, *(each.value for _, each in found), measure=what, unit=found[0][1].unit))
        return counted


class TestMoments:
    @given(st.integers(0, 4_000_000_000_000))
    def test_every_millisecond_is_read_back_as_it_was(self, moment: int) -> None:
        assert recorder.to_moment(moment / 1000) == moment
