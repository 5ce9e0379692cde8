"""Emergency lighting for the person responsible, as the management API and the command line show it."""

from datetime import datetime
from typing import Annotated

import msgspec

from domogate.domain.logbook import LogbookKind
from domogate.domain.safety import EmergencyTestKind, FailureType, SparePartType
from domogate.management.wire import Taken
from domogate.ports import StoredEntry
from domogate.reports.words import STATUSES
from domogate.services.safety import (
    Need,
    OrderList,
    PlannedTest,
    SafetyController,
    SafetySite,
    SafetyUnit,
    TestStanding,
)
from domogate.wire import Shown, moment, moment_or_none
from domogate.wire.states import ShownFailure, ShownTest


class ShownPlannedTest(Shown, frozen=True):
    """`last` is null where no test is recorded yet; `dueAt` is then since when one is due, if that is known."""

    kind: EmergencyTestKind
    last: ShownTest | None
    due_at: datetime | None
    standing: TestStanding
    under_way: bool


class ShownSafetyUnit(Shown, frozen=True):
    id: str
    name: str
    place: str
    reference: str
    status: str
    failures: tuple[ShownFailure, ...]
    heard_at: datetime | None
    charge: int | None
    charging_since: datetime | None
    function_test: ShownPlannedTest
    duration_test: ShownPlannedTest


class ShownSafetyController(Shown, frozen=True):
    id: str
    name: str
    place: str
    reference: str
    serial_number: str
    status: str
    failures: tuple[ShownFailure, ...]
    heard_at: datetime | None
    alert: bool
    alert_changed_at: datetime | None
    alert_level: int
    units: tuple[ShownSafetyUnit, ...]


class ShownStatusTally(Shown, frozen=True):
    total: int
    working: int
    in_failure: int
    no_communication: int


class ShownTestTally(Shown, frozen=True):
    """Of the last test of each unit: passed, failed, none recorded yet; and how the next ones stand."""

    passed: int
    failed: int
    never: int
    due_soon: int
    overdue: int
    under_way: int


class ShownSafetySummary(Shown, frozen=True):
    """`complies`: everything works, and every test is recorded, passed and in time."""

    complies: bool
    controllers: ShownStatusTally
    in_alert: int
    units: ShownStatusTally
    charging: int
    function_tests: ShownTestTally
    duration_tests: ShownTestTally


class ShownSafety(Shown, frozen=True):
    plant_id: str
    name: str
    seen_at: datetime
    summary: ShownSafetySummary
    controllers: tuple[ShownSafetyController, ...]


class ShownEntry(Shown, frozen=True):
    """`by` is empty where the gateway wrote it; `module` is what the unit or controller was called then."""

    number: int
    at: datetime
    kind: LogbookKind
    module_id: str | None
    module: str
    test: ShownTest | None
    failure: FailureType | None
    words: str
    by: str


class NewEntry(Taken, frozen=True):
    """What people did. `at` is when, if it was earlier than now."""

    kind: LogbookKind
    by: str
    words: str
    module_id: str | None = None
    at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class ShownNeed(Shown, frozen=True):
    """A unit or controller that wants a part, and the failures that call for it."""

    module_id: str
    name: str
    place: str
    reference: str
    part: SparePartType
    failures: tuple[FailureType, ...]


class ShownOrderLine(Shown, frozen=True):
    reference: str
    type: SparePartType
    quantity: str
    needs: tuple[ShownNeed, ...]


class ShownOrderList(Shown, frozen=True):
    """`withoutParts` want a part of which no reference is known."""

    lines: tuple[ShownOrderLine, ...]
    without_parts: tuple[ShownNeed, ...]


def show_site(site: SafetySite) -> ShownSafety:
    summary = site.summary
    return ShownSafety(
        plant_id=site.plant.id,
        name=site.plant.name,
        seen_at=moment(site.seen_at),
        summary=ShownSafetySummary(
            complies=summary.complies,
            controllers=msgspec.convert(summary.controllers, ShownStatusTally, from_attributes=True),
            in_alert=summary.in_alert,
            units=msgspec.convert(summary.units, ShownStatusTally, from_attributes=True),
            charging=summary.charging,
            function_tests=msgspec.convert(summary.function, ShownTestTally, from_attributes=True),
            duration_tests=msgspec.convert(summary.duration, ShownTestTally, from_attributes=True),
        ),
        controllers=tuple(map(_show_controller, site.controllers)),
    )


def _show_controller(controller: SafetyController) -> ShownSafetyController:
    told = controller.report
    return ShownSafetyController(
        id=told.id,
        name=told.name,
        place=controller.place,
        reference=told.reference,
        serial_number=told.serial_number,
        status=STATUSES[told.status],
        failures=tuple(ShownFailure(failure.type, failure.printed_flag) for failure in told.failures),
        heard_at=moment_or_none(told.heard_at),
        alert=told.alert,
        alert_changed_at=moment_or_none(told.alert_changed_at),
        alert_level=told.alert_level,
        units=tuple(map(_show_unit, controller.units)),
    )


def _show_unit(unit: SafetyUnit) -> ShownSafetyUnit:
    told = unit.report
    return ShownSafetyUnit(
        id=told.id,
        name=unit.name,
        place=unit.place,
        reference=told.reference,
        status=STATUSES[told.status],
        failures=tuple(ShownFailure(failure.type, failure.printed_flag) for failure in told.failures),
        heard_at=moment_or_none(told.heard_at),
        charge=unit.charge,
        charging_since=moment_or_none(unit.charging_since),
        function_test=_show_planned(unit.function),
        duration_test=_show_planned(unit.duration),
    )


def _show_planned(planned: PlannedTest) -> ShownPlannedTest:
    last = None if planned.last is None else msgspec.convert(planned.last, ShownTest, from_attributes=True, strict=False)
    return ShownPlannedTest(planned.kind, last, moment_or_none(planned.due_at), planned.standing, planned.under_way)


def show_entry(stored: StoredEntry) -> ShownEntry:
    entry = stored.entry
    test = None if entry.test is None else msgspec.convert(entry.test, ShownTest, from_attributes=True, strict=False)
    named = (entry.module_id, entry.module)
    return ShownEntry(stored.number, moment(entry.at), entry.kind, *named, test, entry.failure, entry.words, entry.by)


def show_order_list(orders: OrderList) -> ShownOrderList:
    lines = [
        ShownOrderLine(line.reference, line.type, line.quantity, tuple(map(_show_need, line.needs))) for line in orders.lines
    ]
    return ShownOrderList(tuple(lines), tuple(map(_show_need, orders.without_parts)))


def _show_need(need: Need) -> ShownNeed:
    return msgspec.convert(need, ShownNeed, from_attributes=True)
