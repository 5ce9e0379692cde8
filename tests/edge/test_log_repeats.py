"""Repeated failures of one cause are one line with a count; other lines are not touched."""

import io
import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from domogate.common.log import get_logger
from domogate.edge import log_repeats
from domogate.edge.log_repeats import LogRepeats
from domogate.edge.logs import setup_logs


class Seconds:
    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def repeats(seconds: Seconds, monkeypatch: pytest.MonkeyPatch) -> LogRepeats:
    made = LogRepeats(seconds)
    monkeypatch.setattr("domogate.edge.logs.LogRepeats", lambda: made)
    monkeypatch.setattr(made, "_set_timer", lambda: None)  # the tests call flush themselves
    return made


@pytest.fixture
def stream(repeats: LogRepeats) -> Iterator[io.StringIO]:
    stream = io.StringIO()
    before = logging.getLogger().handlers[:]
    setup_logs("info", "json", stream)
    yield stream
    repeats.flush(everything=True)
    logging.getLogger().handlers = before


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def fail(number: int, event: str = "order not written", reason: str = "disk full", **fields: object) -> None:
    try:
        raise OSError(f"{reason} at page {number}")
    except OSError as error:
        get_logger("test.orders").error(event, order_id=f"order-{number}", exc_info=error, **fields)


class TestOneCause:
    @pytest.mark.slow
    def test_the_first_failure_is_whole_and_the_others_are_counted(
        self, stream: io.StringIO, repeats: LogRepeats, seconds: Seconds
    ) -> None:
        for number in range(5_000):
            fail(number)
        assert [line["event"] for line in lines(stream)] == ["order not written"]
        assert "Traceback" in lines(stream)[0]["exception"]
        seconds.at = 10.0
        repeats.flush()
        last = lines(stream)[-1]
        assert (last["event"], last["times"], last["seconds"]) == ("order not written (repeated)", 4_999, 10.0)
        assert last["error"] == "OSError: disk full at page N"
        assert last["logger"] == "test.orders"
        assert len(stream.getvalue()) < 3_000

    @pytest.mark.slow
    def test_lines_become_rarer_while_it_goes_on_and_it_is_whole_again_after_a_pause(
        self, stream: io.StringIO, repeats: LogRepeats, seconds: Seconds
    ) -> None:
        for moment in range(3_600):
            seconds.at = float(moment)
            repeats.flush()
            fail(moment)
        assert len(lines(stream)) == 1 + len((10, 70, 670, 1270, 1870, 2470, 3070))
        for pause in (4_000.0, 5_000.0):
            seconds.at = pause
            repeats.flush()
        told = len(lines(stream))
        fail(1)
        assert "exception" in lines(stream)[told]

    def test_the_rest_is_told_at_the_end(self, stream: io.StringIO, repeats: LogRepeats) -> None:
        fail(1)
        fail(2)
        repeats.flush(everything=True)
        assert lines(stream)[-1]["times"] == 1

    def test_lines_of_other_libraries_are_counted_too(self, stream: io.StringIO, repeats: LogRepeats) -> None:
        for _ in range(100):
            logging.getLogger("uvicorn.error").error("Exception in ASGI application\n", exc_info=ValueError("no"))
        assert len(lines(stream)) == 1
        repeats.flush(everything=True)
        assert lines(stream)[-1]["times"] == 99


class TestDifferentCauses:
    def test_events_drivers_and_errors_are_told_apart(self, stream: io.StringIO) -> None:
        for _ in range(3):
            fail(1)
            fail(1, event="report not recorded")
            fail(1, reason="read-only")
            fail(1, driver="mqtt")
        assert len(lines(stream)) == 4

    def test_lines_that_are_no_failures_all_pass(self, stream: io.StringIO) -> None:
        for _ in range(10):
            get_logger("test").warning("orders without an end settled", orders=1)
            get_logger("test").info("started")
        assert len(lines(stream)) == 20

    @pytest.mark.slow
    def test_the_number_of_causes_is_bounded_and_no_count_is_lost(self, stream: io.StringIO, repeats: LogRepeats) -> None:
        fail(0, event="first")
        fail(0, event="first")
        for number in range(2 * log_repeats._MOST_CAUSES):
            fail(0, event=f"event {'x' * number}")
        assert [line["times"] for line in lines(stream) if line["event"] == "first (repeated)"] == [1]


@pytest.mark.slow
def test_counts_appear_without_another_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_repeats, "_PERIODS", (1.0, 60.0, 60.0))
    stream = io.StringIO()
    before = logging.getLogger().handlers[:]
    setup_logs("info", "json", stream)
    try:
        fail(1)
        fail(2)
        said = _wait_for(stream)
    finally:
        logging.getLogger().handlers = before
    assert said["times"] == 1


def _wait_for(stream: io.StringIO) -> dict[str, Any]:
    deadline = time.monotonic() + 30
    while len(lines(stream)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return lines(stream)[-1]
