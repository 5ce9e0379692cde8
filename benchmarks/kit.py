"""The test kit: its start, a reset, and a hundred tests of an application."""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.load import cpu_seconds
from benchmarks.scenarios import Row, Scenario, at_most
from domogate.testing import Estate, Gateway
from domogate.testing.process import GatewayProcess

_ROUNDS, _RESETS = 5, 50
_IMPORTS = "import gc; gc.disable(); import domogate.app.serving, domogate.app.resettable, domogate.cli.demo"
_PLUGIN = Path(__file__).parent.parent / "clients" / "pytest-domogate" / "src"
_TESTS = """
import pytest
from domogate.testing import Estate

estate = Estate()
anna = estate.user("anna@example.com")
home = estate.plant("Home", owner=anna)
lamp = home.room("Kitchen", type="kitchen").light("Lamp", on=True, level=80)
PATH = f"/homeauto/v1.0/light/lighting/addressLocation/plants/{home.id}/modules/parameter/id/value/{lamp.id}"

@pytest.fixture(scope="session")
def domogate_estate():
    return estate

@pytest.mark.parametrize("number", range(100))
def test_switch(gateway, number):
    headers = gateway.headers(anna)
    assert gateway.request("GET", PATH, headers=headers).json()["lights"][0]["status"] == "on"
    assert gateway.request("POST", PATH, headers=headers, body={"status": "off"}).status == 200
"""


async def kit() -> AsyncIterator[Row]:
    """A gateway of the test kit with a small estate. The CPU times are those of its process."""
    _import_packages()  # Now the bytecode is there, if Python may write it.
    imports, waits, starts, cpu_resets, resets = [], [], [], [], []
    for _ in range(_ROUNDS):
        imports.append(_import_packages())
        begun = time.perf_counter()
        process = GatewayProcess()
        try:
            gateway = Gateway(process.serve(_build_estate(), 600.0))
            waits.append(time.perf_counter() - begun)
            starts.append(cpu_seconds(process.pid))
            gateway.reset()
            before = cpu_seconds(process.pid)
            resets += [_time_reset(gateway) for _ in range(_RESETS)]
            cpu_resets.append((cpu_seconds(process.pid) - before) / _RESETS)
            gateway.close()
        finally:
            process.stop()
    start, reset = statistics.median(starts), statistics.median(cpu_resets)
    imported = statistics.median(imports)
    yield at_most("Test kit: start", statistics.median(waits), 1, " s")
    yield at_most(f"Test kit: CPU time of a start ({start:.2f} s), import of its packages = 1", start / imported, 1.5)
    yield at_most(f"Test kit: CPU time of a reset ({reset * 1000:.0f} ms), start = 1", reset / start, 0.05)
    yield at_most("Test kit: reset", statistics.median(resets) * 1000, 50, " ms")
    seconds, cpu = _time_tests()
    yield at_most(f"Test kit: start and 100 tests with a reset each, with pytest ({cpu:.1f} s CPU)", seconds, 12, " s")


def _build_estate() -> Estate:
    estate = Estate()
    home = estate.plant("Home", owner=estate.user("anna@example.com"))
    home.room("Kitchen", type="kitchen").light("Lamp", on=True, level=80)
    return estate


def _import_packages() -> float:
    before = _cpu_of_children()
    subprocess.run([sys.executable, "-c", _IMPORTS], check=True)
    return _cpu_of_children() - before


def _cpu_of_children() -> float:
    """Return the CPU time of all processes that have ended: those of this process, and those that they started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _time_reset(gateway: Gateway) -> float:
    begun = time.perf_counter()
    gateway.reset()
    return time.perf_counter() - begun


def _time_tests() -> tuple[float, float]:
    """Return the time and the CPU time of a run of pytest, with its gateway."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "test_switch.py").write_text(_TESTS)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest_domogate", "-p", "no:cacheprovider", folder]
        # The other plugins of our environment are not part of the kit.
        environment = os.environ | {"PYTHONPATH": str(_PLUGIN), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        begun, before = time.perf_counter(), _cpu_of_children()
        subprocess.run(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return time.perf_counter() - begun, _cpu_of_children() - before


KIT: dict[str, Scenario] = {"kit": kit}
