"""`domogate readings export`: what modules measured, as CSV, written as it is read."""

import csv
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TextIO

import typer

from domogate.app import Tools, open_tools
from domogate.cli._command import Mistake, WrongUsage, command
from domogate.cli._devices import find_modules
from domogate.cli._output import Force, iso, note
from domogate.cli._people import find_plant
from domogate.cli._words import parse_moment, parse_resolution
from domogate.domain.ids import Id
from domogate.domain.states import ReadingSummary
from domogate.settings import Settings

readings = typer.Typer(help="Readings: export what modules measured.", no_args_is_help=True)

_DAY = 86_400.0
_WHAT = ("module", "name", "measure", "unit", "at")
_SUMMARY = ("count", "mean", "low", "high", "last")


def register(cli: typer.Typer) -> None:
    cli.add_typer(readings, name="readings")


@readings.callback()
def _nouns() -> None:
    """A group although it has one command: `readings export`, as `estate export`."""


@command(readings, "export")
async def export(
    settings: Settings,
    modules: Annotated[
        list[str] | None, typer.Argument(metavar="[MODULE]...", help="By id in either spelling, or by name.")
    ] = None,
    plant: Annotated[str | None, typer.Option(metavar="PLANT", help="All modules of this plant, by id or name.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="2026-11-15T08:30:00Z, a day, or seconds; a day before --until.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="The same; now by default.")] = None,
    resolution: Annotated[
        str | None, typer.Option(metavar="TIME", help="Summaries of so long: 15m, 1h, 1d; each reading by default.")
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Only this (power, energy, temperature, humidity); again for each.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write it; standard output when left out.")] = None,
    force: Force = False,
) -> None:
    """Write what modules measured as CSV, module by module, the oldest first."""
    if bool(modules) == (plant is not None):
        raise WrongUsage("say of what: one or more modules, or --plant PLANT for all of its modules.")
    width = None if resolution is None else parse_resolution(resolution)
    if out is not None and out.exists() and not force:
        raise Mistake(f"{out} is there already; --force replaces it.")
    async with open_tools(settings) as tools:
        end = tools.clock.now() if until is None else parse_moment(until)
        begin = end - _DAY if since is None else parse_moment(since)
        if begin > end:
            raise WrongUsage("--since is after --until.")
        names = await _choose(tools, modules or (), plant)
        written = 0
        with _sink(out) as sink:
            rows = csv.writer(sink, lineterminator="\n")
            rows.writerow((*_WHAT, *(("value",) if width is None else _SUMMARY)))
            async for page in tools.history.export(tuple(names), begin, end, width):
                wanted = [one for one in page if not measure or one[1].measure in measure]
                rows.writerows(_row(module_id, names[module_id], one, width) for module_id, one in wanted)
                written += len(wanted)
        kept = tools.history.kept_since(width)
    if out is not None:
        note(f"Wrote {written} rows into {out}.")
    if begin < kept and since is not None:
        note(f"Of this resolution nothing is kept from before {iso(kept)}.")


async def _choose(tools: Tools, modules: Sequence[str], plant: str | None) -> dict[Id, str]:
    if plant is None:
        return {module.id: module.name for _, module in await find_modules(tools, modules)}
    stored = await tools.store.find_plant((await find_plant(tools, plant)).id)
    return {} if stored is None else {module.id: module.name for module in stored.topology.every_module()}


def _row(module_id: Id, name: str, one: ReadingSummary, width: float | None) -> tuple[str | float, ...]:
    at = datetime.fromtimestamp(one.at, UTC).isoformat(timespec="milliseconds" if width is None else "seconds")
    told = (one.last,) if width is None else (one.count, one.mean, one.low, one.high, one.last)
    return (module_id, name, one.measure, one.unit.value, at, *told)


@contextmanager
def _sink(out: Path | None) -> Iterator[TextIO]:
    """A file is there whole or not at all."""
    if out is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            yield file
        Path(name).replace(out)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
