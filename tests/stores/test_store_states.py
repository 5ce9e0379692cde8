"""Reports become last states, changes and readings."""

from domogate.domain.events import StateChanged
from domogate.domain.states import LightState, PlugState, Reading, Report, Unit
from domogate.ports import StoredState
from domogate.stores import SqlStore, states
from support.stores import HOUSE, LAMP, LAMP_IS_ON, NOW, PLUG, Ear, HandClock, an_id


async def state_of(store: SqlStore, module_id: str) -> StoredState | None:
    plant = await store.find_plant(HOUSE.id)
    assert plant is not None
    return plant.states.get(module_id)  # type: ignore[call-overload,no-any-return]


def watt(value: float, at: float) -> tuple[str, Reading]:
    return "power", Reading(value, Unit.WATT, at)


class TestRecord:
    async def test_a_report_is_the_state_from_now_on(self, house: SqlStore) -> None:
        ear = Ear()
        house.listen(ear)
        state = LightState(on=False)
        await house.record([Report(HOUSE.id, LAMP.id, NOW + 1, state)])
        assert await state_of(house, LAMP.id) == StoredState(state, True, NOW + 1)
        assert ear.events == [StateChanged(plant_id=HOUSE.id, module_id=LAMP.id, state=state, reachable=True, at=NOW + 1)]

    async def test_going_offline_keeps_the_state_and_says_it(self, house: SqlStore) -> None:
        ear = Ear()
        house.listen(ear)
        await house.record([Report(HOUSE.id, LAMP.id, NOW, reachable=False)])
        assert await state_of(house, LAMP.id) == StoredState(LAMP_IS_ON, False, NOW)
        assert ear.events == [StateChanged(plant_id=HOUSE.id, module_id=LAMP.id, state=LAMP_IS_ON, reachable=False, at=NOW)]

    async def test_a_module_that_never_reported_goes_offline_without_a_state(self, house: SqlStore) -> None:
        await house.record([Report(HOUSE.id, PLUG.id, NOW, reachable=False)])
        assert await state_of(house, PLUG.id) == StoredState(None, False, NOW)

    async def test_a_report_that_says_nothing_new_is_no_change(self, house: SqlStore) -> None:
        ear = Ear()
        house.listen(ear)
        await house.record([Report(HOUSE.id, LAMP.id, NOW), Report(HOUSE.id, PLUG.id, NOW)])
        assert ear.events == []
        assert await state_of(house, LAMP.id) == StoredState(LAMP_IS_ON, True, 0.0)
        assert await state_of(house, PLUG.id) is None

    async def test_reports_of_one_call_build_on_each_other(self, house: SqlStore) -> None:
        ear = Ear()
        house.listen(ear)
        on = PlugState(on=True)
        await house.record(
            [
                Report(HOUSE.id, PLUG.id, NOW, on),
                Report(HOUSE.id, PLUG.id, NOW + 1, reachable=False),
                Report(HOUSE.id, PLUG.id, NOW + 2, reachable=False),
                Report(HOUSE.id, PLUG.id, NOW + 3, reachable=True),
            ]
        )
        seen = [(event.state, event.reachable, event.at) for event in ear.events if isinstance(event, StateChanged)]
        assert seen == [(on, True, NOW), (on, False, NOW + 1), (on, True, NOW + 3)]
        assert await state_of(house, PLUG.id) == StoredState(on, True, NOW + 3)

    async def test_unknown_modules_are_passed_over(self, house: SqlStore) -> None:
        ear = Ear()
        house.listen(ear)
        unknown = Report(HOUSE.id, an_id(404), NOW, LightState(on=True), readings=(watt(1, NOW),))
        await house.record([unknown, Report(HOUSE.id, LAMP.id, NOW, LightState(on=False)), unknown])
        assert [event.module_id for event in ear.events if isinstance(event, StateChanged)] == [LAMP.id]
        assert await house.list_readings(an_id(404), 0, NOW * 2, 10) == []

    async def test_a_change_names_the_plant_where_the_module_stands(self, house: SqlStore) -> None:
        ear = Ear()
        house.listen(ear)
        await house.record([Report(an_id(404), LAMP.id, NOW, LightState(on=False))])
        assert [event.plant_id for event in ear.events if isinstance(event, StateChanged)] == [HOUSE.id]

    async def test_no_reports_cost_no_commit(self, house: SqlStore) -> None:
        before = house.commits
        await house.record([])
        assert house.commits == before

    async def test_more_modules_than_are_remembered_are_all_recorded(self, house: SqlStore) -> None:
        states_module = states
        limit, states_module.KNOWN_LIMIT = states_module.KNOWN_LIMIT, 1
        try:
            for on in (True, False):
                await house.record(
                    [Report(HOUSE.id, LAMP.id, NOW, LightState(on=on)), Report(HOUSE.id, PLUG.id, NOW, PlugState(on=on))]
                )
        finally:
            states_module.KNOWN_LIMIT = limit
        assert await state_of(house, LAMP.id) == StoredState(LightState(on=False), True, NOW)
        assert await state_of(house, PLUG.id) == StoredState(PlugState(on=False), True, NOW)


class TestReadings:
    async def test_they_are_kept_oldest_first_within_the_bounds(self, house: SqlStore) -> None:
        for second in (3, 1, 2, 4):
            await house.record([Report(HOUSE.id, PLUG.id, NOW, readings=(watt(second, NOW + second),))])
        found = await house.list_readings(PLUG.id, NOW + 1, NOW + 3, 10)
        assert found == [watt(second, NOW + second) for second in (1, 2, 3)]

    async def test_a_limit_keeps_the_newest(self, house: SqlStore) -> None:
        await house.record([Report(HOUSE.id, PLUG.id, NOW, readings=tuple(watt(n, NOW + n) for n in range(5)))])
        assert await house.list_readings(PLUG.id, 0, NOW * 2, 2) == [watt(3, NOW + 3), watt(4, NOW + 4)]

    async def test_the_same_reading_twice_is_one(self, house: SqlStore) -> None:
        report = Report(HOUSE.id, PLUG.id, NOW, readings=(watt(1, NOW), ("energy", Reading(2, Unit.WATT_HOUR, NOW))))
        await house.record([report, report])
        await house.record([report])
        assert len(await house.list_readings(PLUG.id, 0, NOW * 2, 10)) == 2


class TestPrune:
    async def test_old_changes_and_readings_go_and_new_ones_stay(self, house: SqlStore, clock: HandClock) -> None:
        await house.record([Report(HOUSE.id, PLUG.id, NOW, readings=(watt(1, NOW), watt(2, NOW + 100)))])
        clock.at = NOW + 100
        await house.record([Report(HOUSE.id, LAMP.id, NOW + 100, LightState(on=False))])
        newest = await house.newest_cursor()
        await house.prune(changes_before=NOW + 50, readings_before=NOW + 50)
        assert [change.cursor for change in await house.list_changes(0, 100)] == [newest]
        assert await house.list_readings(PLUG.id, 0, NOW * 2, 10) == [watt(2, NOW + 100)]

    async def test_the_newest_change_always_stays_so_that_cursors_go_on(self, house: SqlStore) -> None:
        newest = await house.newest_cursor()
        await house.prune(changes_before=NOW * 2, readings_before=NOW * 2)
        assert [change.cursor for change in await house.list_changes(0, 100)] == [newest]
        await house.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=False))])
        assert await house.newest_cursor() == newest + 1

    async def test_it_goes_on_until_all_is_gone_in_bounded_pieces(self, house: SqlStore) -> None:
        count = states.PRUNE_CHUNK * 2 + 7
        reports = [
            Report(HOUSE.id, LAMP.id, NOW, LightState(on=True, level=n % 100), readings=(watt(n, n),)) for n in range(count)
        ]
        await house.record(reports)
        before = house.commits
        await house.prune(changes_before=NOW + 1, readings_before=count - 1)
        assert len(await house.list_changes(0, 10_000)) == 1
        assert await house.list_readings(LAMP.id, 0, NOW, 10) == [watt(count - 1, count - 1)]
        assert house.commits - before >= 6

    async def test_an_empty_store_has_nothing_to_prune(self, store: SqlStore) -> None:
        await store.prune(NOW, NOW)
        assert await store.newest_cursor() == 0
