"""A disk that a test can fill: a small file system of its own or, where nothing may be mounted, a limit for the process."""

import errno
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SIZE = 64 << 20
_PIECE = 1 << 16


@dataclass
class SmallDisk:
    """A folder on a small disk. `fill` and `free` are for the process that writes to it."""

    folder: Path
    is_mounted: bool

    def fill(self, process_id: int) -> None:
        """From now on, no file in the folder can grow."""
        if not self.is_mounted:
            limit_files(process_id, 0)
            return
        with (self.folder / "filling").open("ab", buffering=0) as file:
            piece = _PIECE
            while piece:
                try:
                    file.write(bytes(piece))
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    piece //= 2

    def free(self, process_id: int) -> None:
        if self.is_mounted:
            (self.folder / "filling").unlink()
        else:
            limit_files(process_id, None)


def limit_files(process_id: int, most: int | None) -> None:
    """Set the size that a file of this process can have. Without a limit, files can grow again."""
    _, hard = resource.prlimit(process_id, resource.RLIMIT_FSIZE)
    resource.prlimit(process_id, resource.RLIMIT_FSIZE, (hard if most is None else most, hard))


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "domogate-test", str(folder)]
    is_mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0
    try:
        yield SmallDisk(folder, is_mounted)
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)
