"""The operation that shows the emergency lighting of a home that is a site."""

from datetime import datetime

from domogate.domain.faults import NotASite
from domogate.domain.safety import FailureType
from domogate.homes.services import HomeCall, HomeServices
from domogate.http_api.operations import OperationTable
from domogate.services.homes.homes import Home
from domogate.services.safety.status import ControllerReport, SafetyStatus, UnitReport, list_controllers
from domogate.wire import OutputModel

OPERATIONS = OperationTable("safety")


class _EmergencyDevice(OutputModel, frozen=True):
    id: str
    name: str
    status: str
    failures: tuple[FailureType, ...]
    heard_at: datetime | None


class EmergencyUnitOut(_EmergencyDevice, frozen=True):
    """An emergency lamp. `status` is `working`, `in failure` or `no communication`."""


class EmergencyControllerOut(_EmergencyDevice, frozen=True):
    alert: bool
    alert_changed_at: datetime | None
    units: list[EmergencyUnitOut]


class HomeSafetyOut(OutputModel, frozen=True):
    """The emergency lighting of a home.

    `working` is true if all controllers and units that the person can see work, and none of these controllers is in alert. A
    controller is in alert if the number of its units that do not work has reached its alert level. The units that the person
    cannot see count for this number, too. `inAlert` is the number of controllers in alert that the person can see.

    `working` says nothing about tests.
    """

    working: bool
    in_alert: int
    controllers: list[EmergencyControllerOut]


def _word(status: SafetyStatus) -> str:
    return status.name.lower().replace("_", " ")


def _failures(report: ControllerReport | UnitReport) -> tuple[FailureType, ...]:
    return tuple(failure.type for failure in report.failures)


def _unit_out(home: Home, unit: UnitReport) -> EmergencyUnitOut:
    name = home.find_module(unit.id).module.name
    return EmergencyUnitOut.of(unit, name=name, status=_word(unit.status), failures=_failures(unit))


def _controller_out(home: Home, report: ControllerReport) -> EmergencyControllerOut:
    units = [_unit_out(home, unit) for unit in report.units]
    return EmergencyControllerOut.of(report, status=_word(report.status), failures=_failures(report), units=units)


@OPERATIONS.add("GET /homes/{homeId}/safety", "The emergency lighting of a home that is a site: status and failures")
async def get_safety(services: HomeServices, call: HomeCall) -> HomeSafetyOut:
    home = await services.open_home(call)
    if not home.plant.emergency_lighting:
        raise NotASite("the home has no emergency lighting")
    controllers = list_controllers(home.view)
    in_alert = sum(controller.alert for controller in controllers)
    statuses = {status for one in controllers for status in (one.status, *(unit.status for unit in one.units))}
    works = statuses <= {SafetyStatus.WORKING}
    return HomeSafetyOut(works and not in_alert, in_alert, [_controller_out(home, controller) for controller in controllers])
