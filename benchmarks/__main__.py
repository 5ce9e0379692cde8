"""`./dev bench [SCENARIO…] [--write]`: measures, prints each row at once, and fails if a limit is not met.

A scenario that fails does not stop the others. `--write` puts the table into docs/performance.md, between its two marks. If
scenarios are given, the other rows of the table stay. `--against COMMIT` compares this code with another commit instead.
"""

import argparse
import asyncio
import sys
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.against import SCENARIOS as COMPARABLE
from benchmarks.against import against
from benchmarks.busy import BUSY
from benchmarks.client import CLIENT
from benchmarks.cluster import CLUSTER
from benchmarks.cluster_requests import CLUSTER_REQUESTS
from benchmarks.identity import IDENTITY
from benchmarks.imports import IMPORTS
from benchmarks.kit import KIT
from benchmarks.million import MILLION
from benchmarks.mqtt import MQTT
from benchmarks.pages import PAGES
from benchmarks.peers import PEERS
from benchmarks.readings import READINGS
from benchmarks.reads import READS
from benchmarks.scenarios import SCENARIOS as COMMANDS_AND_SIZE
from benchmarks.scenarios import Row, Scenario
from benchmarks.start import START
from benchmarks.streams import STREAMS
from benchmarks.tickets import TICKETS
from benchmarks.webhooks import WEBHOOKS
from domogate.edge.server import loop_factory

SCENARIOS = READS | COMMANDS_AND_SIZE | IDENTITY | MQTT | READINGS | STREAMS | WEBHOOKS | TICKETS | IMPORTS | PAGES | CLUSTER
SCENARIOS |= CLUSTER_REQUESTS | MILLION | BUSY | START | KIT | CLIENT | PEERS
_PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
_BEGIN, _END = "<!-- table -->", "<!-- end of table -->"


_HEADER = "| what | measured | limit |\n|---|---|---|"


def _line(row: Row) -> str:
    return f"| {row.what} | {row.figure} | {row.limit}{'' if row.holds is not False else ' **missed**'} |"


def update_table(page: str, rows: Sequence[Row], *, keep_others: bool) -> str:
    """Return the page with these rows in its table.

    If `keep_others` is true, the other rows stay, and a row that the table already has keeps its place.
    """
    before, rest = page.split(_BEGIN)
    table, after = rest.split(_END)
    lines = {row.what: _line(row) for row in rows}
    earlier = table.strip().removeprefix(_HEADER).strip().splitlines() if keep_others else []
    kept = [lines.pop(line.removeprefix("| ").split(" | ")[0], line) for line in earlier]
    return before + "\n".join([_BEGIN, _HEADER, *kept, *lines.values(), _END]) + after


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Return `scenarios`, `write` (whether to write the table), and `against` (a commit or None)."""
    parser = argparse.ArgumentParser(prog="./dev bench", description="Measure, and fail when a limit is not met.")
    parser.add_argument(
        "scenarios",
        nargs="*",
        metavar="SCENARIO",
        help=f"one or more of {', '.join(SCENARIOS)}; default: all but {', '.join(PEERS)}",
    )
    parser.add_argument("--write", action="store_true", help="put the rows into the table of docs/performance.md")
    parser.add_argument("--against", metavar="COMMIT", help="compare this code with the code of a commit, without limits")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.scenarios if name not in SCENARIOS]:
        parser.error(f"unknown scenario {', '.join(unknown)}; the scenarios are {', '.join(SCENARIOS)}")
    if options.against is not None:
        if options.write:
            parser.error("--against has its own rows: it cannot be used with --write")
        if other := [name for name in options.scenarios if name not in COMPARABLE]:
            parser.error(f"--against cannot compare {', '.join(other)}; it compares {', '.join(COMPARABLE)}")
    return options


def _choose(options: argparse.Namespace) -> dict[str, Scenario]:
    if options.against is not None:
        chosen = options.scenarios or COMPARABLE
        return {f"this code and {options.against}": partial(against, options.against, chosen)}
    return {name: SCENARIOS[name] for name in options.scenarios or [name for name in SCENARIOS if name not in PEERS]}


def main(arguments: list[str]) -> int:
    options = parse_arguments(arguments)
    rows: list[Row] = []
    failed: list[str] = []
    print(_HEADER, flush=True)
    for name, scenario in _choose(options).items():
        print(f"measuring {name} …", file=sys.stderr)
        try:
            with asyncio.Runner(loop_factory=loop_factory()) as runner:
                runner.run(_measure(scenario, rows))
        except ValueError as error:
            print(error, file=sys.stderr)
            failed.append(name)
        except Exception:
            traceback.print_exc()
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}; the other rows are valid", file=sys.stderr)
    elif options.write:
        _PAGE.write_text(update_table(_PAGE.read_text(), rows, keep_others=bool(options.scenarios)))
    return 1 if failed or any(row.holds is False for row in rows) else 0


async def _measure(scenario: Scenario, rows: list[Row]) -> None:
    async for row in scenario():
        rows.append(row)
        print(_line(row), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
