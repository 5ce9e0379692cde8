"""Numbers that two codes measure with their own benchmarks, in turn, for `./dev bench --against COMMIT`.

These benchmarks call functions of their code, or use its tests. So each code runs its own benchmark in a process of its own,
and the number is read from the row that this process prints.
"""

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.servers import Code

_ROOT = Path(__file__).parent.parent
_ROUNDS = 3
_RATE = r"[^|]*\| [^|]*\(([\d,]+) / "
"""The rest of a row that compares a rate with the most that are possible: `| ratio (rate / most) |`."""


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


def measure_numbers(codes: Sequence[Code], chosen: Sequence[str]) -> Iterator[tuple[Number, list[list[float]]]]:
    """Yield each number of the chosen scenarios, and a list for each code: what it measured in each round."""
    for number in NUMBERS:
        if number.scenario in chosen:
            measured: list[list[float]] = [[] for _ in codes]
            for _ in range(_ROUNDS):
                for code, values in zip(codes, measured, strict=True):
                    values.append(_measure(code, number))
            yield number, measured


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
    """Return the number in the output of `./dev bench`. Raises RuntimeError with the errors if the output has no such row."""
    found = re.search(rf"^\| {number.row}", output, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"the scenario {number.scenario} printed no row about {number.what!r}\n{output}{errors}")
    return float(found[1].replace(",", ""))
