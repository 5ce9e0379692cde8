import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import given

from domogate.domain.attempts import Count, Limit

LIMIT = Limit(allowance=3, first_wait=1.0, longest_wait=60.0, half_life=600.0)
NOW = 1_800_000_000.0


class TestWaiting:
    @pytest.mark.parametrize("number", [None, 0.0, 1.0, 2.0])
    def test_there_is_none_within_the_allowance(self, number: float | None) -> None:
        assert LIMIT.wait(None if number is None else Count(number, NOW), NOW) <= 0

    def test_it_doubles_with_each_further_attempt_up_to_the_bound(self) -> None:
        waits = [LIMIT.wait(Count(float(number), NOW), NOW) for number in range(3, 13)]
        assert waits[:6] == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
        assert set(waits[6:]) == {60.0}

    def test_it_ends(self) -> None:
        assert LIMIT.wait(Count(4.0, NOW), NOW + 1.5) == pytest.approx(0.5)
        assert LIMIT.wait(Count(4.0, NOW), NOW + 2) <= 0

    def test_a_clock_that_is_set_back_makes_nobody_wait_longer(self) -> None:
        assert LIMIT.wait(Count(4.0, NOW), NOW - 2) == 2.0
        assert LIMIT.wait(Count(4.0, NOW), NOW - 86_400) == 0.0

    def test_after_an_attempt_with_a_clock_that_was_set_back_the_next_waits_as_usual(self) -> None:
        count = LIMIT.one_more(Count(4.0, NOW), NOW - 86_400)
        assert LIMIT.wait(count, NOW - 86_400) == 4.0


class TestCounting:
    @pytest.mark.parametrize("pause", [0.0, 0.1, 5.0])
    def test_as_many_attempts_as_allowed_need_no_wait_also_when_the_count_has_shrunk_between_them(self, pause: float) -> None:
        count, at, admitted = None, NOW, 0
        while LIMIT.wait(count, at) <= 0:
            count, admitted = LIMIT.one_more(count, at), admitted + 1
            if admitted < LIMIT.allowance:
                at += pause
        assert admitted == LIMIT.allowance

    def test_what_was_counted_halves_with_time(self) -> None:
        assert LIMIT.one_more(Count(4.0, NOW), NOW + 600) == Count(3.0, NOW + 600)

    def test_it_never_takes_longer_to_forget_than_the_longest_wait_is_worth(self) -> None:
        count = None
        for _ in range(1000):
            count = LIMIT.one_more(count, NOW)
        assert count is not None
        assert count.number < 10
        assert LIMIT.wait(count, NOW) == 60.0

    @given(st.lists(st.floats(0, 10_000), max_size=40))
    def test_what_is_forgotten_makes_nobody_wait_and_hardly_counts(self, pauses: list[float]) -> None:
        count = LIMIT.one_more(None, NOW)
        for at in itertools.accumulate(pauses, initial=NOW):
            count = LIMIT.one_more(count, at)
        then = LIMIT.forgotten_at(count)
        assert LIMIT.wait(count, then) <= 0
        assert LIMIT.one_more(count, then).number <= 1.5 + 1e-9
