"""The safety report as CSV (RFC 4180, UTF-8), one file per table, for spreadsheets and other programs."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo

from domogate.common.spreadsheet import print_csv
from domogate.domain.safety import Failure
from domogate.reports.labels import FAILURES, STATUSES, WARNING, print_entry
from domogate.services.safety import OrderList, PlannedTest, SafetyReport
from domogate.services.safety.schedule import clamp


def print_tables(report: SafetyReport, zone: tzinfo = UTC) -> dict[str, str]:
    """Return the tables by name: summary, units, order-list, logbook."""
    return {
        "summary": _print(("figure", "value"), _summary(report, zone)),
        "units": _print(_UNIT_COLUMNS, _units(report, zone)),
        "order-list": print_order_list(report.orders),
        "logbook": _print(_ENTRY_COLUMNS, _entries(report, zone)),
    }


def print_order_list(orders: OrderList) -> str:
    """Return the order list as CSV: one row for each part and each device that needs this part.

    The column "type" is the type of the part. The column "part" is the reference of the spare part to order. It is empty if no
    spare part of this type is known for the device.
    """
    rows: list[Sequence[object]] = []
    for line in orders.lines:
        rows += [(line.reference, line.type, line.quantity, n.name, n.place, n.reference, n.module_id) for n in line.needs]
    rows += [("", n.part, "", n.name, n.place, n.reference, n.module_id) for n in orders.without_parts]
    return _print(("part", "type", "total_quantity", "for", "place", "unit_reference", "module_id"), rows)


def _print(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return print_csv((columns, *rows))


def _summary(report: SafetyReport, zone: tzinfo) -> Iterator[tuple[str, object]]:
    site = report.site
    if report.has_simulated:
        yield "warning", WARNING
    yield "site", site.plant.name
    yield "site_id", site.plant.id
    for name, at in (("since", report.since), ("until", report.until), ("made_at", site.seen_at)):
        yield name, _iso(at, zone)
    for noun, counts in (("controllers", site.summary.controllers), ("units", site.summary.units)):
        yield noun, counts.total
        for figure in ("working", "in_failure", "no_communication"):
            yield f"{noun}_{figure}", getattr(counts, figure)
    yield "controllers_in_alert", site.summary.in_alert
    yield "units_charging", site.summary.charging
    yield "devices_simulated", site.summary.simulated
    for noun, tests in (("function_tests", site.summary.function), ("duration_tests", site.summary.duration)):
        for figure in ("passed", "failed", "never", "due_soon", "overdue", "under_way"):
            yield f"{noun}_{figure}", getattr(tests, figure)


_TEST_COLUMNS = ("last", "passed", "lit_seconds", "due", "standing")
_UNIT_COLUMNS = (
    *("kind", "name", "place", "reference", "serial_number", "controller", "status", "failures", "failure_words", "heard_at"),
    *("alert", "charge"),
    *(f"{kind}_test_{column}" for kind in ("function", "duration") for column in _TEST_COLUMNS),
    *("id", "simulated"),
)


def _units(report: SafetyReport, zone: tzinfo) -> Iterator[Sequence[object]]:
    no_tests = ("",) * (2 * len(_TEST_COLUMNS))
    for controller in report.site.controllers:
        device = controller.report
        yield (
            *("controller", device.name, controller.place, device.reference, device.serial_number, "", STATUSES[device.status]),
            *(*_failures(device.failures), _iso(device.heard_at, zone), _yes(device.alert), "", *no_tests, device.id),
            _yes(controller.simulated),
        )
        for unit in controller.units:
            of = unit.report
            yield (
                *("unit", unit.name, unit.place, of.reference, "", device.name, STATUSES[of.status]),
                *(*_failures(of.failures), _iso(of.heard_at, zone), "", unit.charge),
                *(*_test(unit.function, zone), *_test(unit.duration, zone), of.id, _yes(unit.simulated)),
            )


def _failures(failures: tuple[Failure, ...]) -> tuple[str, str]:
    failing = [one.type for one in failures if FAILURES[one.type] != "none"]
    return "; ".join(failing), "; ".join(FAILURES[one] for one in failing)


def _test(planned: PlannedTest, zone: tzinfo) -> tuple[object, ...]:
    last, due = planned.last, _iso(planned.due_at, zone)
    if last is None:
        return ("", "", "", due, planned.standing.value)
    return (_iso(last.ended_at, zone), _yes(last.passed), last.lit, due, planned.standing.value)


_ENTRY_COLUMNS = (
    *("number", "at", "kind", "module", "what", "by"),
    *("test", "test_began", "test_ended", "test_lit_seconds", "test_passed", "failure", "module_id", "simulated"),
)


def _entries(report: SafetyReport, zone: tzinfo) -> Iterator[Sequence[object]]:
    for one in report.entries:
        entry, test = one.entry, one.entry.test
        tested: tuple[object, ...] = ("", "", "", "", "")
        if test is not None:
            ran = (_iso(test.began_at, zone), _iso(test.ended_at, zone))
            tested = (test.kind.value, *ran, test.lit, _yes(test.passed))
        what = print_entry(entry, zone)
        head = (one.number, _iso(entry.at, zone), entry.kind.value, entry.module, what, entry.by or "gateway")
        failure = None if entry.failure is None else entry.failure.value
        yield (*head, *tested, failure, entry.module_id, _yes(entry.simulated))


def _iso(at: float | None, zone: tzinfo) -> str:
    return "" if at is None else datetime.fromtimestamp(clamp(at), zone).isoformat(timespec="seconds")


def _yes(value: bool) -> str:
    return "yes" if value else "no"
