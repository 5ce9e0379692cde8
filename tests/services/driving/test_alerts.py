import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.plants import ControllerDetail, Member, Module, Plant, PlantType, Topology, UnitDetail
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.safety import Failure, FailureType
from domogate.domain.states import EmergencyState, Report, State
from domogate.ports import StoredPlant, StoredState
from domogate.services.driving.alerts import Alerts
from domogate.services.plants.read_model import PlantView
from domogate.services.safety.status import list_controllers
from support.clocks import NOON
from support.device_store import FakeStore
from support.devices import FakeDriver
from support.driving_setup import running_driving
from support.injection_setup import CONTROLLER as SITE_CONTROLLER
from support.injection_setup import UNIT

PLANT, CONTROLLER = Id("plant"), Id("controller")
UNITS = [Id(f"unit {number}") for number in range(4)]
WELL = EmergencyState(failures=(Failure(FailureType.BLOCK_OK),))
BROKEN = EmergencyState(failures=(Failure(FailureType.BLOCK_FAULTY_BATTERY),))


def _site(level: int, states: dict[Id, StoredState] | None = None) -> StoredPlant:
    controller = Module(
        CONTROLLER, Id("i"), "Controller", DeviceKind.EMERGENCY_CONTROLLER, detail=ControllerDetail(alert_level=level)
    )
    units = [
        Module(unit, Id("i"), unit, DeviceKind.EMERGENCY_UNIT, detail=UnitDetail("062520"), controller_id=CONTROLLER)
        for unit in UNITS
    ]
    plant = Plant(PLANT, Id("i"), "Site", PlantType.HOSPITAL, Member(Id("anna"), "anna@example.com"), emergency_lighting=True)
    return StoredPlant(plant, Topology(modules=(controller, *units)), states or {}, cursor=0)


def _report(unit: Id, state: State | None, at: float, *, reachable: bool = True) -> Report:
    return Report(PLANT, unit, at, state, reachable)


def _state(report: Report) -> EmergencyState:
    assert isinstance(report.state, EmergencyState)
    return report.state


class TestAlerts:
    def test_a_site_that_was_never_looked_at_is_dated_now(self) -> None:
        (report,) = Alerts().start_from(_site(1), now=5.0)
        assert (report.module_id, _state(report).alert, _state(report).alert_changed_at) == (CONTROLLER, False, 5.0)

    def test_what_the_store_knows_keeps_its_date(self) -> None:
        known = StoredState(EmergencyState(alert=False, alert_changed_at=1.0), reachable=True, at=1.0)
        assert Alerts().start_from(_site(1, {CONTROLLER: known}), now=5.0) == []

    def test_the_alert_begins_with_the_unit_that_reaches_its_level_and_ends_when_it_falls_below(self) -> None:
        alerts = Alerts()
        alerts.start_from(_site(2), now=0.0)
        assert len(alerts.complete([_report(UNITS[0], BROKEN, 1.0)])) == 1
        assert len(alerts.complete([_report(UNITS[0], BROKEN, 2.0)])) == 1
        _, begun = alerts.complete([_report(UNITS[1], BROKEN, 3.0)])
        assert (_state(begun).alert, _state(begun).alert_changed_at) == (True, 3.0)
        # Another unit breaks and the first is repaired: the alert goes on, so the date stays.
        assert len(alerts.complete([_report(UNITS[2], BROKEN, 4.0), _report(UNITS[0], WELL, 5.0)])) == 2
        _, ended = alerts.complete([_report(UNITS[1], WELL, 6.0)])
        assert (_state(ended).alert, _state(ended).alert_changed_at) == (False, 6.0)

    def test_a_unit_that_cannot_be_reached_is_in_failure(self) -> None:
        alerts = Alerts()
        alerts.start_from(_site(1), now=0.0)
        _, begun = alerts.complete([_report(UNITS[0], None, 1.0, reachable=False)])
        assert _state(begun).alert is True

    def test_a_controller_that_cannot_be_reached_keeps_the_reason_when_its_alert_changes(self) -> None:
        alerts, lost = Alerts(), Absence(AbsenceReason.CONNECTION_LOST, 1.0, "broker.example:1883")
        alerts.start_from(_site(1), now=0.0)
        absent = [Report(PLANT, module, 1.0, reachable=False, absence=lost) for module in (CONTROLLER, UNITS[0])]
        *_, begun = alerts.complete(absent)
        assert (begun.module_id, _state(begun).alert, begun.reachable, begun.absence) == (CONTROLLER, True, False, lost)
        _, ended = alerts.complete([_report(UNITS[0], WELL, 2.0)])
        assert (ended.reachable, ended.absence) == (False, lost)
        alerts.complete([_report(CONTROLLER, None, 3.0)])
        _, again = alerts.complete([_report(UNITS[0], BROKEN, 4.0)])
        assert (again.reachable, again.absence) == (True, None)

    def test_it_also_keeps_the_stored_reason(self) -> None:
        lost = Absence(AbsenceReason.SILENT, 1.0)
        known = StoredState(EmergencyState(alert=False), reachable=False, at=1.0, absence=lost)
        broken = StoredState(BROKEN, reachable=True, at=1.0)
        (report,) = Alerts().start_from(_site(1, {CONTROLLER: known, UNITS[0]: broken}), now=5.0)
        assert (report.reachable, report.absence) == (False, lost)

    def test_what_the_controller_says_of_itself_does_not_wipe_its_alert_out(self) -> None:
        alerts = Alerts()
        alerts.start_from(_site(1), now=0.0)
        alerts.complete([_report(UNITS[0], BROKEN, 1.0)])
        said = EmergencyState(failures=(Failure(FailureType.REMOTE_QUARTZ_FAULT),))
        (completed,) = alerts.complete([_report(CONTROLLER, said, 2.0)])
        state = _state(completed)
        assert (state.failures, state.alert, state.alert_changed_at) == (said.failures, True, 1.0)

    def test_reports_of_anything_else_pass_as_they_are(self) -> None:
        reports = [_report(Id("lamp"), None, 1.0)]
        assert Alerts().complete(reports) is reports

    @pytest.mark.parametrize(("state", "alert"), [(WELL, False), (BROKEN, True)])
    def test_a_unit_that_can_be_reached_again_is_as_it_was_before(self, state: EmergencyState, alert: bool) -> None:
        """It does not have to report its state again."""
        alerts = Alerts()
        alerts.start_from(_site(1, {UNITS[0]: StoredState(state, reachable=True, at=0.0)}), now=0.0)
        alerts.complete([_report(UNITS[0], None, 1.0, reachable=False)])
        completed = alerts.complete([_report(UNITS[0], None, 2.0)])
        assert [_state(report).alert for report in completed[1:]] == ([] if alert else [False])

    @given(
        st.integers(1, 5),
        st.lists(st.tuples(st.sampled_from(UNITS), st.sampled_from([WELL, BROKEN, None]), st.booleans()), max_size=30),
    )
    def test_always_agrees_with_what_is_printed(self, level: int, said: list[tuple[Id, EmergencyState | None, bool]]) -> None:
        alerts, stored = Alerts(), _site(level)
        view = PlantView(stored)
        alert = _state(alerts.start_from(stored, now=0.0)[0]).alert
        for at, (unit, state, reachable) in enumerate(said, start=1):
            for report in alerts.complete([_report(unit, state, float(at), reachable=reachable)]):
                if report.state is not None:
                    view.modules[Id(report.module_id)].state = report.state
                view.modules[Id(report.module_id)].reachable = report.reachable
                if report.module_id == CONTROLLER:
                    alert = _state(report).alert
            (controller,) = list_controllers(view)
            assert controller.alert is alert


@pytest.mark.usefixtures("virtual_time")
class TestWhileAPlantIsReadAgain:
    async def test_a_report_counts_although_the_plant_was_read_before_it(
        self, store: FakeStore, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        states = {
            UNIT.id: StoredState(WELL, True, NOON),
            SITE_CONTROLLER.id: StoredState(EmergencyState(alert=False), True, NOON),
        }
        plant = store.add_plant(SITE_CONTROLLER, UNIT, states=states)
        find_plant, was_read, may_return = store.find_plant, asyncio.Event(), asyncio.Event()

        async def read_slowly(plant_id: Id) -> StoredPlant | None:
            stored = await find_plant(plant_id)
            was_read.set()
            await may_return.wait()
            return stored

        def alert() -> bool | None:
            state = store.state_of(plant, SITE_CONTROLLER.id).state
            assert isinstance(state, EmergencyState)
            return state.alert

        async with running_driving(store, driver) as driving:
            await driving.settled()
            monkeypatch.setattr(store, "find_plant", read_slowly)
            store.change_plant(plant, SITE_CONTROLLER, UNIT)
            await was_read.wait()
            faulty = EmergencyState(failures=(Failure(FailureType.REMOTE_QUARTZ_FAULT),))
            await driver.report([Report(plant, SITE_CONTROLLER.id, NOON, faulty), Report(plant, UNIT.id, NOON, BROKEN)])
            may_return.set()
            await driving.settled()
            assert alert() is True
            await driver.report([Report(plant, UNIT.id, NOON + 60, WELL)])
            assert alert() is False
            state = store.state_of(plant, SITE_CONTROLLER.id).state
            assert isinstance(state, EmergencyState)
            assert state.failures == faulty.failures
