"""Since when a controller is in alert, or is not: derived from what its units report, and kept with its state (Spec 2.15)."""

from collections.abc import Sequence

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.safety import in_failure
from domogate.domain.states import EmergencyState, Report
from domogate.ports import StoredPlant, StoredState
from domogate.services.safety.status import is_in_alert


class _Controller:
    """A controller that is driven: its last state, and which of its units are in failure.

    A unit that cannot be reached is, too: it is shown with a failure of communication.
    """

    __slots__ = ("broken", "module", "reachable", "silent", "state")

    def __init__(self, module: Module, stored: StoredState | None) -> None:
        self.module = module
        self.state = stored.state if stored and isinstance(stored.state, EmergencyState) else EmergencyState()
        self.reachable = stored is None or stored.reachable
        self.broken: set[str] = set()
        """Units that said they are in failure, last time they said what they are in."""
        self.silent: set[str] = set()

    def hear(self, unit_id: str, state: object, reachable: bool) -> None:
        """`state` None: as it was."""
        (self.silent.discard if reachable else self.silent.add)(unit_id)
        if state is not None:
            breaks = isinstance(state, EmergencyState) and in_failure(state.failures)
            (self.broken.add if breaks else self.broken.discard)(unit_id)

    def settle(self, at: float) -> bool:
        """Whether the alert changed; what is said of it is then dated `at`."""
        alert = is_in_alert(self.module, len(self.broken | self.silent))
        if alert is self.state.alert:
            return False
        self.state = msgspec.structs.replace(self.state, alert=alert, alert_changed_at=at)
        return True


class Alerts:
    """Completes what drivers report: a controller's state says whether it is in alert, and since when."""

    def __init__(self) -> None:
        self._controllers: dict[str, _Controller] = {}
        self._of_unit: dict[str, _Controller] = {}
        self._of_plant: dict[Id, list[str]] = {}

    def know(self, stored: StoredPlant, now: float) -> list[Report]:
        """Begin from what the store holds of a plant; the reports are what it did not hold yet."""
        plant_id = stored.plant.id
        self.forget(plant_id)
        known = self._of_plant[plant_id] = []
        modules = list(stored.topology.every_module())
        for module in modules:
            if module.kind is DeviceKind.EMERGENCY_CONTROLLER:
                self._controllers[module.id] = _Controller(module, stored.states.get(module.id))
                known.append(module.id)
        for module in modules:
            controller = self._controllers.get(module.controller_id or "")
            if controller is not None:
                self._of_unit[module.id] = controller
                known.append(module.id)
                unit = stored.states.get(module.id)
                if unit is not None:
                    controller.hear(module.id, unit.state, unit.reachable)
        controllers = (self._controllers[module_id] for module_id in known if module_id in self._controllers)
        return [_report(plant_id, controller, now) for controller in controllers if controller.settle(now)]

    def forget(self, plant_id: Id) -> None:
        for module_id in self._of_plant.pop(plant_id, ()):
            self._controllers.pop(module_id, None)
            self._of_unit.pop(module_id, None)

    def complete(self, reports: Sequence[Report]) -> Sequence[Report]:
        """The same reports, those of controllers completed, and one more for each alert that they changed."""
        if not any(report.module_id in self._of_unit or report.module_id in self._controllers for report in reports):
            return reports
        completed = []
        for report in reports:
            controller = self._controllers.get(report.module_id)
            completed.append(report if controller is None else _completed(report, controller))
            of_unit = self._of_unit.get(report.module_id)
            if of_unit is not None:
                of_unit.hear(report.module_id, report.state, report.reachable)
                if of_unit.settle(report.at):
                    completed.append(_report(report.plant_id, of_unit, report.at))
        return completed


def _completed(report: Report, controller: _Controller) -> Report:
    controller.reachable = report.reachable
    if not isinstance(report.state, EmergencyState):
        return report
    controller.state = msgspec.structs.replace(
        report.state, alert=controller.state.alert, alert_changed_at=controller.state.alert_changed_at
    )
    return msgspec.structs.replace(report, state=controller.state)


def _report(plant_id: str, controller: _Controller, at: float) -> Report:
    return Report(plant_id, controller.module.id, at, controller.state, controller.reachable)
