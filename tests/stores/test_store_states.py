"""Reports become last states and changes."""

import pytest

from domogate.domain.events import StateChanged
from domogate.domain.ids import Id
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import LightState, PlugState, Reading, Report, Unit
from domogate.ports import StoredState
from domogate.stores import SqlStore, changes, recorder
from support.clocks import DAY, NOW, ManualClock
from support.stores import HOUSE, LAMP, LAMP_IS_ON, PLUG, ChangeRecorder, an_id, record_changes


async def state_of(store: SqlStore, module_id: Id) -> StoredState | None:
    plant = await store.find_plant(HOUSE.id)
    assert plant is not None
    return plant.states.get(module_id)


def watt(value: float, at: float) -> tuple[str, Reading]:
    return "power", Reading(value, Unit.WATT, at)


class TestRecord:
    async def test_a_report_is_the_state_from_now_on(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        state = LightState(on=False)
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW + 1, state)])
        assert await state_of(filled_store, LAMP.id) == StoredState(state, True, NOW + 1)
        assert recorded.events == [StateChanged(plant_id=HOUSE.id, module_id=LAMP.id, state=state, reachable=True, at=NOW + 1)]

    async def test_going_offline_keeps_the_state_and_says_it(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, reachable=False)])
        assert await state_of(filled_store, LAMP.id) == StoredState(LAMP_IS_ON, False, NOW)
        gone = StateChanged(plant_id=HOUSE.id, module_id=LAMP.id, state=LAMP_IS_ON, reachable=False, at=NOW, turned=True)
        assert recorded.events == [gone]

    async def test_a_module_that_never_reported_goes_offline_without_a_state(self, filled_store: SqlStore) -> None:
        await filled_store.record([Report(HOUSE.id, PLUG.id, NOW, reachable=False)])
        assert await state_of(filled_store, PLUG.id) == StoredState(None, False, NOW)

    async def test_a_report_that_says_nothing_new_is_no_change(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW), Report(HOUSE.id, PLUG.id, NOW)])
        assert recorded.events == []
        assert await state_of(filled_store, LAMP.id) == StoredState(LAMP_IS_ON, True, 0.0)
        assert await state_of(filled_store, PLUG.id) is None

    async def test_reports_of_one_call_build_on_each_other(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        on = PlugState(on=True)
        await filled_store.record(
            [
                Report(HOUSE.id, PLUG.id, NOW, on),
                Report(HOUSE.id, PLUG.id, NOW + 1, reachable=False),
                Report(HOUSE.id, PLUG.id, NOW + 2, reachable=False),
                Report(HOUSE.id, PLUG.id, NOW + 3, reachable=True),
            ]
        )
        seen = [(event.state, event.reachable, event.at) for event in recorded.events if isinstance(event, StateChanged)]
        assert seen == [(on, True, NOW), (on, False, NOW + 1), (on, True, NOW + 3)]
        assert await state_of(filled_store, PLUG.id) == StoredState(on, True, NOW + 3)

    async def test_unknown_modules_are_passed_over(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        unknown = Report(HOUSE.id, an_id(404), NOW, LightState(on=True), readings=(watt(1, NOW),))
        await filled_store.record([unknown, Report(HOUSE.id, LAMP.id, NOW, LightState(on=False)), unknown])
        assert [event.module_id for event in recorded.events if isinstance(event, StateChanged)] == [LAMP.id]
        assert await filled_store.list_readings(an_id(404), 0, NOW * 2, 10) == []

    async def test_a_change_names_the_plant_where_the_module_stands(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        await filled_store.record([Report(an_id(404), LAMP.id, NOW, LightState(on=False))])
        assert [event.plant_id for event in recorded.events if isinstance(event, StateChanged)] == [HOUSE.id]

    async def test_no_reports_cost_no_commit(self, filled_store: SqlStore) -> None:
        before = filled_store.commits
        await filled_store.record([])
        assert filled_store.commits == before

    async def test_more_modules_than_are_remembered_are_all_recorded(
        self, filled_store: SqlStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(recorder, "KNOWN_LIMIT", 1)
        for on in (True, False):
            await filled_store.record(
                [Report(HOUSE.id, LAMP.id, NOW, LightState(on=on)), Report(HOUSE.id, PLUG.id, NOW, PlugState(on=on))]
            )
        assert await state_of(filled_store, LAMP.id) == StoredState(LightState(on=False), True, NOW)
        assert await state_of(filled_store, PLUG.id) == StoredState(PlugState(on=False), True, NOW)


class TestAbsence:
    GONE = Absence(AbsenceReason.SILENT, NOW - 60, "zigbee2mqtt/lamp")

    async def test_why_a_module_is_away_is_kept_and_told(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, reachable=False, absence=self.GONE)])
        assert await state_of(filled_store, LAMP.id) == StoredState(LAMP_IS_ON, False, NOW, self.GONE)
        assert [event.absence for event in recorded.events if isinstance(event, StateChanged)] == [self.GONE]

    async def test_another_reason_is_news_and_the_same_or_none_is_not(self, filled_store: SqlStore) -> None:
        recorded = ChangeRecorder()
        lost = Absence(AbsenceReason.CONNECTION_LOST, NOW, "broker gone")
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, reachable=False, absence=self.GONE)])
        filled_store.listen(recorded)
        for absence in (self.GONE, None, lost, lost):
            await filled_store.record([Report(HOUSE.id, LAMP.id, NOW + 1, reachable=False, absence=absence)])
        assert [event.absence for event in recorded.events if isinstance(event, StateChanged)] == [lost]
        assert await state_of(filled_store, LAMP.id) == StoredState(LAMP_IS_ON, False, NOW + 1, lost)

    async def test_a_module_that_was_never_heard_of_is_away_without_a_state(self, filled_store: SqlStore) -> None:
        never = Absence(AbsenceReason.NEVER_SEEN, NOW)
        await filled_store.record([Report(HOUSE.id, PLUG.id, NOW, reachable=False, absence=never)])
        assert await state_of(filled_store, PLUG.id) == StoredState(None, False, NOW, never)

    async def test_it_ends_when_the_module_is_back(self, filled_store: SqlStore) -> None:
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, reachable=False, absence=self.GONE)])
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW + 1, absence=self.GONE)])
        assert await state_of(filled_store, LAMP.id) == StoredState(LAMP_IS_ON, True, NOW + 1)

    async def test_one_since_no_time_at_all_is_refused(self, filled_store: SqlStore) -> None:
        with pytest.raises(ValueError, match="not finite"):
            await filled_store.record(
                [Report(HOUSE.id, LAMP.id, NOW, reachable=False, absence=Absence(AbsenceReason.SILENT, float("nan")))]
            )


class TestPrune:
    async def test_old_changes_go_and_new_ones_stay(self, filled_store: SqlStore, clock: ManualClock) -> None:
        clock.at = NOW + 100
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW + 100, LightState(on=False))])
        newest = await filled_store.newest_cursor()
        await filled_store.prune_changes(NOW + 50)
        assert [change.cursor for change in await filled_store.list_changes(0, 100)] == [newest]

    async def test_the_newest_change_always_stays_so_that_cursors_go_on(self, filled_store: SqlStore) -> None:
        newest = await filled_store.newest_cursor()
        await filled_store.prune_changes(NOW * 2)
        assert [change.cursor for change in await filled_store.list_changes(0, 100)] == [newest]
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=False))])
        assert await filled_store.newest_cursor() > newest

    async def test_changes_of_a_time_when_the_clock_was_far_ahead_do_not_keep_later_ones(
        self, filled_store: SqlStore, clock: ManualClock
    ) -> None:
        clock.at = NOW + 400 * DAY
        count = changes.PRUNE_CHUNK + 7
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=True, level=n % 100)) for n in range(count)])
        for day in (1, 2, 11, 12):
            clock.at = NOW + day * DAY
            await filled_store.record([Report(HOUSE.id, LAMP.id, clock.at, LightState(on=False))])
        await filled_store.prune_changes(clock.at - 7 * DAY)
        assert [change.at for change in await filled_store.list_changes(0, 10_000)] == [NOW + 11 * DAY, NOW + 12 * DAY]

    async def test_changes_from_before_the_clock_was_set_back_stay(self, filled_store: SqlStore, clock: ManualClock) -> None:
        clock.at = NOW + 6 * DAY
        await filled_store.record([Report(HOUSE.id, LAMP.id, clock.at, LightState(on=False))])
        clock.at = NOW
        await filled_store.record([Report(HOUSE.id, LAMP.id, clock.at, LightState(on=True))])
        kept = len(await filled_store.list_changes(0, 100))
        await filled_store.prune_changes(clock.at - 1)
        assert len(await filled_store.list_changes(0, 100)) == kept

    async def test_it_goes_on_until_all_is_gone_in_bounded_pieces(self, filled_store: SqlStore) -> None:
        count = changes.PRUNE_CHUNK * 2 + 7
        await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=True, level=n % 100)) for n in range(count)])
        before = filled_store.commits
        await filled_store.prune_changes(NOW + 1)
        assert len(await filled_store.list_changes(0, 10_000)) == 1
        assert filled_store.commits - before >= 3

    async def test_an_empty_store_has_nothing_to_prune(self, store: SqlStore) -> None:
        await store.prune_changes(NOW)
        await store.prune_orders(NOW)
        await store.prune_readings(NOW, 0)
        assert await store.newest_cursor() == 0
