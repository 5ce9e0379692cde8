"""`domogate readings export`: measured values as CSV, written page by page."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from domogate.app import Tools
from domogate.cli._command import WrongUsage, command, group, reading
from domogate.cli._files import Force, check_free, open_output
from domogate.cli._names import find_modules, find_plant
from domogate.cli._options import argument, option
from domogate.cli._output import iso, note
from domogate.cli._words import TIME_HELP, parse_resolution, parse_time
from domogate.common.spreadsheet import print_csv
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.states import ReadingSummary
from domogate.settings import Settings

commands = group("readings")

_DAY = 86_400.0
_WHAT = ("module", "name", "measure", "unit", "at")
_SUMMARY = ("count", "mean", "low", "high", "last")


@command(commands, "export")
async def export(
    settings: Settings,
    modules: Annotated[list[str] | None, argument("MODULE", "Modules, by id or name.")] = None,
    plant: Annotated[str | None, option("PLANT", "All modules of this plant, by id or name, instead of MODULE.")] = None,
    since: Annotated[
        str | None, option("TIME", f"Begin: {TIME_HELP}, or seconds since the epoch. Default: one day before --until.")
    ] = None,
    until: Annotated[str | None, option("TIME", "End, in the form of --since. Default: now.")] = None,
    resolution: Annotated[
        str | None,
        option("DURATION", "One summary for each period of this length, such as 15m, 1h or 1d. Default: every reading."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        option("WORD", "Only this measure: power, energy, temperature or humidity; may be repeated. Default: all."),
    ] = None,
    out: Annotated[Path | None, option("FILE", "File to write. Default: standard output.")] = None,
    force: Force = False,
) -> None:
    """Write measured values as CSV, module by module. The oldest value is first.

    Example: `domogate readings export "Coffee machine" --since 2026-11-01 --resolution 1h --out coffee.csv`
    """
    if bool(modules) == (plant is not None):
        raise WrongUsage("name one or more modules, or add --plant PLANT for all modules of a plant.")
    width = None if resolution is None else parse_resolution(resolution)
    check_free(out, force)
    async with reading(settings) as tools:
        end = tools.clock.now() if until is None else parse_time(until)
        begin = end - _DAY if since is None else parse_time(since)
        if begin > end:
            raise WrongUsage("--since must not be after --until.")
        chosen = await _choose(tools, modules or (), plant)
        written = 0
        with open_output(out) as output:
            output.write(_csv([(*_WHAT, *(("value",) if width is None else _SUMMARY), "simulated")]))
            async for page in tools.history.export(tuple(chosen), begin, end, width):
                wanted = [one for one in page if not measure or one[1].measure in measure]
                output.write(_csv(_row(chosen[module_id], one, width) for module_id, one in wanted))
                written += len(wanted)
        kept = tools.history.kept_since(width)
    if out is not None:
        note(f"Wrote {written} rows to {out}.")
    if begin < kept and since is not None:
        note(f"Readings of this resolution are kept only since {iso(kept)}.")


async def _choose(tools: Tools, modules: Sequence[str], plant: str | None) -> dict[Id, Module]:
    if plant is None:
        return {module.id: module for _, module in await find_modules(tools, modules)}
    stored = await tools.store.find_plant((await find_plant(tools, plant)).id)
    return {} if stored is None else {module.id: module for module in stored.topology.every_module()}


def _row(module: Module, one: ReadingSummary, width: float | None) -> tuple[str | float, ...]:
    at = datetime.fromtimestamp(one.at, UTC).isoformat(timespec="milliseconds" if width is None else "seconds")
    values = (one.last,) if width is None else (one.count, one.mean, one.low, one.high, one.last)
    simulated = "yes" if module.is_simulated else "no"
    return (module.id, module.name, one.measure, one.unit.value, at, *values, simulated)


def _csv(rows: Iterable[Sequence[str | float]]) -> bytes:
    return print_csv(rows, line_end="\n").encode()
