"""The clock of a cluster follows the database, not the machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.services.cluster import ClusterClock
from support.clocks import NOON, ManualClock

seconds = st.floats(0, 1000)


class TestTheClockOfACluster:
    def test_shows_the_time_of_the_machine_until_the_database_says_another(self) -> None:
        machine, monotonic = ManualClock(NOON), ManualClock(100.0)
        clock = ClusterClock(machine, monotonic.now)
        monotonic.advance(5)
        assert clock.now() == NOON + 5
        clock.adjust(NOON + 65, 105.0, 105.0)
        assert clock.now() == NOON + 65

    def test_does_not_follow_a_clock_of_the_machine_that_is_set(self) -> None:
        machine, monotonic = ManualClock(NOON), ManualClock(100.0)
        clock = ClusterClock(machine, monotonic.now)
        machine.advance(-3600)
        monotonic.advance(1)
        assert clock.now() == NOON + 1

    @given(wrong_by=st.floats(-1e6, 1e6), answers=st.lists(st.tuples(seconds, seconds, seconds), min_size=1))
    def test_is_as_exact_as_the_fastest_answer(self, wrong_by: float, answers: list[tuple[float, float, float]]) -> None:
        monotonic = ManualClock(0.0)
        clock = ClusterClock(ManualClock(NOON + wrong_by), monotonic.now)
        for pause, before, after in answers:
            monotonic.advance(pause)
            asked_at = monotonic.now()
            monotonic.advance(before)
            said = NOON + monotonic.now()
            monotonic.advance(after)
            clock.adjust(said, asked_at, monotonic.now())
        fastest = min(before + after for _, before, after in answers)
        assert clock.now() == pytest.approx(NOON + monotonic.now(), abs=fastest + 1e-4)
