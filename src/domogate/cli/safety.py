"""`domogate safety …`: emergency lighting, for the responsible person. The gateway need not be running."""

import asyncio
import re
import sys
from datetime import tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import click

from domogate import __version__, reports
from domogate.app import Tools
from domogate.cli._command import Mistake, WrongUsage, command, group, opened, reading
from domogate.cli._files import ForceFiles, check_free, open_output
from domogate.cli._names import choose, find_plant, parse_either_id
from domogate.cli._options import argument, flag, option
from domogate.cli._output import AsJson, as_printed, note, print_json, print_list
from domogate.cli._table import print_table
from domogate.cli._words import TIME_HELP, optional_moment
from domogate.common.times import parse_time_zone
from domogate.domain.ids import Id
from domogate.domain.logbook import LogbookKind
from domogate.domain.plants import Plant
from domogate.management.safety_wire import SparePartsOrderOut, logbook_entry_out, safety_site_out
from domogate.ports import LogbookFilter, StoredEntry
from domogate.reports.labels import KINDS, STATUSES, print_due, print_entry, print_moment, print_outcome
from domogate.services.safety import PlannedTest, SafetyLogbook, SafetySite
from domogate.settings import Settings

commands = group("safety")

_PAGE = 1000

Site = Annotated[str, argument("SITE", "The site: id of the plant (with or without dashes), or name if it is unique.")]
Since = Annotated[str | None, option("TIME", f"Begin: {TIME_HELP}. Default: one month before --until.")]
Until = Annotated[str | None, option("TIME", "End; this time is not included. Default: now.")]
Zone = Annotated[str, option("NAME", "Time zone of the printed times, for example Europe/Rome.", "--timezone")]
Csv = Annotated[bool, flag("--csv", "Print CSV instead of a table.")]


class ReportFormat(StrEnum):
    """The file format of a safety report."""

    PDF = "pdf"
    CSV = "csv"


class WorkKind(StrEnum):
    """The kinds of logbook entries that people write. The gateway itself writes the entries of the other kinds."""

    COMMISSIONING = LogbookKind.COMMISSIONING.value
    INSPECTION = LogbookKind.INSPECTION.value
    SERVICE = LogbookKind.SERVICE.value
    ALTERATION = LogbookKind.ALTERATION.value
    NOTE = LogbookKind.NOTE.value


@command(commands, "report")
async def report(
    settings: Settings,
    site: Site,
    out: Annotated[
        Path | None,
        option(
            "FILE", "File to write. - means standard output, for a PDF only. Default: a name made from the site and the day."
        ),
    ] = None,
    format: Annotated[
        ReportFormat | None, option(None, "Format of the file. Default: by the ending of the file name, otherwise pdf.")
    ] = None,
    since: Since = None,
    until: Until = None,
    timezone: Zone = "UTC",
    responsible: Annotated[str, option("NAME", "Name of the responsible person on the report. Default: an empty line.")] = "",
    force: ForceFiles = False,
) -> None:
    """Write the safety report: state, tests, spare parts, and the logbook of a period.

    It is a PDF, or one CSV file for each table. With --out FILE.csv, the CSV files are named FILE-TABLE.csv.

    Example: `domogate safety report "Ospedale San Luca" --timezone Europe/Rome`
    """
    zone = _zone(timezone)
    chosen = _format(out, format)
    begin, end = optional_moment(since), optional_moment(until)
    async with reading(settings) as tools:
        plant = await find_plant(tools, site)
        made = await _logbook(tools).make_report(plant.id, begin, end)
    if out is None:
        day = print_moment(made.site.seen_at, zone, day_only=True)
        out = Path(f"safety-report-{_file_name(plant)}-{day}.{chosen}")
    if chosen is ReportFormat.PDF:
        by = f"Domogate {__version__}"
        printed = await asyncio.to_thread(reports.print_pdf, made, made_by=by, zone=zone, responsible=responsible)
        _write({out: printed}, force)
    else:
        tables = reports.print_tables(made, zone)
        _write({out.with_name(f"{out.stem}-{name}.csv"): text.encode() for name, text in tables.items()}, force)


@command(commands, "schedule")
async def schedule(settings: Settings, site: Site, timezone: Zone = "UTC", as_json: AsJson = False) -> None:
    """Show the status of controllers and units, their last tests, and when the next tests are due."""
    zone = _zone(timezone)
    async with reading(settings) as tools:
        seen = await _logbook(tools).read_site((await find_plant(tools, site)).id)
    if as_json:
        print_json(as_printed(safety_site_out(seen)))
        return
    _print_schedule(seen, zone)


@command(commands, "logbook")
async def logbook(
    settings: Settings,
    site: Site,
    since: Annotated[str | None, option("TIME", f"Begin: {TIME_HELP}. Default: all entries.")] = None,
    until: Until = None,
    kind: Annotated[list[LogbookKind] | None, option("KIND", "Only this kind of entry; may be repeated. Default: all.")] = None,
    timezone: Zone = "UTC",
    as_json: AsJson = False,
) -> None:
    """List the logbook of a site. The entries are in the order in which they were written.

    The kind `silence` means that a unit or controller could no longer be reached, and `contact` that it was reached again.
    """
    zone = _zone(timezone)
    begin, end = optional_moment(since), optional_moment(until)
    async with reading(settings) as tools:
        book, plant = _logbook(tools), await find_plant(tools, site)
        found: list[StoredEntry] = []
        wanted = LogbookFilter(begin or 0.0, end, kind or ())
        while page := await book.list_entries(plant.id, wanted, _PAGE, found[-1].number if found else 0):
            found += page
    rows = (
        (
            str(one.number),
            print_moment(one.entry.at, zone),
            KINDS[one.entry.kind],
            one.entry.module or None,
            " ".join(print_entry(one.entry, zone).split()) or None,
            one.entry.by or "gateway",
        )
        for one in found
    )
    columns = ("number", "at", "entry", "of", "what", "by")
    print_list(as_json, [as_printed(logbook_entry_out(one)) for one in found], columns, rows)


@command(commands, "log")
async def log(
    settings: Settings,
    site: Site,
    kind: Annotated[WorkKind, option("KIND", "The kind of the work.")],
    by: Annotated[str, option("NAME", "Name of the person who did the work.")],
    words: Annotated[str, option("TEXT", "The work that was done, or the observation.")],
    module: Annotated[str | None, option("MODULE", "Unit or controller, by id or name. Default: the whole site.")] = None,
    at: Annotated[str | None, option("TIME", f"Time of the work: {TIME_HELP}. Default: now.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write an entry in the logbook. Entries cannot be changed or removed."""
    done_at = optional_moment(at)
    async with opened(settings) as tools:
        plant = await find_plant(tools, site)
        module_id = None if module is None else await _module(tools, plant, module)
        written = await _logbook(tools).write(plant.id, LogbookKind(kind), by=by, words=words, module_id=module_id, at=done_at)
    if as_json:
        print_json(as_printed(logbook_entry_out(written)))
    else:
        note(f"Wrote entry {written.number}.")


@command(commands, "order-list")
async def order_list(settings: Settings, site: Site, csv: Csv = False, as_json: AsJson = False) -> None:
    """List the spare parts that the present failures need, with total quantities."""
    if csv and as_json:
        raise WrongUsage("use --csv or --json, not both.")
    async with reading(settings) as tools:
        book = _logbook(tools)
        orders = await book.list_orders(await book.read_site((await find_plant(tools, site)).id))
    if as_json:
        print_json(as_printed(SparePartsOrderOut.of(orders)))
    elif csv:
        sys.stdout.write(reports.print_order_list(orders))
    else:
        rows = [
            (line.reference, line.type.value, line.quantity, ", ".join(need.name for need in line.needs))
            for line in orders.lines
        ]
        print_table(("part", "type", "quantity", "for"), rows)
        for need in orders.without_parts:
            reference = f"reference {need.reference}" if need.reference else "without a reference"
            note(f"No {need.part} is known for {need.name} ({reference}).")


def _logbook(tools: Tools) -> SafetyLogbook:
    return SafetyLogbook(tools.store, tools.clock, tools.audit)


def _print_schedule(seen: SafetySite, zone: tzinfo) -> None:
    rows = []
    for controller in seen.controllers:
        device = controller.report
        alert = " in alert" if device.alert else ""
        rows.append((device.name, f"{STATUSES[device.status]}{alert}", *("",) * 4))
        for unit in controller.units:
            tests = (*_test(unit.function, zone), *_test(unit.duration, zone))
            rows.append((f"  {unit.name}", STATUSES[unit.report.status], *tests))
    print_table(("unit", "status", "function test", "next", "duration test", "next"), rows)
    for noun, count in (("controllers", seen.summary.controllers), ("units", seen.summary.units)):
        parts = f"{count.working} working, {count.in_failure} in failure, {count.no_communication} without communication"
        click.echo(f"{count.total} {noun}: {parts}")
    for noun, of in (("function", seen.summary.function), ("duration", seen.summary.duration)):
        done = f"{of.passed} passed, {of.failed} failed, {of.never} not recorded yet"
        click.echo(f"{noun} tests: {done}; {of.due_soon} due soon, {of.overdue} overdue, {of.under_way} under way")


def _test(planned: PlannedTest, zone: tzinfo) -> tuple[str, str]:
    last = planned.last
    done = "-" if last is None else f"{print_moment(last.ended_at, zone)} {print_outcome(last)}"
    return done, print_due(planned, zone)


async def _module(tools: Tools, plant: Plant, wanted: str) -> Id:
    """Return the id of a module of this site. The module is given by id or name."""
    stored = await tools.store.find_plant(plant.id)
    every = [] if stored is None else list(stored.topology.every_module())
    identity = parse_either_id(wanted)
    matching = [module for module in every if module.id == identity or module.name == wanted]
    hint = f"`domogate module list {plant.id}` shows the modules of {plant.name}"
    return choose(matching, wanted, "module", hint, lambda module: module.id).id


def _zone(name: str) -> tzinfo:
    try:
        return parse_time_zone(name)
    except ValueError as error:
        raise Mistake(str(error)) from None


def _format(out: Path | None, given: ReportFormat | None) -> ReportFormat:
    by_name = None if out is None else {".pdf": ReportFormat.PDF, ".csv": ReportFormat.CSV}.get(out.suffix.lower())
    if given is not None and by_name not in (None, given):
        raise WrongUsage(f"--format {given} does not match the ending of {out}: leave one of them out.")
    chosen = given or by_name or ReportFormat.PDF
    if out == Path("-") and chosen is ReportFormat.CSV:
        raise WrongUsage("CSV is one file for each table: use --out FILE.csv.")
    return chosen


def _file_name(plant: Plant) -> str:
    return re.sub(r"[^\w.-]+", "-", plant.name).strip("-.") or plant.id


def _write(files: dict[Path, bytes], force: bool) -> None:
    """Write the files. Raises Mistake if `force` is false and one of them already exists.

    All files are checked before the first one is written. So after this error, no file has been written.
    """
    if Path("-") in files:
        sys.stdout.buffer.write(files[Path("-")])
        sys.stdout.buffer.flush()
        return
    for path in files:
        check_free(path, force)
    for path, content in files.items():
        with open_output(path) as file:
            file.write(content)
    note(f"Wrote {', '.join(map(str, files))}.")
