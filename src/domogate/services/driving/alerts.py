"""Computes whether a controller is in alert, and since when, from the reports of its units (Spec 2.15)."""

from collections.abc import Collection, Sequence

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.safety import in_failure
from domogate.domain.states import EmergencyState, Report
from domogate.ports import StoredPlant, StoredState
from domogate.services.safety.status import is_in_alert


class _Controller:
    """A driven controller, its last state, and its units in failure.

    A unit that cannot be reached also counts as a unit in failure. For such a unit, the operation E18 (all modules of a site)
    shows a communication failure.
    """

    __slots__ = ("absence", "absent", "broken", "module", "reachable", "state")

    def __init__(self, module: Module, stored: StoredState | None) -> None:
        self.module = module
        self.state = stored.state if stored and isinstance(stored.state, EmergencyState) else EmergencyState()
        self.reachable = stored is None or stored.reachable
        self.absence = None if stored is None else stored.absence
        """The absence of the controller itself (not of a unit), or None."""
        self.broken: set[str] = set()
        """The units with a failure in their last reported state."""
        self.absent: set[str] = set()

    def note_unit(self, unit_id: str, state: object, reachable: bool) -> None:
        """Update a unit of this controller. If `state` is None, the failures of the unit did not change."""
        (self.absent.discard if reachable else self.absent.add)(unit_id)
        if state is not None:
            breaks = isinstance(state, EmergencyState) and in_failure(state.failures)
            (self.broken.add if breaks else self.broken.discard)(unit_id)

    def take_unit(self, unit_id: str, earlier: "_Controller") -> None:
        """Take over what `earlier` knows about the unit. `earlier` was the controller of the unit before this call."""
        if unit_id in earlier.absent:
            self.absent.add(unit_id)
        if unit_id in earlier.broken:
            self.broken.add(unit_id)

    def take_state(self, earlier: "_Controller") -> None:
        self.state, self.reachable, self.absence = earlier.state, earlier.reachable, earlier.absence

    def update_alert(self, at: float) -> bool:
        """Compute the alert of the controller again. Return whether it has changed. `at` is the time of the change."""
        alert = is_in_alert(self.module, len(self.broken | self.absent))
        if alert is self.state.alert:
            return False
        self.state = msgspec.structs.replace(self.state, alert=alert, alert_changed_at=at)
        return True

    def complete(self, report: Report) -> Report:
        """Return the report of the controller, with the computed alert in its state."""
        self.reachable, self.absence = report.reachable, report.absence
        if not isinstance(report.state, EmergencyState):
            return report
        self.state = msgspec.structs.replace(report.state, alert=self.state.alert, alert_changed_at=self.state.alert_changed_at)
        return msgspec.structs.replace(report, state=self.state)

    def report(self, plant_id: str, at: float) -> Report:
        return Report(plant_id, self.module.id, at, self.state, self.reachable, absence=self.absence)


class Alerts:
    """Computes which controllers of one plant are in alert, and writes the result into the reports of the controllers."""

    def __init__(self) -> None:
        self._controllers: dict[str, _Controller] = {}
        self._by_unit: dict[str, _Controller] = {}

    def start_from(self, stored: StoredPlant, now: float, forgotten: Collection[Id] = ()) -> list[Report]:
        """Take over the stored states. Return a report with the right alert for each controller whose stored alert is wrong.

        For a module that was known before this call, the state in memory is used instead of the stored state. The reason:
        perhaps the plant was read from the store before the last report of the module was written. In two cases, the stored
        state is used: the module is in `forgotten` (an injected fault of the module has ended), or the time `at` of its stored
        state is 0, for example because the state comes from the estate file.
        """
        controllers, by_unit = self._controllers, self._by_unit
        replaced = {*forgotten, *(module_id for module_id, state in stored.states.items() if not state.at)}
        modules = list(stored.topology.every_module())
        self._controllers = {
            module.id: _Controller(module, stored.states.get(module.id))
            for module in modules
            if module.kind is DeviceKind.EMERGENCY_CONTROLLER
        }
        self._by_unit = {
            module.id: self._controllers[module.controller_id]
            for module in modules
            if module.controller_id in self._controllers
        }
        wrong = []
        for unit_id, controller in self._by_unit.items():
            unit = stored.states.get(Id(unit_id))
            if unit_id in by_unit and unit_id not in replaced:
                controller.take_unit(unit_id, by_unit[unit_id])
            elif unit is not None:
                controller.note_unit(unit_id, unit.state, unit.reachable)
        for controller_id, controller in self._controllers.items():
            stored_alert = controller.state.alert
            if controller_id in controllers and controller_id not in replaced:
                controller.take_state(controllers[controller_id])
            if controller.update_alert(now) or controller.state.alert is not stored_alert:
                wrong.append(controller)
        return [controller.report(stored.plant.id, now) for controller in wrong]

    def complete(self, reports: Sequence[Report]) -> Sequence[Report]:
        """Return the reports. In the reports of controllers, the state has the computed alert.

        If a report of a unit changes the alert of its controller, a report of the controller is added.
        """
        if not self._controllers:
            return reports
        completed = []
        for report in reports:
            controller = self._controllers.get(report.module_id)
            completed.append(report if controller is None else controller.complete(report))
            of_unit = self._by_unit.get(report.module_id)
            if of_unit is not None:
                of_unit.note_unit(report.module_id, report.state, report.reachable)
                if of_unit.update_alert(report.at):
                    completed.append(of_unit.report(report.plant_id, report.at))
        return completed
