"""The time from the start of a process until it is ready: of a gateway, and of a short command."""

import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.scenarios import Row, Scenario, at_most

_ROUNDS = 7
_DOMOGATE = (sys.executable, "-m", "domogate.cli")


async def start() -> AsyncIterator[Row]:
    """The start of a gateway on the data of the demo, and `domogate key list` on the same data."""
    with TemporaryDirectory() as folder:
        data, ready = f"{folder}/data", Path(folder) / "ready.json"
        _time_start("demo", data, ready)
        seconds = statistics.median(_time_start("serve", data, ready) for _ in range(_ROUNDS))
        yield at_most("from process start to ready, data of the demo there already", seconds, 0.6, " s")
        seconds = statistics.median(_time_command("key", "list", "--data", data) for _ in range(_ROUNDS))
        yield at_most("`domogate key list` on existing data", seconds, 0.35, " s")


def _time_start(command: str, data: str, ready: Path) -> float:
    started = time.perf_counter()
    arguments = [*_DOMOGATE, command, "--port", "0", "--data", data, "--ready-file", str(ready)]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not ready.exists():
            if process.poll() is not None:
                raise RuntimeError(f"domogate {command} did not start")
            time.sleep(0.005)
        return time.perf_counter() - started
    finally:
        process.terminate()
        process.wait(30)


def _time_command(*arguments: str) -> float:
    started = time.perf_counter()
    subprocess.run([*_DOMOGATE, *arguments], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


START: dict[str, Scenario] = {"start": start}
