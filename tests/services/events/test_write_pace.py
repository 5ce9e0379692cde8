"""How often a busy hub writes to connections (Decision 0145)."""

from domogate.services.events.write_pace import (
    AT_FULL_SPEED,
    BUSY_AFTER,
    LONGEST_WAIT,
    SHORTEST_PAUSE,
    WRITES_PER_SECOND,
    WritePace,
)

_STEP = 0.001
"""The number of seconds between two looks of the simulated hub at its pace."""


def _write_until(pace: WritePace, begin: float, end: float, *, waiting: int = 1) -> int:
    """Write one event after the other, as long as the pace allows it. Return the number of writes."""
    writes = 0
    for step in range(round((end - begin) / _STEP)):
        moment = begin + step * _STEP
        while pace.may_write(moment):
            pace.count(1, waiting, moment)
            writes += 1
    return writes


class TestPaceOfWrites:
    def test_a_hub_with_little_to_do_writes_without_pauses(self) -> None:
        pace = WritePace()
        for number in range(1_000):
            moment = 100.0 + number / 10
            assert pace.find_pause(moment) == 0.0
            pace.count(100, 100, moment)

    def test_after_some_writes_the_hub_is_busy_for_a_short_time(self) -> None:
        pace = WritePace()
        pace.count(BUSY_AFTER - 1, 1, 100.0)
        assert not pace.is_busy(100.0)
        pace.count(2, 1, 100.0)
        assert pace.is_busy(100.0)
        assert not pace.is_busy(100.01)

    def test_after_many_writes_the_hub_rests(self) -> None:
        pace = WritePace()
        pace.count(AT_FULL_SPEED - 1, 1, 100.0)
        assert pace.may_write(100.0)
        pace.count(2, 1, 100.0)
        assert not pace.may_write(100.0)
        assert pace.find_pause(100.0) == SHORTEST_PAUSE
        pace.count(WRITES_PER_SECOND, 1, 100.0)
        assert 1.0 < pace.find_pause(100.0) < 1.1
        assert pace.may_write(100.0 + 1.1)

    def test_a_busy_hub_writes_at_an_even_rate(self) -> None:
        writes = _write_until(WritePace(), 100.0, 102.0)
        assert abs(writes - (AT_FULL_SPEED + 2 * WRITES_PER_SECOND)) < WRITES_PER_SECOND / 100

    def test_a_hub_with_more_waiting_streams_writes_faster(self) -> None:
        pace, waiting = WritePace(), 5_000
        _write_until(pace, 100.0, 101.0, waiting=waiting)
        writes = _write_until(pace, 101.0, 102.0, waiting=waiting)
        assert abs(writes - waiting / LONGEST_WAIT) < waiting / LONGEST_WAIT / 100

    def test_a_long_quiet_time_allows_no_more_writes_than_a_short_one(self) -> None:
        pace = WritePace()
        _write_until(pace, 100.0, 101.0)
        assert _write_until(pace, 9_000.0, 9_000.0 + _STEP) <= AT_FULL_SPEED + 1
