"""The time from the start of a process until it is ready: of a gateway, and of a short command."""

import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.scenarios import Row, Scenario, median_at_most
from benchmarks.servers import OWN, Code

_ROUNDS = 7


async def start() -> AsyncIterator[Row]:
    """The start of a gateway on the data of the demo, and `domogate key list` on the same data."""
    with TemporaryDirectory() as folder:
        data, ready = Path(folder) / "data", Path(folder) / "ready.json"
        time_start("demo", data, ready)
        starts, lists = [], []
        for _ in range(_ROUNDS):
            starts.append(time_start("serve", data, ready))
            lists.append(time_command("key", "list", "--data", str(data)))
        yield median_at_most("from process start to ready, data of the demo there already", starts, 0.6, " s")
        yield median_at_most("`domogate key list` on existing data", lists, 0.35, " s")


def time_start(command: str, data: Path, ready: Path, code: Code = OWN) -> float:
    """Return the seconds from the start of `domogate COMMAND` until the gateway is ready."""
    started = time.perf_counter()
    arguments = ["-m", "domogate.cli", command, "--port", "0", "--data", str(data), "--ready-file", str(ready)]
    process = subprocess.Popen([code.python, *arguments], cwd=code.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not ready.exists():
            if process.poll() is not None:
                raise RuntimeError(f"domogate {command} did not start")
            time.sleep(0.005)
        return time.perf_counter() - started
    finally:
        process.terminate()
        process.wait(30)


def time_command(*arguments: str, code: Code = OWN) -> float:
    """Return the seconds that `domogate ARGUMENTS` takes."""
    started = time.perf_counter()
    subprocess.run([code.python, "-m", "domogate.cli", *arguments], cwd=code.folder, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


START: dict[str, Scenario] = {"start": start}
