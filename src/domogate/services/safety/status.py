"""Status and failures of the controllers and units of a site, and whether a controller is in alert (E17-E19)."""

from enum import IntEnum

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.plants import ControllerDetail, Module, UnitDetail
from domogate.domain.safety import Failure, FailureType, in_failure
from domogate.domain.states import EmergencyState
from domogate.services.plants.read_model import ModuleView, PlantView


class SafetyStatus(IntEnum):
    """The status of a device as a number. The specification does not give the numbers, so Decision 0022 defines them."""

    WORKING = 0
    IN_FAILURE = 1
    NO_COMMUNICATION = 2


class UnitReport(msgspec.Struct, frozen=True):
    id: Id
    reference: str
    status: SafetyStatus
    failures: tuple[Failure, ...]
    heard_at: float | None


class ControllerReport(msgspec.Struct, frozen=True):
    id: Id
    name: str
    reference: str
    serial_number: str
    status: SafetyStatus
    failures: tuple[Failure, ...]
    heard_at: float | None
    alert: bool
    alert_changed_at: float | None
    alert_level: int
    units: tuple[UnitReport, ...]


# An unreachable device has this failure in addition to the failures that it reported last.
_UNREACHABLE = {
    DeviceKind.EMERGENCY_CONTROLLER: Failure(FailureType.REMOTE_OUT_SUPERVISION),
    DeviceKind.EMERGENCY_UNIT: Failure(FailureType.BLOCK_FAULTY_COMMUNICATION),
}


def list_controllers(plant: PlantView) -> list[ControllerReport]:
    """Return the controllers of the site with their units, in their last known states.

    A guest sees only the units within the guest's limits. But a guest and the owner see the same alert of a controller, and
    the same time at which the alert changed (Decision 0022).
    """
    units: dict[Id, list[UnitReport]] = {}
    for view in plant.modules.values():
        if view.module.kind is DeviceKind.EMERGENCY_UNIT and view.module.controller_id is not None:
            units.setdefault(view.module.controller_id, []).append(_report_unit(view))
    return [
        _report_controller(view, tuple(units.get(view.module.id, ())))
        for view in plant.modules.values()
        if view.module.kind is DeviceKind.EMERGENCY_CONTROLLER
    ]


def is_in_alert(controller: Module, failing_units: int) -> bool:
    """Whether the number of units with failures, unreachable units included, is at least the controller's alert level."""
    return failing_units >= _controller_detail(controller).alert_level


def _report_unit(view: ModuleView) -> UnitReport:
    status, failures = _find_status(view)
    detail = view.module.detail
    return UnitReport(
        id=view.module.id,
        reference=detail.reference if isinstance(detail, UnitDetail) else "",
        status=status,
        failures=failures,
        heard_at=view.confirmed_at or None,
    )


def _report_controller(view: ModuleView, units: tuple[UnitReport, ...]) -> ControllerReport:
    status, failures = _find_status(view)
    detail = _controller_detail(view.module)
    state = view.state if isinstance(view.state, EmergencyState) else EmergencyState()
    # The alert in the state counts all units of the controller. `units` are only the units that the caller may see. The state
    # has no alert if the plant was imported and has not been driven yet.
    alert = state.alert
    if alert is None:
        alert = is_in_alert(view.module, sum(in_failure(unit.failures) for unit in units))
    return ControllerReport(
        id=view.module.id,
        name=view.module.name,
        reference=detail.reference,
        serial_number=detail.serial_number,
        status=status,
        failures=failures,
        heard_at=view.confirmed_at or None,
        alert=alert,
        alert_changed_at=state.alert_changed_at,
        alert_level=detail.alert_level,
        units=units,
    )


def _find_status(view: ModuleView) -> tuple[SafetyStatus, tuple[Failure, ...]]:
    failures = view.state.failures if isinstance(view.state, EmergencyState) else ()
    if not view.reachable:
        silent = _UNREACHABLE[view.module.kind]
        kept = tuple(failure for failure in failures if failure.type not in _OK_TYPES and failure.type is not silent.type)
        return SafetyStatus.NO_COMMUNICATION, (silent, *kept)
    return (SafetyStatus.IN_FAILURE if in_failure(failures) else SafetyStatus.WORKING), failures


_OK_TYPES = frozenset({FailureType.BLOCK_OK, FailureType.REMOTE_OK})


def _controller_detail(module: Module) -> ControllerDetail:
    return module.detail if isinstance(module.detail, ControllerDetail) else ControllerDetail()
