"""A folder that cannot be written, even by root."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def read_only_copy(folder: Path, copy: Path) -> Iterator[Path]:
    """Copy the folder to `copy`, which is read-only: on a file system of its own if we are root, otherwise by its mode."""
    copy.mkdir()
    is_root = os.geteuid() == 0
    if is_root and subprocess.run(["mount", "-t", "tmpfs", "domogate-test", copy], capture_output=True).returncode:
        pytest.skip("root may not mount here, and no mode stops root from writing")
    try:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        if is_root:
            subprocess.run(["mount", "-o", "remount,ro", copy], check=True)
        else:
            _set_writable(copy, False)
        yield copy
    finally:
        if is_root:
            subprocess.run(["umount", "-l", copy], check=True)
        else:
            _set_writable(copy, True)


def _set_writable(folder: Path, writable: bool) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod((0o700 if path.is_dir() else 0o600) if writable else (0o500 if path.is_dir() else 0o400))
