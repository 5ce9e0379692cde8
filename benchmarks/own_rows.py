"""Numbers that two codes measure with their own benchmarks, in turn, for `./dev bench --against COMMIT`.

These benchmarks call functions of their code, or use its tests. So each code runs its own benchmark in a process of its own,
and the number is read from the row that this process prints.
"""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.servers import Code

_ROOT = Path(__file__).parent.parent
_ROUNDS = 3
_RATE = r"[^|]*\| [^|]*\(([\d,]+) / "
"""The rest of a row that compares a rate with the most that are possible: `| ratio (rate / most) |`."""


class NotMeasured(Exception):
    """The benchmark of a code printed no such row. The message says why."""


class Number(NamedTuple):
    """A number that a benchmark prints."""

    scenario: str
    """The scenario of `./dev bench` that prints it."""
    what: str
    unit: str
    row: str
    """The pattern of its row. The group is the number."""


NUMBERS = (
    Number("refreshes", "refreshes", "per CPU-second", "refreshes per CPU-second" + _RATE),
    Number("tickets", "tickets redeemed", "per CPU-second", "tickets redeemed per CPU-second" + _RATE),
    Number(
        "streams",
        "events sent to listeners",
        "per CPU-second",
        r"SSE: events sent to listeners per CPU-second, commits included \| ([\d,]+)",
    ),
    Number(
        "webhooks",
        "webhook deliveries",
        "per CPU-second",
        r"Webhooks: deliveries per CPU-second, commits included \| ([\d,]+)",
    ),
    Number("readings", "a million readings recorded", "s CPU", r"a million readings: recorded in \| [^|]*\(([\d.]+) s CPU\)"),
    Number("memory", "idle memory with the demo estate", "MB", r"idle memory with the demo estate \| ([\d.]+) MB"),
    Number(
        "growth",
        "E8 on a plant of 100 modules that is not held",
        "ms CPU",
        r"E8 on a plant of 100 modules that is not (?:held|cached) \| ([\d.]+) ms CPU",
    ),
)


def measure_number(codes: Sequence[Code], number: Number) -> list[list[float]]:
    """Return a list for each code: what it measured in each round. Raises NotMeasured."""
    measured: list[list[float]] = [[] for _ in codes]
    for _ in range(_ROUNDS):
        for code, values in zip(codes, measured, strict=True):
            values.append(_measure(code, number))
    return measured


def _measure(code: Code, number: Number) -> float:
    # The exit code is 1 if a limit is missed, which does not matter here.
    run = subprocess.run(
        [code.python, "-m", "benchmarks", number.scenario],
        cwd=code.folder or _ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return find_number(number, run.stdout, run.stderr)


def find_number(number: Number, output: str, errors: str = "") -> float:
    """Return the number in the output of `./dev bench`. Raises NotMeasured with the error if the output has no such row."""
    found = re.search(rf"^\| {number.row}", output, re.MULTILINE)
    if found is None:
        reasons = [line for line in errors.splitlines() if "Error" in line] or errors.splitlines() or ["no such row"]
        raise NotMeasured(reasons[-1])
    return float(found[1].replace(",", ""))
