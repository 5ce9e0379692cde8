"""`domogate safety …`: emergency lighting for the person responsible, from the store, with or without a running gateway."""

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from domogate import __version__, reports
from domogate.app import Tools, open_tools
from domogate.cli._command import Mistake, WrongUsage, command
from domogate.cli._devices import as_printed
from domogate.cli._output import AsJson, Force, note, print_json, print_table
from domogate.cli._people import find_plant
from domogate.cli._words import parse_moment
from domogate.domain.ids import DASHED_UUID, HEX32, Id
from domogate.domain.logbook import LogbookKind
from domogate.domain.plants import Plant
from domogate.management.safety_wire import show_entry, show_order_list, show_site
from domogate.ports import StoredEntry
from domogate.reports.words import KINDS, STATUSES, print_due, print_entry, print_moment, print_outcome
from domogate.services.safety import PlannedTest, SafetyLogbook, SafetySite
from domogate.settings import Settings

safety = typer.Typer(help="Emergency lighting: report, test schedule, logbook, spare parts.", no_args_is_help=True)

_PAGE = 1000

Site = Annotated[str, typer.Argument(metavar="SITE", help="The plant's id in either spelling, or its name if no other has it.")]
Since = Annotated[str | None, typer.Option(metavar="TIME", help="2026-11-15T08:30:00Z, or a day; a month before --until.")]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="The same, and not included; now by default.")]
Zone = Annotated[str, typer.Option("--timezone", metavar="NAME", help="Times as of there: Europe/Rome.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV, for spreadsheets.")]


class ReportFormat(StrEnum):
    """What a report is written as."""

    PDF = "pdf"
    CSV = "csv"


def register(cli: typer.Typer) -> None:
    cli.add_typer(safety, name="safety")


@command(safety, "report")
async def report(
    settings: Settings,
    site: Site,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write it; named after site and day when left out. `-`: standard output."),
    ] = None,
    format: Annotated[ReportFormat | None, typer.Option(help="By the file's name when left out, else pdf.")] = None,
    since: Since = None,
    until: Until = None,
    timezone: Zone = "UTC",
    responsible: Annotated[str, typer.Option(metavar="NAME", help="Printed on the line of the responsible person.")] = "",
    force: Force = False,
) -> None:
    """Write the report: state, tests, spare parts, and the logbook of a period. PDF, or one CSV file for each table."""
    zone = _zone(timezone)
    chosen = _format(out, format)
    begin, end = _moment(since), _moment(until)
    async with open_tools(settings) as tools:
        plant = await find_plant(tools, site)
        made = await _desk(tools).make_report(plant.id, begin, end)
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


@command(safety, "schedule")
async def schedule(settings: Settings, site: Site, timezone: Zone = "UTC", as_json: AsJson = False) -> None:
    """Show how controllers and units are, their last tests, and when the next are due."""
    zone = _zone(timezone)
    async with open_tools(settings) as tools:
        seen = await _desk(tools).see_site((await find_plant(tools, site)).id)
    if as_json:
        print_json(as_printed(show_site(seen)))
        return
    _print_schedule(seen, zone)


@command(safety, "logbook")
async def logbook(
    settings: Settings,
    site: Site,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="2026-11-15T08:30:00Z, or a day; all by default.")] = None,
    until: Until = None,
    kind: Annotated[list[LogbookKind] | None, typer.Option(help="Only entries of this kind; again for each.")] = None,
    timezone: Zone = "UTC",
    as_json: AsJson = False,
) -> None:
    """List what is logged of a site, in the order it was written down."""
    zone = _zone(timezone)
    begin, end = _moment(since), _moment(until)
    async with open_tools(settings) as tools:
        desk, plant = _desk(tools), await find_plant(tools, site)
        found: list[StoredEntry] = []
        while page := await desk.list_entries(
            plant.id, since=begin or 0.0, until=end, kinds=kind or (), after=found[-1].number if found else 0, limit=_PAGE
        ):
            found += page
    if as_json:
        print_json([as_printed(show_entry(one)) for one in found])
        return
    rows = [
        (
            str(one.number),
            print_moment(one.entry.at, zone),
            KINDS[one.entry.kind],
            one.entry.module or "-",
            " ".join(print_entry(one.entry, zone).split()) or "-",
            one.entry.by or "gateway",
        )
        for one in found
    ]
    print_table(("number", "at", "entry", "of", "what", "by"), rows)


@command(safety, "log")
async def log(
    settings: Settings,
    site: Site,
    kind: Annotated[LogbookKind, typer.Option(help="commissioning, inspection, service, alteration or note.")],
    by: Annotated[str, typer.Option(metavar="NAME", help="Who did it.")],
    words: Annotated[str, typer.Option(metavar="TEXT", help="What was done or seen.")],
    module: Annotated[
        str | None,
        typer.Option(metavar="MODULE", help="Of which unit or controller, by id or name; the whole site when left out."),
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When, if it was earlier: 2026-11-15T08:30:00Z, or a day.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write in the logbook what people did. What is written stays: there is no way to change or remove an entry."""
    done_at = _moment(at)
    async with open_tools(settings) as tools:
        plant = await find_plant(tools, site)
        module_id = None if module is None else await _module(tools, plant, module)
        written = await _desk(tools).write(plant.id, kind, by=by, words=words, module_id=module_id, at=done_at)
    if as_json:
        print_json(as_printed(show_entry(written)))
    else:
        note(f"Written under number {written.number}.")


@command(safety, "order-list")
async def order_list(settings: Settings, site: Site, csv: Csv = False, as_json: AsJson = False) -> None:
    """List the spare parts that the failures of now call for, added up."""
    if csv and as_json:
        raise WrongUsage("--csv or --json, not both.")
    async with open_tools(settings) as tools:
        desk = _desk(tools)
        orders = await desk.list_orders(await desk.see_site((await find_plant(tools, site)).id))
    if as_json:
        print_json(as_printed(show_order_list(orders)))
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


def _desk(tools: Tools) -> SafetyLogbook:
    return SafetyLogbook(tools.store, tools.clock, tools.audit)


def _print_schedule(seen: SafetySite, zone: tzinfo) -> None:
    rows = []
    for controller in seen.controllers:
        told = controller.report
        alert = " in alert" if told.alert else ""
        rows.append((told.name, f"{STATUSES[told.status]}{alert}", *("",) * 4))
        for unit in controller.units:
            tests = (*_test(unit.function, zone), *_test(unit.duration, zone))
            rows.append((f"  {unit.name}", STATUSES[unit.report.status], *tests))
    print_table(("unit", "status", "function test", "next", "duration test", "next"), rows)
    for noun, tally in (("controllers", seen.summary.controllers), ("units", seen.summary.units)):
        parts = f"{tally.working} working, {tally.in_failure} in failure, {tally.no_communication} without communication"
        typer.echo(f"{tally.total} {noun}: {parts}")
    for noun, of in (("function", seen.summary.function), ("duration", seen.summary.duration)):
        done = f"{of.passed} passed, {of.failed} failed, {of.never} not recorded yet"
        typer.echo(f"{noun} tests: {done}; {of.due_soon} due soon, {of.overdue} overdue, {of.under_way} under way")


def _test(planned: PlannedTest, zone: tzinfo) -> tuple[str, str]:
    last = planned.last
    done = "-" if last is None else f"{print_moment(last.ended_at, zone)} {print_outcome(last)}"
    return done, print_due(planned, zone)


async def _module(tools: Tools, plant: Plant, wanted: str) -> Id:
    """One of this site's, by id or name."""
    stored = await tools.store.find_plant(plant.id)
    every = [] if stored is None else list(stored.topology.every_module())
    identity = DASHED_UUID.parse_id(wanted) or HEX32.parse_id(wanted)
    found = [module for module in every if module.id == identity or module.name == wanted]
    if not found:
        raise Mistake(f"there is no module {wanted!r} in {plant.name}; `domogate module list` shows all.")
    if len(found) > 1:
        listed = "\n".join(f"  {module.id}" for module in found[:20])
        raise Mistake(f"several modules are called {wanted!r}; say which by id:\n{listed}")
    return found[0].id


def _moment(text: str | None) -> float | None:
    return None if text is None else parse_moment(text)


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Mistake(f"{name!r} is no time zone that is known here; write it as Europe/Rome.") from None


def _format(out: Path | None, given: ReportFormat | None) -> ReportFormat:
    by_name = None if out is None else {".pdf": ReportFormat.PDF, ".csv": ReportFormat.CSV}.get(out.suffix.lower())
    if given is not None and by_name not in (None, given):
        raise WrongUsage(f"--format {given} and a file that ends with {out.suffix if out else ''} contradict each other.")
    chosen = given or by_name or ReportFormat.PDF
    if out == Path("-") and chosen is ReportFormat.CSV:
        raise WrongUsage("CSV is one file for each table: say --out FILE.csv.")
    return chosen


def _file_name(plant: Plant) -> str:
    return re.sub(r"[^\w.-]+", "-", plant.name).strip("-.") or plant.id


def _write(files: dict[Path, bytes], force: bool) -> None:
    """All that are there already are found before the first is written; each is there whole or not at all."""
    for path in files:
        if path == Path("-"):
            sys.stdout.buffer.write(files[path])
            sys.stdout.buffer.flush()
            return
        if path.exists() and not force:
            raise Mistake(f"{path} is there already; --force replaces it.")
    for path, content in files.items():
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    note(f"Wrote {_listed(files)}.")


def _listed(paths: Iterable[Path]) -> str:
    return ", ".join(map(str, paths))
