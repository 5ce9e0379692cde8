"""Socket tests run on uvloop, as in production. Where transports differ they also run on asyncio's loop."""

import asyncio
from collections.abc import Callable

import pytest
import uvloop


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    factories: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"uvloop": uvloop.new_event_loop}
    if getattr(getattr(item, "cls", None), "on_both_loops", False):
        factories["asyncio"] = asyncio.new_event_loop
    return factories
