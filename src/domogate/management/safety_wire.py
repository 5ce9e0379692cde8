"""Emergency lighting in JSON, as the management API and the command line show it."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from domogate.domain.logbook import LogbookKind
from domogate.domain.safety import EmergencyTestKind, FailureType, SparePartType
from domogate.ports import StoredEntry
from domogate.reports.labels import STATUSES
from domogate.services.safety import SafetyController, SafetySite, SafetyUnit, TestStanding
from domogate.services.safety.status import ControllerReport, UnitReport
from domogate.wire import InputModel, OutputModel
from domogate.wire.states import EmergencyTestOut, FailureOut


class PlannedTestOut(OutputModel, frozen=True):
    """The schedule of one kind of test of one unit. `last` is null if no test is recorded.

    If no test is recorded, `dueAt` is the time at which the unit was commissioned or began to charge. `dueAt` is null if this
    time is not known, or if the time of the last test is not known because the clock of the unit was wrong.
    """

    kind: EmergencyTestKind
    last: EmergencyTestOut | None
    due_at: datetime | None
    standing: TestStanding
    under_way: bool


class _Device(OutputModel, frozen=True):
    id: str
    name: str
    place: str
    reference: str


class SafetyUnitOut(_Device, frozen=True):
    status: str
    failures: tuple[FailureOut, ...]
    heard_at: datetime | None
    charge: int | None
    charging_since: datetime | None
    simulated: bool
    function_test: PlannedTestOut
    duration_test: PlannedTestOut


class SafetyControllerOut(_Device, frozen=True):
    serial_number: str
    status: str
    failures: tuple[FailureOut, ...]
    heard_at: datetime | None
    alert: bool
    alert_changed_at: datetime | None
    alert_level: int
    simulated: bool
    units: tuple[SafetyUnitOut, ...]


class StatusCountsOut(OutputModel, frozen=True):
    total: int
    working: int
    in_failure: int
    no_communication: int


class TestCountsOut(OutputModel, frozen=True):
    """Counts units by their last test (passed, failed, never recorded) and by the state of their next test."""

    passed: int
    failed: int
    never: int
    due_soon: int
    overdue: int
    under_way: int


class SafetySummaryOut(OutputModel, frozen=True):
    """The state of a site in numbers. `complies` is true if everything works, and every test is recorded, passed and in time.

    `simulated` is the number of controllers and units that do not exist: their failures and tests are invented. With simulated
    devices `complies` is false.
    """

    complies: bool
    controllers: StatusCountsOut
    in_alert: int
    units: StatusCountsOut
    charging: int
    function_tests: TestCountsOut
    duration_tests: TestCountsOut
    simulated: int


class SafetySiteOut(OutputModel, frozen=True):
    plant_id: str
    name: str
    seen_at: datetime
    summary: SafetySummaryOut
    controllers: tuple[SafetyControllerOut, ...]


def safety_site_out(site: SafetySite) -> SafetySiteOut:
    summary = site.summary
    return SafetySiteOut.of(
        site,
        site.plant,
        plant_id=site.plant.id,
        summary=SafetySummaryOut.of(summary, function_tests=summary.function, duration_tests=summary.duration),
        controllers=tuple(map(_controller_out, site.controllers)),
    )


def _controller_out(controller: SafetyController) -> SafetyControllerOut:
    return SafetyControllerOut.of(
        controller.report,
        controller,
        status=STATUSES[controller.report.status],
        failures=_failures_out(controller.report),
        units=tuple(map(_unit_out, controller.units)),
    )


def _unit_out(unit: SafetyUnit) -> SafetyUnitOut:
    return SafetyUnitOut.of(
        unit,
        unit.report,
        status=STATUSES[unit.report.status],
        failures=_failures_out(unit.report),
        function_test=unit.function,
        duration_test=unit.duration,
    )


def _failures_out(report: ControllerReport | UnitReport) -> tuple[FailureOut, ...]:
    return tuple(FailureOut(failure.type, failure.printed_flag) for failure in report.failures)


class LogbookEntryOut(OutputModel, frozen=True):
    """An entry of the logbook. `by` is empty if the gateway wrote it.

    `module` is the name that the unit or controller had at the time of the entry.

    `simulated` is true if a simulated device reported the event: then the event did not happen.
    """

    number: int
    at: datetime
    kind: LogbookKind
    module_id: str | None
    module: str
    test: EmergencyTestOut | None
    failure: FailureType | None
    words: str
    by: str
    simulated: bool


def logbook_entry_out(stored: StoredEntry) -> LogbookEntryOut:
    return LogbookEntryOut.of(stored, stored.entry)


class NewLogbookEntry(InputModel, frozen=True):
    """An entry about the work of people. `at` is the time of the work, if it was earlier than now."""

    kind: LogbookKind
    by: str
    words: str
    module_id: str | None = None
    at: Annotated[datetime, Meta(tz=True)] | None = None


class NeedOut(OutputModel, frozen=True):
    """A unit or controller that needs a part, and the failures that this part repairs."""

    module_id: str
    name: str
    place: str
    reference: str
    part: SparePartType
    failures: tuple[FailureType, ...]


class OrderLineOut(OutputModel, frozen=True):
    reference: str
    type: SparePartType
    quantity: str
    needs: tuple[NeedOut, ...]


class SparePartsOrderOut(OutputModel, frozen=True):
    """The spare parts to order. `withoutParts` lists units and controllers for whose failures no suitable part is known."""

    lines: tuple[OrderLineOut, ...]
    without_parts: tuple[NeedOut, ...]
