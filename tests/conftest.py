"""For all tests: a slow moment of a busy machine is not a failure; the fast subset tries fewer examples, the soak more."""

import asyncio
import os

import pytest
import structlog
from hypothesis import HealthCheck, settings

from support import launching
from support.examples import LONG_PROFILE
from support.leaping import leap
from support.statements import compile_statements_once
from support.tables import make_tables_at_once

settings.register_profile("whole", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fast", parent=settings.get_profile("whole"), max_examples=10)
settings.register_profile(LONG_PROFILE, parent=settings.get_profile("whole"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "whole"))

_SLOW_FOLDERS = {"stores", "cli"}
"""What waits for a disk or starts commands: all of it is left out of the fast subset."""


def pytest_configure(config: pytest.Config) -> None:
    # Otherwise every exception that is logged is painted with all its variables, which takes longer than most tests.
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], plain])
    config.add_cleanup(launching.preload().close)
    config.add_cleanup(make_tables_at_once())
    config.add_cleanup(compile_statements_once())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name in _SLOW_FOLDERS:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
async def leaping_time() -> None:
    """The test's loop waits for no timer: see support/leaping.py for what that is good for."""
    leap(asyncio.get_running_loop())
