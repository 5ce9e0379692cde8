"""The import of a large estate by the command line, while a gateway writes to the same database."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.estates import USER, build_plant, module_id, plant_id
from benchmarks.scenarios import Row, Scenario
from domogate.app.parts import SystemClock, open_store
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate
from domogate.domain.states import LightState, Report
from domogate.estate import print_in_parts
from domogate.settings import Settings
from domogate.stores import SqlStore

_PLANTS, _EACH = 1_000, 100
LEAST_A_SECOND, MOST_MIB, _LONGEST_WAIT = 5_000, 250, 1.0
_RUN = """
import sys
from pathlib import Path
from domogate.cli import main
report = sys.argv.pop()
try:
    main()
finally:
    Path(report).write_text(Path("/proc/self/status").read_text())
"""


class Import(msgspec.Struct, frozen=True):
    """The time and memory of one run of `domogate estate import`."""

    seconds: float
    cpu_seconds: float
    peak_mib: float


async def large_import() -> AsyncIterator[Row]:
    """A file of 100,000 modules. A lamp of another plant reports all the time."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "estate.yaml"
        plants = (build_plant(number, _EACH) for number in range(1, _PLANTS + 1))
        with file.open("w") as text:
            text.writelines(print_in_parts(Estate(users=(USER,)), plants))
        data = Path(folder) / "data"
        store = open_store(Settings(data=data), SystemClock(), gateway=True)
        await store.start()
        try:
            await store.import_estate(Estate(users=(USER,), plants=(build_plant(0, 10),)), prune=False)
            importing = asyncio.create_task(asyncio.to_thread(run_import, file, data))
            waits = [await _write(store, number) async for number in _until(importing)]
            done = await importing
        finally:
            await store.stop()
    modules = _PLANTS * _EACH
    rate = modules / done.cpu_seconds
    figure = f"{rate:,.0f} ({modules / done.seconds:,.0f} per second)"
    yield Row("Import: modules per CPU-second", figure, f"≥ {LEAST_A_SECOND:,}", rate >= LEAST_A_SECOND)
    yield Row("Import: peak memory", f"{done.peak_mib:,.0f} MiB", f"≤ {MOST_MIB} MiB", done.peak_mib <= MOST_MIB)
    longest = max(waits)
    figure = f"{longest * 1000:,.0f} ms"
    yield Row("Import: longest wait of a write meanwhile", figure, f"≤ {_LONGEST_WAIT:g} s", longest <= _LONGEST_WAIT)


async def _until(task: asyncio.Task[Import]) -> AsyncIterator[int]:
    number = 0
    while not task.done():
        yield number
        number += 1
        await asyncio.sleep(0.01)


async def _write(store: SqlStore, number: int) -> float:
    begun = time.perf_counter()
    lamp = module_id(0, DeviceKind.LIGHT, 0)
    await store.record([Report(plant_id(0), lamp, time.time(), LightState(on=True, level=number % 100))])
    return time.perf_counter() - begun


def run_import(file: Path, data: Path, **settings: str) -> Import:
    """Import the file in its own process. The settings are those of a PostgreSQL database."""
    report = file.with_suffix(".status")
    command = [sys.executable, "-c", _RUN, "estate", "import", str(file), "--data", str(data), str(report)]
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, env=os.environ | {f"DOMOGATE_{name.upper()}": value for name, value in settings.items()}
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError("the import failed")
    # Not from `usage`: its peak is that of the process which started this one, if that was larger.
    (peak,) = (line.split()[1] for line in report.read_text().splitlines() if line.startswith("VmHWM:"))
    return Import(time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, int(peak) / 1024)


IMPORTS: dict[str, Scenario] = {"imports": large_import}
