"""Socket tests run on uvloop, as in production. Where transports differ they also run on asyncio's loop."""

import asyncio
import io
import logging
from collections.abc import Callable, Iterator

import pytest
import uvloop

from domogate.edge.logs import setup_logs
from support.edge_server import Recorder


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    factories: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"uvloop": uvloop.new_event_loop}
    if getattr(getattr(item, "cls", None), "on_both_loops", False):
        factories["asyncio"] = asyncio.new_event_loop
    return factories


@pytest.fixture(params=[True, False], ids=["direct", "asgi"])
def each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test runs twice: with direct requests, and with all requests through ASGI."""
    monkeypatch.setattr(Recorder, "answers_directly", request.param)


@pytest.fixture
def json_log() -> Iterator[io.StringIO]:
    stream, root = io.StringIO(), logging.getLogger()
    handlers, level = root.handlers, root.level
    setup_logs("info", "json", stream)
    yield stream
    root.handlers = handlers
    root.setLevel(level)
