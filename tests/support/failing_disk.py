"""A disk that the kernel makes read-only while files on it are open for writing, as it does after an error of the disk."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SIZE = 128 << 20
_SBIN = "/usr/sbin:/sbin"
"""The programs for file systems are there. The folder is often not on the path."""


class FailingDisk:
    """An ext4 file system in a file, at a mount point. Mounting needs the rights of root."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._image = folder.with_name(f"{folder.name}.ext4")

    def create(self) -> None:
        with self._image.open("wb") as file:
            file.truncate(SIZE)
        subprocess.run([_find("mkfs.ext4"), "-q", "-F", self._image], check=True)
        self._folder.mkdir()

    def mount(self) -> bool:
        """Mount the disk. Return False if this is not allowed here."""
        command = ["mount", "-t", "ext4", "-o", "loop,errors=remount-ro", str(self._image), str(self._folder)]
        return subprocess.run(command, capture_output=True).returncode == 0

    def unmount(self) -> None:
        """Fails while a process uses the disk."""
        subprocess.run(["umount", self._folder], check=True)

    def remove(self) -> None:
        """Unmount the disk, even if a process uses it."""
        subprocess.run(["umount", "-l", self._folder], check=True)

    def fail(self) -> None:
        """Report an error to the kernel, which then refuses all writes to the disk."""
        subprocess.run(["mount", "-o", "remount,abort", self._folder], check=True)

    def allow_writes(self) -> bool:
        """Ask the kernel to accept writes again. Return whether it does."""
        return subprocess.run(["mount", "-o", "remount,rw", self._folder], capture_output=True).returncode == 0

    def repair(self) -> None:
        """Repair the file system. It must not be mounted."""
        assert subprocess.run([_find("fsck.ext4"), "-p", self._image], capture_output=True).returncode in (0, 1)  # 1: repaired


def _find(program: str) -> str:
    found = shutil.which(program, path=_SBIN)
    assert found is not None, program
    return found


@contextmanager
def failing_disk(folder: Path) -> Iterator[FailingDisk]:
    if os.geteuid() != 0 or shutil.which("mkfs.ext4", path=_SBIN) is None:
        pytest.skip("only root can mount a disk, and mkfs.ext4 must exist")
    disk = FailingDisk(folder)
    disk.create()
    if not disk.mount():
        pytest.skip("root may not mount an ext4 file system here")
    try:
        yield disk
    finally:
        if os.path.ismount(folder):
            disk.remove()
