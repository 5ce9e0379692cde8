"""The data folder of a new PostgreSQL server: made once in a test run, and then copied.

initdb takes longer than most tests.
"""

import shutil
import subprocess
from collections.abc import Callable
from fcntl import LOCK_EX, flock
from pathlib import Path

_shared: list[Path] = []


def share_prepared_data(folder: Path) -> None:
    """From now on, the servers of all processes with this folder share the prepared data. For tests only."""
    _shared[:] = [folder]


def make_data(data: Path, initialise: Callable[[], None]) -> None:
    """Make the folder `data` by `initialise`, or copy the folder that another server has made."""
    if not _shared:
        initialise()
        return
    prepared, unfinished = _shared[0] / "postgres-data", _shared[0] / "postgres-data.unfinished"
    with (_shared[0] / "postgres-data.lock").open("wb") as lock:
        flock(lock, LOCK_EX)
        if not prepared.exists():
            initialise()
            shutil.rmtree(unfinished, ignore_errors=True)
            _copy(data, unfinished)
            unfinished.rename(prepared)
            return
    _copy(prepared, data)


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", source, target], check=True)  # with the owner, who is not root
