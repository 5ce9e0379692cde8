"""Settings for all tests: Hypothesis has no deadlines, the fast loop tries fewer examples, and the soak more."""

import asyncio
import gc
import os
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support import processes
from support.built_once import find_shared_folder
from support.examples import FAST_EXAMPLES, FAST_PROFILE, LONG_PROFILE
from support.prepared_data import share_prepared_data
from support.shared_tls import share_tls_context
from support.virtual_time import use_virtual_time

settings.register_profile("whole", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(FAST_PROFILE, parent=settings.get_profile("whole"), max_examples=FAST_EXAMPLES)
settings.register_profile(LONG_PROFILE, parent=settings.get_profile("whole"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "whole"))

_SLOW_FOLDERS = {"stores", "cli", "sdk", "conformance_tool", "recording", "docsite"}
"""Folders that wait for a disk or start commands, and folders of tools around the gateway. The fast loop runs only the files in
_FAST_FILES from them.
"""
_FAST_FILES = {"test_store_states.py", "test_command_flags.py", "test_redaction.py"}


_FAST_LOOP = "not slow or story"
"""The value of -m in `./dev test fast`."""
_is_slow_file = re.compile(r"^pytestmark = .*\bmark\.slow\b", re.MULTILINE).search


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """In the fast loop, do not import a file or a folder without a fast test: the imports take seconds."""
    if config.option.markexpr != _FAST_LOOP:
        return None
    files = [collection_path] if collection_path.is_file() else list(collection_path.rglob("test_*.py"))
    return (bool(files) and not any(map(_may_be_fast, files))) or None


@cache
def _may_be_fast(file: Path) -> bool:
    text = file.read_text()
    return "mark.story" in text or (not _is_in_slow_folder(file) and _is_slow_file(text) is None)


def _is_in_slow_folder(path: Path) -> bool:
    return path.parent.name in _SLOW_FOLDERS and path.name not in _FAST_FILES


def pytest_configure(config: pytest.Config) -> None:
    config.add_cleanup(processes.use_fork_server().close)
    config.add_cleanup(share_tls_context().undo)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _is_in_slow_folder(item.path):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("first") is None)


def pytest_collection() -> None:
    gc.disable()  # collecting makes a million objects, and all of them stay


def pytest_collection_finish() -> None:
    gc.freeze()  # the collector of the tests does not look at them again
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """All processes of a test run share the data of a new PostgreSQL server, and the process that forks."""
    folder = find_shared_folder(tmp_path_factory)
    share_prepared_data(folder)
    processes.use_fork_server().shared = folder


@pytest.fixture
async def virtual_time() -> None:
    """The event loop of the test does not wait for timers (see support/virtual_time.py)."""
    use_virtual_time(asyncio.get_running_loop())
