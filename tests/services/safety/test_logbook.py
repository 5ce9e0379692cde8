"""SafetyLogbook: state of a site, order list, logbook."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from domogate.domain.estate import FirstState
from domogate.domain.logbook import LogbookKind
from domogate.domain.safety import EmergencyTestKind, FailureType
from domogate.domain.states import EmergencyState, Report
from domogate.ports import LogbookFilter
from domogate.services.audit import AuditLog
from domogate.services.refusals import Invalid, NotFound
from domogate.services.safety import SafetyLogbook, StatusCounts, TestCounts, TestStanding, add_months
from domogate.stores import SqlStore, sqlite_url
from support.clocks import NOW, ManualClock
from support.safety_site import DAY, SITE, WELL, a_test, a_unit, after_tests, failing, site_estate, unit_id
from support.stores import HOUSE, SMALL, an_id

pytestmark = pytest.mark.slow


class Bench:
    """A store with a site, and a SafetyLogbook."""

    def __init__(self, store: SqlStore, clock: ManualClock, audit: AuditLog) -> None:
        self.store, self.clock, self.audit = store, clock, audit
        self.desk = SafetyLogbook(store, clock, audit)

    async def log(self, kind: LogbookKind = LogbookKind.NOTE, **how: Any) -> int:
        return (await self.desk.write(SITE.id, kind, **{"by": "Elena", "words": "something", **how})).number


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    clock = ManualClock()
    store = SqlStore(sqlite_url(tmp_path / "domogate.db"), clock=clock)
    await store.start()
    units: list[tuple[Any, FirstState | EmergencyState | None]] = [
        (a_unit(1), after_tests()),
        (a_unit(2), failing(FailureType.BLOCK_FAULTY_BATTERY, FailureType.BLOCK_DISCONNECTED_BATTERY)),
        (a_unit(3, reference="062525"), failing(FailureType.BLOCK_FAULTY_BATTERY, FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT)),
        (a_unit(4, reference="none"), FirstState(unit_id(4), failing(FailureType.BLOCK_FAULTY_BATTERY), reachable=False)),
        (a_unit(5), replace(WELL, charge=40, charging_since=NOW - 40 * DAY, testing=EmergencyTestKind.FUNCTION)),
        (a_unit(6), replace(WELL, function_test=a_test(failure=FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT))),
    ]
    await store.import_estate(site_estate(units), prune=False)
    try:
        yield Bench(store, clock, AuditLog(store, clock))
    finally:
        await store.stop()


class TestSeeingASite:
    async def test_the_summary_counts_statuses_and_tests(self, bench: Bench) -> None:
        summary = (await bench.desk.read_site(SITE.id)).summary
        assert summary.controllers == StatusCounts(1, 1, 0, 0)
        assert summary.units == StatusCounts(6, 3, 2, 1)
        assert (summary.in_alert, summary.charging, summary.complies) == (1, 1, False)
        assert summary.function == TestCounts(passed=1, failed=1, never=4, due_soon=0, overdue=1, under_way=1)
        assert summary.duration == TestCounts(passed=1, failed=0, never=5, due_soon=0, overdue=0, under_way=0)

    async def test_units_have_their_names_and_places(self, bench: Bench) -> None:
        units = (await bench.desk.read_site(SITE.id)).units
        assert [(unit.name, unit.place) for unit in units[:2]] == [("Unit 1", "Ward A, Stairwell"), ("Unit 2", "")]

    async def test_one_where_all_is_well_and_tested_complies(self, bench: Bench) -> None:
        reports = [Report(SITE.id, unit_id(number), NOW, after_tests()) for number in range(1, 7)]
        await bench.store.record(reports)
        assert (await bench.desk.read_site(SITE.id)).summary.complies
        bench.clock.at = NOW + 32 * DAY
        assert not (await bench.desk.read_site(SITE.id)).summary.complies

    async def test_a_unit_whose_clock_is_ahead_is_overdue_a_month_after_it_reported_its_test(self, bench: Bench) -> None:
        ahead = NOW + 3650 * DAY
        reports = [Report(SITE.id, unit_id(number), NOW, after_tests(at=ahead)) for number in range(1, 7)]
        await bench.store.record(reports)
        bench.clock.at = NOW + DAY
        site = await bench.desk.read_site(SITE.id)
        assert {unit.function.due_at for unit in site.units} == {add_months(NOW, 1)}
        assert {unit.duration.due_at for unit in site.units} == {add_months(NOW, 12)}
        assert site.summary.complies
        await bench.store.record([Report(SITE.id, unit_id(1), NOW + 30 * DAY, after_tests(at=ahead))])  # the same test again
        bench.clock.at = NOW + 32 * DAY
        site = await bench.desk.read_site(SITE.id)
        assert {unit.function.standing for unit in site.units} == {TestStanding.OVERDUE}
        assert not site.summary.complies

    async def test_an_entry_of_commissioning_says_since_when_tests_are_due(self, bench: Bench) -> None:
        await bench.log(LogbookKind.COMMISSIONING, at=NOW - 50 * DAY)
        await bench.log(LogbookKind.COMMISSIONING, at=NOW - 10 * DAY, module_id=unit_id(3))
        second, third = (await bench.desk.read_site(SITE.id)).units[1:3]
        assert (second.function.due_at, second.function.standing) == (NOW - 50 * DAY, TestStanding.OVERDUE)
        assert (third.function.due_at, third.function.standing) == (NOW - 10 * DAY, TestStanding.NEVER)

    async def test_only_plants_that_are_there_can_be_seen(self, bench: Bench) -> None:
        with pytest.raises(NotFound, match="There is no plant"):
            await bench.desk.read_site(an_id(404))


class TestTheOrderList:
    async def test_parts_are_those_of_each_units_reference(self, bench: Bench) -> None:
        orders = await bench.desk.list_orders(await bench.desk.read_site(SITE.id))
        assert [(line.reference, line.quantity, [need.name for need in line.needs]) for line in orders.lines] == [
            ("061089", "1", ["Unit 2"]),
            ("061092", "2", ["Unit 3"]),
        ]
        assert [(need.name, need.part) for need in orders.without_parts] == [
            ("Unit 3", "Emergency lamp"),
            ("Unit 4", "Battery"),
        ]


class TestWriting:
    async def test_an_entry_is_kept_and_noted_in_the_audit_log_without_the_name(self, bench: Bench) -> None:
        number = await bench.log(LogbookKind.SERVICE, by="  Elena ", words=" cleaned\nall ", module_id=unit_id(2))
        (one,) = await bench.desk.list_entries(SITE.id, LogbookFilter(), 10)
        entry = one.entry
        assert (one.number, entry.at, entry.kind) == (number, NOW, LogbookKind.SERVICE)
        assert (entry.by, entry.words, entry.module) == ("Elena", "cleaned\nall", "Unit 2")
        await bench.audit.flush()
        (record,) = await bench.store.list_audit(0, 10)
        assert (record.entry.action, record.entry.what) == ("logbook written", f"plant:{SITE.id}")
        assert record.entry.detail == {"number": str(number), "kind": "service"}

    async def test_people_cannot_write_what_units_report(self, bench: Bench) -> None:
        for kind in LogbookKind:
            if not kind.by_hand:
                with pytest.raises(Invalid, match="made by the gateway"):
                    await bench.log(kind)

    async def test_what_is_no_entry_is_refused(self, bench: Bench) -> None:
        wrong: tuple[dict[str, Any], ...] = (
            {"by": ""},
            {"by": "  "},
            {"by": "x" * 201},
            {"words": ""},
            {"words": "x" * 4001},
            {"words": "a\0b"},
            {"words": "a\x1bb"},
            {"by": "\ud800"},
            {"at": NOW + 1},
            {"at": -1.0},
            {"at": float("nan")},
        )
        for how in wrong:
            with pytest.raises(Invalid):
                await bench.log(**how)
            assert await bench.desk.list_entries(SITE.id, LogbookFilter(), 10) == [], how

    async def test_a_module_of_another_plant_is_not_found(self, bench: Bench) -> None:
        with pytest.raises(NotFound):
            await bench.log(module_id=an_id(404))


class TestTheReport:
    async def test_it_has_the_logbook_of_the_last_month_by_the_time_things_happened(self, bench: Bench) -> None:
        for days in (40, 3, 10, 0):
            await bench.log(words=f"{days} days ago", at=NOW - days * DAY)
        report = await bench.desk.make_report(SITE.id)
        assert [one.entry.words for one in report.entries] == ["10 days ago", "3 days ago", "0 days ago"]
        assert report.until == NOW

    async def test_or_of_the_period_that_is_asked_for(self, bench: Bench) -> None:
        for days in (40, 20, 10):
            await bench.log(words=f"{days} days ago", at=NOW - days * DAY)
        report = await bench.desk.make_report(SITE.id, NOW - 40 * DAY, NOW - 10 * DAY)
        assert [one.entry.words for one in report.entries] == ["40 days ago", "20 days ago"]

    async def test_a_period_that_ends_before_it_begins_is_none(self, bench: Bench) -> None:
        with pytest.raises(Invalid, match="ends before"):
            await bench.desk.make_report(SITE.id, NOW, NOW - 1)

    async def test_more_entries_than_fit_on_a_page_of_the_store(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("domogate.services.safety.logbook._PAGE", 2)
        for number in range(5):
            await bench.log(words=str(number))
        assert [one.entry.words for one in (await bench.desk.make_report(SITE.id)).entries] == list("01234")


class TestAPlantThatIsNoSite:
    async def test_has_no_papers(self, tmp_path: Path) -> None:
        clock = ManualClock()
        store = SqlStore(sqlite_url(tmp_path / "domogate.db"), clock=clock)
        await store.start()
        try:
            await store.import_estate(SMALL, prune=False)
            desk = SafetyLogbook(store, clock, AuditLog(store, clock))
            for asked in (
                desk.read_site(HOUSE.id),
                desk.make_report(HOUSE.id),
                desk.list_entries(HOUSE.id, LogbookFilter(), 1),
                desk.write(HOUSE.id, LogbookKind.NOTE, by="Anna", words="x"),
            ):
                with pytest.raises(NotFound, match="not a site of emergency lighting"):
                    await asked
        finally:
            await store.stop()
