"""Logbook entries are written once, in the commit of the report. People can add entries too."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.logbook import LogbookEntry, LogbookKind
from domogate.domain.plants import ControllerDetail, Module, Topology, UnitDetail
from domogate.domain.safety import EmergencyTest, EmergencyTestKind, Failure, FailureType
from domogate.domain.states import EmergencyState, LightState, Report
from domogate.ports import LogbookFilter
from domogate.stores import SqlStore
from domogate.stores.direct import Write
from domogate.stores.engine import Transaction
from support.clocks import NOW, ManualClock
from support.stores import HOUSE, LAMP, SMALL, OpenStore, an_id

SITE = replace(HOUSE, id=an_id(70), internal_id=an_id(71), name="Clinic", allowed=(), invited=(), emergency_lighting=True)
CONTROLLER = Module(
    an_id(80),
    an_id(81),
    "Controller",
    DeviceKind.EMERGENCY_CONTROLLER,
    driver="mqtt",
    detail=ControllerDetail("088260", "E1", 1),
)
UNIT = Module(
    an_id(82),
    an_id(83),
    "Exit sign",
    DeviceKind.EMERGENCY_UNIT,
    driver="mqtt",
    detail=UnitDetail("062520"),
    controller_id=CONTROLLER.id,
)
OTHER = Module(
    an_id(84),
    an_id(85),
    "Stairs",
    DeviceKind.EMERGENCY_UNIT,
    driver="mqtt",
    detail=UnitDetail("062525"),
    controller_id=CONTROLLER.id,
)
WELL = EmergencyState(failures=(Failure(FailureType.BLOCK_OK),))
DARK = EmergencyState(failures=(Failure(FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT),))
TEST = EmergencyTest(EmergencyTestKind.FUNCTION, NOW - 60, NOW - 30, 30.0)
NEXT_TEST = EmergencyTest(EmergencyTestKind.FUNCTION, NOW + 600, NOW + 630, 30.0)


def clinic(*states: FirstState, unit: Module = UNIT) -> Estate:
    topology = Topology(modules=(CONTROLLER, unit, OTHER))
    return replace(SMALL, plants=(*SMALL.plants, EstatePlant(SITE, topology, states)))


def report(state: EmergencyState | None, at: float = NOW, module: Module = UNIT, **more: Any) -> Report:
    return Report(SITE.id, module.id, at, state, **more)


async def entries(store: SqlStore, **wanted: Any) -> list[LogbookEntry]:
    return [one.entry for one in await store.list_logbook(SITE.id, LogbookFilter(**wanted), 1000)]


async def kinds(store: SqlStore) -> list[str]:
    return [f"{entry.kind} {entry.module}" for entry in await entries(store)]


@pytest.fixture
async def site(store: SqlStore) -> SqlStore:
    await store.import_estate(clinic(FirstState(UNIT.id, WELL)), prune=False)
    return store


class TestWhatUnitsReport:
    async def test_a_failure_and_its_repair(self, site: SqlStore) -> None:
        await site.record([report(DARK, NOW + 1)])
        await site.record([report(WELL, NOW + 2)])
        light = FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT
        failed = LogbookEntry(
            plant_id=SITE.id, at=NOW + 1, kind=LogbookKind.FAILURE, module_id=UNIT.id, module="Exit sign", failure=light
        )
        assert await entries(site) == [
            failed,
            replace(failed, at=NOW + 2, kind=LogbookKind.REPAIR),
        ]

    async def test_reports_of_one_call_build_on_each_other(self, site: SqlStore) -> None:
        tested = replace(WELL, function_test=TEST)
        await site.record([report(DARK), report(DARK), report(tested), report(tested), report(DARK)])
        assert await kinds(site) == ["failure Exit sign", "test Exit sign", "repair Exit sign", "failure Exit sign"]

    async def test_reports_of_several_callers_in_one_commit(self, site: SqlStore) -> None:
        commits = site.commits
        submitted = [site.record([report(DARK)]), site.record([report(DARK, module=OTHER)]), site.record([report(WELL)])]
        for each in submitted:
            await each
        assert site.commits > commits
        assert await kinds(site) == ["failure Exit sign", "failure Stairs", "repair Exit sign"]

    async def test_silence_and_contact(self, site: SqlStore) -> None:
        await site.record([report(None, reachable=False), report(None, NOW + 1, reachable=False)])
        await site.record([report(WELL, NOW + 2)])
        assert await kinds(site) == ["silence Exit sign", "contact Exit sign"]

    async def test_a_unit_that_never_reported_a_state_falls_silent(self, site: SqlStore) -> None:
        await site.record([report(None, module=OTHER, reachable=False)])
        assert await kinds(site) == ["silence Stairs"]

    async def test_the_alert_of_a_controller(self, site: SqlStore) -> None:
        for alert in (False, True, True, False):
            await site.record([report(EmergencyState(alert=alert), module=CONTROLLER)])
        assert await kinds(site) == ["alert Controller", "alert ended Controller"]

    async def test_entries_of_a_simulated_unit_are_marked(self, store: SqlStore) -> None:
        await store.import_estate(clinic(unit=replace(UNIT, driver="simulator")), prune=False)
        await store.record([report(DARK, NOW + 1), report(DARK, NOW + 2, OTHER)])
        marks = [(entry.module, entry.simulated) for entry in await entries(store)]
        assert marks == [("Exit sign", True), ("Stairs", False)]

    async def test_nothing_is_logged_of_other_kinds(self, site: SqlStore) -> None:
        await site.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=False), reachable=False)])
        assert await site.list_logbook(HOUSE.id, LogbookFilter(), 10) == []

    async def test_a_report_that_is_lost_leaves_no_entry(self, open_store: OpenStore, database_url: str) -> None:
        class FailingStore(SqlStore):
            fails = False

            def commit(self, connection: Any, last_writes: Sequence[Write] = (), *, has_written: bool = True) -> None:
                if self.fails:
                    raise OSError("no space left")
                super().commit(connection, last_writes, has_written=has_written)

        store = await open_store(database_url, of=FailingStore)
        assert isinstance(store, FailingStore)
        await store.import_estate(clinic(FirstState(UNIT.id, WELL)), prune=False)
        store.fails = True
        with pytest.raises(OSError, match="no space"):
            await store.record([report(DARK)])
        store.fails = False
        assert await entries(store) == []
        await store.record([report(DARK)])
        assert await kinds(store) == ["failure Exit sign"]

    async def test_entries_keep_the_name_that_a_unit_had(self, site: SqlStore) -> None:
        await site.record([report(DARK)])
        await site.import_estate(clinic(unit=replace(UNIT, name="Exit sign, north")), prune=False)
        await site.record([report(WELL)])
        await site.import_estate(SMALL, prune=False)
        assert await kinds(site) == ["failure Exit sign", "repair Exit sign, north"]

    async def test_they_outlive_the_unit(self, site: SqlStore) -> None:
        await site.record([report(DARK)])
        bare = replace(SMALL, plants=(*SMALL.plants, EstatePlant(SITE, Topology(modules=(CONTROLLER,)), ())))
        await site.import_estate(bare, prune=True)
        assert await kinds(site) == ["failure Exit sign"]


class TestWhatIsNoNews:
    async def test_a_state_in_an_estate_file_is_no_event(self, store: SqlStore) -> None:
        given = replace(DARK, function_test=TEST)
        await store.import_estate(clinic(FirstState(UNIT.id, given, reachable=False)), prune=False)
        assert await entries(store) == []
        await store.record([report(given, reachable=False)])
        assert await entries(store) == []
        await store.record([report(given)])
        assert await kinds(store) == ["contact Exit sign"]

    async def test_a_restart_repeats_nothing(self, open_store: OpenStore, database_url: str) -> None:
        tested = replace(DARK, function_test=TEST)
        first = await open_store(database_url)
        await first.import_estate(clinic(FirstState(UNIT.id, WELL)), prune=False)
        await first.record([report(tested)])
        await first.stop()
        again = await open_store(database_url)
        await again.record([report(tested, NOW + 5)])
        assert await kinds(again) == ["test Exit sign", "failure Exit sign"]

    async def test_two_processes_that_say_the_same_log_it_once(self, open_store: OpenStore, database_url: str) -> None:
        one, other = await open_store(database_url), await open_store(database_url)
        await one.import_estate(clinic(FirstState(UNIT.id, WELL)), prune=False)
        tested = replace(DARK, function_test=TEST)
        for store in (one, other, one):
            await store.record([report(tested)])
        await other.record([report(None, reachable=False)])
        await one.record([report(None, reachable=False)])
        assert await kinds(one) == ["test Exit sign", "failure Exit sign", "silence Exit sign"]

    async def test_a_test_that_an_old_report_tells_of_again_is_not_logged_again(self, site: SqlStore) -> None:
        for test in (TEST, NEXT_TEST, TEST, NEXT_TEST):
            await site.record([report(replace(WELL, function_test=test), NOW + 1000)])
        await site.record([report(replace(WELL, function_test=test), NOW + 1000) for test in (TEST, NEXT_TEST)])
        assert [entry.test for entry in await entries(site)] == [TEST, NEXT_TEST]

    async def test_nor_one_of_a_unit_whose_clock_is_ahead(self, site: SqlStore) -> None:
        for test in (NEXT_TEST, TEST, NEXT_TEST):
            await site.record([report(replace(WELL, function_test=test))])
        assert [(entry.test, entry.at) for entry in await entries(site)] == [(NEXT_TEST, NOW), (TEST, NOW - 30)]

    async def test_the_same_test_of_another_unit_is_another(self, site: SqlStore) -> None:
        await site.record([report(replace(WELL, function_test=TEST), module=module) for module in (UNIT, OTHER)])
        assert await kinds(site) == ["test Exit sign", "test Stairs"]


class TestInjectedFailures:
    FAULT = Injection(InjectedFault.FAILURE, UNIT.id, FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT)

    async def test_one_that_is_cleared_is_repaired(self, site: SqlStore, clock: ManualClock) -> None:
        await site.inject(SITE.id, [self.FAULT])
        await site.record([report(DARK)])
        clock.at = NOW + 60
        await site.clear_injections(SITE.id)
        await site.record([report(WELL, NOW + 61)])
        assert [(entry.kind, entry.at) for entry in await entries(site)] == [
            (LogbookKind.FAILURE, NOW),
            (LogbookKind.REPAIR, NOW + 60),
        ]

    async def test_one_that_nobody_heard_of_leaves_nothing(self, site: SqlStore) -> None:
        await site.inject(SITE.id, [self.FAULT])
        await site.clear_injections(SITE.id)
        assert await entries(site) == []


class TestWritingByHand:
    async def test_an_entry_is_kept_with_its_number_and_the_name_of_its_module(self, site: SqlStore) -> None:
        words = "Cleaned, ανέβηκε, 🔋 changed\nsecond line"
        written = LogbookEntry(plant_id=SITE.id, at=NOW, kind=LogbookKind.SERVICE, words=words, by="Żaneta O'Hara")
        first = await site.add_logbook_entry(written)
        of_unit = replace(written, module_id=UNIT.id)
        assert await site.add_logbook_entry(of_unit) > first
        assert await entries(site) == [written, replace(of_unit, module="Exit sign")]

    async def test_only_of_plants_and_modules_that_are_there(self, site: SqlStore) -> None:
        note = LogbookEntry(plant_id=SITE.id, at=NOW, kind=LogbookKind.NOTE, words="x", by="Anna")
        for wrong in (
            replace(note, plant_id=an_id(404)),
            replace(note, module_id=an_id(404)),
            replace(note, module_id=LAMP.id),
            replace(note, words="a\0b"),
            replace(note, at=float("nan")),
            replace(note, by="\ud800"),
        ):
            with pytest.raises(ValueError, match=r"there is no|cannot be stored|surrogates"):
                await site.add_logbook_entry(wrong)
        assert await entries(site) == []


class TestListing:
    @pytest.fixture
    async def written(self, site: SqlStore) -> list[int]:
        numbers = []
        for number, kind in enumerate((LogbookKind.NOTE, LogbookKind.SERVICE, LogbookKind.NOTE, LogbookKind.INSPECTION)):
            entry = LogbookEntry(plant_id=SITE.id, at=NOW + number, kind=kind, words=str(number), by="Anna")
            numbers.append(await site.add_logbook_entry(entry))
        return numbers

    async def test_periods_that_follow_each_other_share_no_entry(self, site: SqlStore, written: list[int]) -> None:
        assert [entry.words for entry in await entries(site, until=NOW + 2)] == ["0", "1"]
        assert [entry.words for entry in await entries(site, since=NOW + 2)] == ["2", "3"]

    async def test_by_kind(self, site: SqlStore, written: list[int]) -> None:
        wanted = {LogbookKind.NOTE, LogbookKind.INSPECTION}
        assert [entry.words for entry in await entries(site, kinds=wanted)] == ["0", "2", "3"]

    async def test_page_by_page(self, site: SqlStore, written: list[int]) -> None:
        first = await site.list_logbook(SITE.id, LogbookFilter(), 3)
        rest = await site.list_logbook(SITE.id, LogbookFilter(), 3, first[-1].number)
        assert [one.number for one in (*first, *rest)] == written

    async def test_of_a_plant_that_is_not_there(self, site: SqlStore) -> None:
        assert await site.list_logbook(Id("nowhere"), LogbookFilter(), 5) == []


class TestCost:
    async def test_reports_of_other_kinds_read_nothing_more(self, site: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str] = []
        running = Transaction.__init__

        def listening(self: Transaction, database: Any, connection: Any, now: float, start: int) -> None:
            running(self, database, connection, now, start)
            execute = connection.execute
            if not hasattr(connection, "_heard"):
                connection._heard = True

                def execute_and_record(statement: Any, *args: Any, **options: Any) -> Any:
                    asked.append(str(statement))
                    return execute(statement, *args, **options)

                connection.execute = execute_and_record

        monkeypatch.setattr(Transaction, "__init__", listening)
        lamp = [Report(HOUSE.id, LAMP.id, NOW, LightState(on=on)) for on in (True, False)]
        await site.record(lamp)
        asked.clear()
        await site.record(lamp)
        assert [text for text in asked if "states" in text or "logbook" in text] == []
        await site.record([report(WELL), report(WELL, module=OTHER)])
        asked.clear()
        await site.record([report(WELL), report(DARK, module=OTHER)])
        assert len([text for text in asked if "states" in text]) == 1
