"""`./dev bench [SCENARIO…] [--write]`: measure, print the table, and fail if something demanded does not hold.

`--write` puts the table into docs/performance.md, between its two marks.
"""

import asyncio
import sys
from pathlib import Path

from benchmarks.identity import IDENTITY
from benchmarks.mqtt import MQTT
from benchmarks.readings import READINGS
from benchmarks.scenarios import SCENARIOS as READS_AND_COMMANDS
from benchmarks.scenarios import Row
from benchmarks.streams import STREAMS
from benchmarks.tickets import TICKETS
from benchmarks.webhooks import WEBHOOKS
from domogate.edge.server import loop_factory

SCENARIOS = READS_AND_COMMANDS | IDENTITY | MQTT | READINGS | STREAMS | WEBHOOKS | TICKETS
_PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
_BEGIN, _END = "<!-- table -->", "<!-- end of table -->"


def _table(rows: list[Row]) -> str:
    lines = ["| what | measured | demanded |", "|---|---|---|"]
    lines += [
        f"| {row.what} | {row.figure} | {row.demanded}{'' if row.holds is not False else ' **missed**'} |" for row in rows
    ]
    return "\n".join(lines)


def _write(table: str) -> None:
    page = _PAGE.read_text()
    before, after = page.split(_BEGIN)[0], page.split(_END)[1]
    _PAGE.write_text(f"{before}{_BEGIN}\n{table}\n{_END}{after}")


def main(arguments: list[str]) -> int:
    chosen = [name for name in arguments if not name.startswith("--")] or list(SCENARIOS)
    if unknown := [name for name in chosen if name not in SCENARIOS]:
        print(f"no scenario {', '.join(unknown)}; there are {', '.join(SCENARIOS)}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    for name in chosen:
        print(f"measuring {name} …", file=sys.stderr)
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            rows += runner.run(SCENARIOS[name]())
    table = _table(rows)
    print(table)
    if "--write" in arguments:
        _write(table)
    return 1 if any(row.holds is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
