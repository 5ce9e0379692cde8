"""Something that takes long to build, built by one process of a test run for all of them."""

import os
from collections.abc import Callable
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest


def find_shared_folder(factory: pytest.TempPathFactory) -> Path:
    """The folder for the temporary files of all processes of a test run."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def build_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], object]) -> Path:
    """Return a folder with what `build` has written. The first process builds, and the others wait for it."""
    shared = find_shared_folder(factory)
    folder, unfinished = shared / name, shared / f"{name}.{os.getpid()}"
    with (shared / f"{name}.lock").open("wb") as lock:
        flock(lock, LOCK_EX)
        if not folder.exists():
            unfinished.mkdir()
            build(unfinished)
            unfinished.rename(folder)
    return folder
