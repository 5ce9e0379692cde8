"""`./dev bench --against COMMIT`: compares this code with the code of another commit, on this machine.

The speed of a machine changes. So a number from another day does not show what a change of the code brought. Here both codes
run at the same time, each with its own packages and its own data. They are measured in turn, in short slices.
"""

import asyncio
import statistics
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.load import Load, request
from benchmarks.own_rows import NUMBERS, NotMeasured, measure_number
from benchmarks.scenarios import SETTLE, Row, Work, light_path, plugs_path, ratios, take_rounds
from benchmarks.servers import OWN, Code, Running, running_code
from benchmarks.start import time_command, time_start
from domogate.domain.people import TokenKind

_ROOT = Path(__file__).parent.parent
_ROUNDS = 7
"""Each round starts new processes, because a process can be slower than another one for its whole life."""
_PLANTS, _MODULES, _ROOMS = 32, 100, 10
_FILL = f"""
import asyncio, pathlib, sys
from benchmarks.servers import fill
asyncio.run(fill(pathlib.Path(sys.argv[1]), plants={_PLANTS}, modules={_MODULES}))
"""


def fetch_code(commit: str) -> tuple[str, Code]:
    """Return the short name of the commit, and its code with its own packages in `.dev/against`.

    Raises ValueError if this repository does not have the commit, or if the commit has no benchmarks.
    """
    found = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"], cwd=_ROOT, stdout=subprocess.PIPE
    )
    if found.returncode:
        raise ValueError(f"this repository has no commit {commit}")
    name = found.stdout.decode().strip()[:12]
    folder = _ROOT / ".dev" / "against" / name
    if not (folder / ".git").exists():
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(_ROOT), str(folder)], check=True)
        subprocess.run(["git", "checkout", "--quiet", name], cwd=folder, check=True)
    # `--help` measures nothing, but installs what the benchmarks of the commit need.
    if subprocess.run(["./dev", "bench", "--help"], cwd=folder, stdout=subprocess.DEVNULL).returncode:
        raise ValueError(f"the benchmarks of the commit {commit} cannot be installed (see above)")
    return name, Code(str(folder / ".dev" / "venv" / "bin" / "python"), folder)


SCENARIOS = ("reads", "commands", "start", *(number.scenario for number in NUMBERS))
"""The scenarios of which two codes can be compared."""


async def against(commit: str, chosen: Sequence[str] = SCENARIOS) -> AsyncIterator[Row]:
    """This code compared with the code of a commit. `chosen` are names of scenarios."""
    name, other = fetch_code(commit)
    with TemporaryDirectory() as folder:
        codes = {OWN: Path(folder) / "own", other: Path(folder) / "other"}
        for code, data in codes.items():
            subprocess.run([code.python, "-c", _FILL, str(data)], cwd=code.folder, check=True)
        if "reads" in chosen:
            reads = await _take_rounds(codes, _list_reads, connections=8)
            yield _compare_rates(f"E8 hot read / the same at {name}", *reads)
        if "commands" in chosen:
            commands = await _take_rounds(codes, _list_commands, connections=32)
            yield _compare_rates(f"durable commands / the same at {name}", *commands)
    if "start" in chosen:
        with TemporaryDirectory() as folder:
            starts, lists = _time_processes([OWN, other], Path(folder))
            yield _compare(f"from process start to ready / the same at {name}", "s", *starts)
            yield _compare(f"`domogate key list` / the same at {name}", "s", *lists)
    for number in NUMBERS:
        if number.scenario in chosen:
            what = f"{number.what} / the same at {name}"
            try:
                yield _compare(what, number.unit, *measure_number([OWN, other], number))
            except NotMeasured as reason:  # for example, the benchmark did not work at this commit
                yield Row(what, f"not measured: {reason}")


def _list_reads(server: Running) -> list[bytes]:
    headers = server.headers()
    return [request("GET", light_path(plant, 0), headers) for plant in range(_PLANTS)]


def _list_commands(server: Running) -> list[bytes]:
    headers = server.headers(TokenKind.ACCESS)
    return [
        request("POST", plugs_path(plant, room), headers, b'{"status":"%s"}' % status)
        for status in (b"on", b"off")
        for plant in range(_PLANTS)
        for room in range(_ROOMS)
    ]


async def _take_rounds(
    codes: dict[Code, Path], requests_to: Callable[[Running], Sequence[bytes]], *, connections: int
) -> tuple[list[Load], list[Load]]:
    own, others = [], []
    (code, data), (other_code, other_data) = codes.items()
    for _ in range(_ROUNDS):
        with (
            running_code(code, "gateway", data=data) as one,
            running_code(other_code, "gateway", data=other_data) as other,
        ):
            await asyncio.sleep(SETTLE)
            works = [Work(server, requests_to(server), connections) for server in (one, other)]
            (load,), (other_load,) = await take_rounds(works, rounds=1)
        own.append(load)
        others.append(other_load)
    return own, others


def _time_processes(codes: Sequence[Code], folder: Path) -> tuple[list[list[float]], list[list[float]]]:
    """Return the seconds of the starts and of `domogate key list`: a list for each code."""
    starts: list[list[float]] = [[] for _ in codes]
    lists: list[list[float]] = [[] for _ in codes]
    ready = folder / "ready.json"
    for number, code in enumerate(codes):
        time_start("demo", folder / f"data-{number}", ready, code)  # This start makes the data.
    for _ in range(_ROUNDS):
        for number, code in enumerate(codes):
            data = folder / f"data-{number}"
            starts[number].append(time_start("serve", data, ready, code))
            lists[number].append(time_command("key", "list", "--data", str(data), code=code))
    return starts, lists


def _compare_rates(what: str, own: Sequence[Load], others: Sequence[Load]) -> Row:
    rates = [statistics.median(load.per_cpu_second for load in loads) for loads in (own, others)]
    return Row(what, f"{_span(ratios(own, others))} ({rates[0]:,.0f} / {rates[1]:,.0f} per CPU-second)")


def _compare(what: str, unit: str, own: Sequence[float], others: Sequence[float]) -> Row:
    found = [one / other for one, other in zip(own, others, strict=True)]
    middle = " / ".join(
        f"{median:,.0f}" if median > 100 else f"{median:.2f}" for median in map(statistics.median, (own, others))
    )
    return Row(what, f"{_span(found)} ({middle} {unit})")


def _span(found: Sequence[float]) -> str:
    return f"{statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f})"
