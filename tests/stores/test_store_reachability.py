"""A change says whether the module is reachable, and whether that is new."""

import pytest

from domogate.domain.events import StateChanged
from domogate.domain.ids import Id
from domogate.domain.states import LightState, Report
from domogate.stores import SqlStore, recorder
from support.clocks import NOW
from support.stores import HOUSE, LAMP, PLUG, SMALL, ChangeRecorder, OpenStore, an_id, record_changes

ON = LightState(on=True)


def report(*, reachable: bool, module_id: Id = LAMP.id, state: LightState | None = None) -> Report:
    return Report(HOUSE.id, module_id, NOW, state, reachable=reachable)


GONE, BACK, STATED = report(reachable=False), report(reachable=True), report(reachable=True, state=ON)
GONE_WITH_STATE = report(reachable=False, state=ON)


def turns(recorded: ChangeRecorder) -> list[tuple[bool, bool]]:
    """For each change of a state: whether the module is reachable, and whether that is new."""
    return [(event.reachable, event.turned) for event in recorded.events if isinstance(event, StateChanged)]


class TestTurning:
    async def test_a_module_goes_away_and_comes_back(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        for each in (STATED, GONE, GONE_WITH_STATE, STATED, STATED):
            await filled_store.record([each])
        assert turns(recorded) == [(True, False), (False, True), (False, False), (True, True), (True, False)]

    async def test_it_may_come_back_without_saying_what_it_is_in(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        for each in (GONE, BACK):
            await filled_store.record([each])
        assert turns(recorded) == [(False, True), (True, True)]

    async def test_the_first_report_of_a_module_is_no_turn_unless_it_is_missed(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        await filled_store.record([report(reachable=True, module_id=PLUG.id, state=ON)])
        assert turns(recorded) == [(True, False)]

    async def test_a_module_that_never_reported_and_is_missed_has_turned(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        await filled_store.record([report(reachable=False, module_id=PLUG.id)])
        assert turns(recorded) == [(False, True)]

    async def test_several_in_one_call_build_on_each_other(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        await filled_store.record([STATED, GONE, STATED, STATED, GONE, GONE_WITH_STATE])
        await filled_store.record([STATED])
        assert turns(recorded) == [
            (True, False), (False, True), (True, True), (True, False), (False, True), (False, False), (True, True),
        ]  # fmt: skip

    async def test_modules_turn_each_for_themselves(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        plug_gone = report(reachable=False, module_id=PLUG.id)
        await filled_store.record([GONE, plug_gone, STATED])
        await filled_store.record([STATED, report(reachable=True, module_id=PLUG.id, state=ON)])
        assert turns(recorded) == [(False, True), (False, True), (True, True), (True, False), (True, True)]

    async def test_a_report_that_is_refused_turns_nothing(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        nonsense = Report(HOUSE.id, LAMP.id, float("nan"), ON, reachable=False)
        for bad in ([GONE, nonsense], [nonsense]):
            with pytest.raises(ValueError, match="not finite"):
                await filled_store.record(bad)
        await filled_store.record([STATED])
        assert turns(recorded) == [(True, False)]


class TestAfterEarlierReports:
    async def test_a_restart_remembers_who_is_away(self, open_store: OpenStore, database_url: str) -> None:
        first = await open_store(database_url)
        await first.import_estate(SMALL, prune=False)
        await first.record([GONE])
        await first.stop()
        second, recorded = await open_store(database_url), ChangeRecorder()
        second.listen(recorded)
        await second.record([GONE_WITH_STATE])
        await second.record([STATED])
        assert turns(recorded) == [(False, False), (True, True)]

    async def test_another_process_is_heard(self, open_store: OpenStore, database_url: str) -> None:
        ours, theirs = await open_store(database_url), await open_store(database_url)
        await ours.import_estate(SMALL, prune=False)
        recorded = record_changes(ours)
        await ours.record([STATED])
        await theirs.record([GONE])
        await ours.record([GONE_WITH_STATE])
        await theirs.record([STATED])
        await ours.record([STATED])
        assert turns(recorded) == [(True, False), (False, True), (False, False), (True, True), (True, False)]

    async def test_a_module_that_was_imported_again_is_as_the_import_says(self, filled_store: SqlStore) -> None:
        await filled_store.record([GONE])
        await filled_store.import_estate(SMALL, prune=False)
        recorded = record_changes(filled_store)
        await filled_store.record([STATED])
        assert turns(recorded) == [(True, True)]

    async def test_is_remembered_beyond_what_is_held(self, filled_store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """A recorder without cache reads the database again."""
        recorded = record_changes(filled_store)
        monkeypatch.setattr(recorder, "KNOWN_LIMIT", 1)
        for each in (GONE, report(reachable=True, module_id=PLUG.id, state=ON), STATED, Report(HOUSE.id, an_id(404), NOW, ON)):
            await filled_store.record([each])
        assert turns(recorded) == [(False, True), (True, False), (True, True)]
