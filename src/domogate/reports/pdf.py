"""The report as PDF: a title page with summary and signature, the units, the order list, the logbook."""

from collections.abc import Iterable, Iterator
from datetime import tzinfo

from domogate.domain.plants import Plant
from domogate.reports.document import ALARM, CALM, Cell, Column, ReportDocument
from domogate.reports.fonts import choose_typeface
from domogate.reports.labels import (
    FAILURES,
    KINDS,
    NOT_YET,
    SIMULATED,
    STATUSES,
    WARNING,
    print_due,
    print_entry,
    print_failures,
    print_moment,
    print_outcome,
)
from domogate.services.safety import Need, PlannedTest, SafetyController, SafetyReport, SafetyUnit, TestStanding
from domogate.services.safety.status import SafetyStatus

_SPAN = 5
"""The number of columns of the table of units."""

_NOTES = (
    "Units and controllers are shown as they were last known when this report was made. A unit that cannot be reached "
    "counts as not working.",
    "A function test is due one month, and a duration test one year, after the last test of the same kind ended "
    "(EN 50172 clause 7, EN 62034). If no test is recorded, a test is due since the unit was commissioned or was "
    "first known to be charging.",
    "Entries without a name were made by the gateway when units reported. Daily checks of indicators, visual inspections and "
    "servicing are tasks of the responsible person. They are in the logbook only if somebody wrote them there.",
    "The order list has the parts that the shown failures need. A disconnected battery may only need to be reconnected.",
)


def print_report(report: SafetyReport, *, made_by: str, zone: tzinfo, responsible: str) -> bytes:
    plant = report.site.plant
    made_at = print_moment(report.site.seen_at, zone)
    document = ReportDocument(
        choose_typeface(_texts(report, responsible)),
        title=f"Emergency lighting report: {plant.name}",
        footer=f"{plant.name} | {made_at} | {made_by}",
        made_at=report.site.seen_at,
        made_by=made_by,
        warning=WARNING if report.has_simulated else "",
    )
    _title_page(document, report, made_by, zone, responsible)
    document.add_page()
    _units(document, report, zone)
    _orders(document, report)
    _logbook(document, report, zone)
    return bytes(document.output())


def _texts(report: SafetyReport, responsible: str) -> Iterator[str]:
    """Yield the texts of the report that people wrote. They may be in any alphabet, so the font must have their letters."""
    plant = report.site.plant
    yield from (plant.name, plant.address or "", plant.country or "", plant.zip_code or "", responsible)
    for controller in report.site.controllers:
        yield from (controller.report.name, controller.report.reference, controller.report.serial_number, controller.place)
        for unit in controller.units:
            yield from (unit.name, unit.place, unit.report.reference)
    for line in report.orders.lines:
        yield from (line.reference, line.quantity)
    for one in report.entries:
        yield from (one.entry.module, one.entry.words, one.entry.by)


def _title_page(document: ReportDocument, report: SafetyReport, made_by: str, zone: tzinfo, responsible: str) -> None:
    plant, summary = report.site.plant, report.site.summary
    document.title_block(plant.name, "Emergency lighting: state, tests and logbook")
    period = f"{print_moment(report.since, zone)} to {print_moment(report.until, zone)}"
    document.facts(
        [
            ("Address", _address(plant) or "-"),
            ("Site id", plant.id),
            ("Period of the logbook", period),
            ("State as of", f"{print_moment(report.site.seen_at, zone)} (all times {zone})"),
            ("Made by", made_by),
        ]
    )
    sentences = list(_list_problems(report))
    document.banner(
        sentences or ["All devices work, and all tests are recorded, passed and in time."], ALARM if sentences else CALM
    )
    document.heading("Summary")
    statuses = ("total", "working", "in failure", "no communication", "in alert")
    document.grid(
        [Column("", 34), *(Column(word, 22, "RIGHT") for word in statuses)],
        [
            [name, *map(str, (counts.total, counts.working, counts.in_failure, counts.no_communication)), alert]
            for name, counts, alert in (
                ("Controllers", summary.controllers, str(summary.in_alert)),
                ("Units", summary.units, "-"),
            )
        ],
    )
    document.grid(
        [
            Column("Last test of each unit", 34),
            *(Column(word, 22, "RIGHT") for word in ("passed", "failed", "none recorded", "due soon", "overdue", "under way")),
        ],
        [
            [name, *map(str, (tests.passed, tests.failed, tests.never, tests.due_soon, tests.overdue, tests.under_way))]
            for name, tests in (("Function (monthly)", summary.function), ("Duration (yearly)", summary.duration))
        ],
    )
    if summary.charging:
        document.paragraph(f"Batteries of {summary.charging} units are charging now.")
    document.heading("Responsible person")
    document.signature(responsible)
    document.heading("About this report")
    for note in _NOTES:
        document.paragraph(note, small=True)


def _address(plant: Plant) -> str:
    return ", ".join(part for part in (plant.address, plant.zip_code, plant.country) if part)


def _list_problems(report: SafetyReport) -> Iterator[str]:
    summary = report.site.summary
    if summary.simulated:
        total = summary.controllers.total + summary.units.total
        yield f"{summary.simulated} of {total} devices are simulated: they do not exist. This report is not valid as a record."
    elif report.has_simulated:
        yield "Some logbook entries are about devices that were simulated then. These entries are marked, and did not happen."
    if not summary.units.total:
        yield "No unit is connected to this site yet."
    for noun, counts in (("units", summary.units), ("controllers", summary.controllers)):
        wrong = counts.total - counts.working
        if wrong:
            yield f"{wrong} of {counts.total} {noun} do not work correctly."
    for name, tests in (("function", summary.function), ("duration", summary.duration)):
        if tests.failed:
            yield f"The last {name} test of {tests.failed} units failed."
        if tests.overdue:
            yield f"The {name} test of {tests.overdue} units is overdue."
        if tests.never:
            yield f"No {name} test is recorded yet for {tests.never} units."


def _units(document: ReportDocument, report: SafetyReport, zone: tzinfo) -> None:
    document.heading("Controllers and units")
    if not report.site.controllers:
        document.paragraph("No controller is connected to this site yet.")
        return
    columns = [
        Column("Unit", 41),
        Column("Status", 23),
        Column("Failures", 54),
        Column("Function test", 31),
        Column("Duration test", 31),
    ]
    rows: list[list[str | Cell]] = []
    for controller in report.site.controllers:
        rows += _controller(controller)
        rows += [_unit(unit, zone) for unit in controller.units]
        if not controller.units:
            rows.append([Cell("This controller has no units.", span=_SPAN)])
    document.grid(columns, rows)


def _controller(controller: SafetyController) -> Iterator[list[str | Cell]]:
    """Yield the rows above the units of a controller: a band with its name and status, then a band with its details."""
    device = controller.report
    alarm = device.status is not SafetyStatus.WORKING or device.alert
    simulated = f", {SIMULATED}" if controller.simulated else ""
    name = f"{device.name}: {STATUSES[device.status]}{', in alert' if device.alert else ''}{simulated}"
    yield [Cell(name, span=_SPAN, band=True, bold=True, alarm=alarm)]
    facts = _joined(_named("reference", device.reference), _named("serial number", device.serial_number), controller.place)
    level = f"alert at {device.alert_level} {'unit' if device.alert_level == 1 else 'units'} in failure"
    yield [Cell("\n".join([_joined(facts, level), *print_failures(device.failures)]), span=_SPAN, band=True)]


def _unit(unit: SafetyUnit, zone: tzinfo) -> list[str | Cell]:
    device = unit.report
    lines = [unit.name, _joined(_named("reference", device.reference), unit.place)]
    if unit.simulated:
        lines.append(SIMULATED)
    if unit.is_charging:
        lines.append(f"charging, {unit.charge} %")
    return [
        "\n".join(line for line in lines if line),
        Cell(STATUSES[device.status], alarm=device.status is not SafetyStatus.WORKING),
        "\n".join(print_failures(device.failures, "\n")) or "-",
        *(_test(planned, zone) for planned in (unit.function, unit.duration)),
    ]


def _test(planned: PlannedTest, zone: tzinfo) -> Cell:
    done = NOT_YET if planned.last is None else f"{print_moment(planned.last.ended_at, zone)}\n{print_outcome(planned.last)}"
    failed = planned.last is not None and not planned.last.passed
    return Cell(f"{done}\n{print_due(planned, zone)}", alarm=failed or planned.standing is TestStanding.OVERDUE)


def _named(noun: str, text: str) -> str:
    return f"{noun} {text}" if text else ""


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _orders(document: ReportDocument, report: SafetyReport) -> None:
    document.heading("Spare parts to order")
    orders = report.orders
    if orders.lines:
        columns = [Column("Part", 30), Column("Type", 30), Column("Quantity", 20, "CENTER"), Column("For", 100)]
        document.grid(columns, [[line.reference, line.type, line.quantity, _for(line.needs)] for line in orders.lines])
    else:
        document.paragraph("The shown failures need no part, or no part is known for them.")
    if orders.without_parts:
        document.paragraph("No part is known for these devices. Ask their manufacturer:")
        columns = [Column("Unit", 60), Column("Reference", 30), Column("Needs", 30), Column("Because of", 60)]
        rows = [
            [
                _joined(need.name, need.place),
                need.reference or "-",
                need.part,
                "\n".join(FAILURES[one] for one in need.failures),
            ]
            for need in orders.without_parts
        ]
        document.grid(columns, rows)


def _for(needs: Iterable[Need]) -> str:
    return "; ".join(f"{need.name} ({_joined(need.reference, need.place)})" for need in needs)


def _logbook(document: ReportDocument, report: SafetyReport, zone: tzinfo) -> None:
    period = f"{print_moment(report.since, zone, day_only=True)} to {print_moment(report.until, zone, day_only=True)}"
    document.heading(f"Logbook, {period}")
    if not report.entries:
        document.paragraph("There are no entries in this period.")
        return
    columns = [
        Column("No.", 11, "RIGHT"),
        Column("When", 26),
        Column("Entry", 22),
        Column("Of", 33),
        Column("What", 67),
        Column("By", 21),
    ]
    document.grid(
        columns,
        [
            [
                str(one.number),
                print_moment(one.entry.at, zone),
                KINDS[one.entry.kind],
                one.entry.module or "the site",
                print_entry(one.entry, zone, "\n") or "-",
                f"gateway, {SIMULATED}" if one.entry.simulated else one.entry.by or "gateway",
            ]
            for one in report.entries
        ],
    )
