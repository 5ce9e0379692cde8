"""`domogate` with a clock that another process can shift. Run it as a module.

The file that CLOCK_SHIFT names has the shift in seconds, as a double. It is mapped into memory, so each look at the clock is
cheap and sees the present shift.
"""

import mmap
import os
import struct
import time
from pathlib import Path

from domogate.app import parts
from domogate.cli import main
from domogate.services import backups
from domogate.services.plants import history

SHIFT = "CLOCK_SHIFT"
"""The environment variable that names the file."""
CHECKS = "CLOCK_CHECKS"
"""The environment variable with the seconds between two checks of the clock and of the backups, if they must be short."""
_SECONDS = struct.Struct("d")


def shift_clock(path: str) -> None:
    with Path(path).open("rb") as file:
        memory = mmap.mmap(file.fileno(), _SECONDS.size, access=mmap.ACCESS_READ)
    parts.SystemClock.now = staticmethod(lambda: time.time() + _SECONDS.unpack_from(memory)[0])


def write_shift(path: Path, seconds: float) -> None:
    """In place, because the file is mapped."""
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(_SECONDS.pack(seconds))


if __name__ == "__main__":
    shift_clock(os.environ[SHIFT])
    if CHECKS in os.environ:
        backups.CHECK_EVERY = history._CHECK_EVERY = float(os.environ[CHECKS])
    main()
