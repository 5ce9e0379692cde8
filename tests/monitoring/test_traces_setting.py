"""Traces that are off, and traces without their library."""

import sys
from pathlib import Path
from typing import Any

import pytest

from domogate.app.gateway import Gateway
from domogate.app.traces import NoTraces, build_traces
from domogate.settings import BadSettings, Settings


class TestOff:
    def test_no_part_is_wrapped(self) -> None:
        traces = build_traces(Settings())
        assert isinstance(traces, NoTraces)
        part: Any = object()
        wrapping: list[Any] = [traces.wrap, traces.wrap_handler, traces.wrap_host, traces.wrap_driver, traces.wrap_sender]
        assert all(wrap(part) is part for wrap in wrapping)
        assert traces.messages is None
        assert traces.listeners == ()


class TestWithoutTheLibrary:
    def test_the_start_stops_with_what_to_install(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in [name for name in sys.modules if name.startswith("domogate.tracing")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "opentelemetry", None)
        for name in [name for name in sys.modules if name.startswith("opentelemetry.")]:
            monkeypatch.delitem(sys.modules, name)
        with pytest.raises(BadSettings, match=r"trace_endpoint.*pip install domogate\[otel\]"):
            Gateway(Settings(data=tmp_path, trace_endpoint="http://127.0.0.1:4318/v1/traces"))
