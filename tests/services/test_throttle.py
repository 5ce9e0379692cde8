import itertools
import math

import hypothesis.strategies as st
import pytest
from hypothesis import given

from domogate.services.throttle import Throttle
from support.stores import HandClock

HOME, ELSEWHERE = "192.0.2.1", "198.51.100.9"
ANNA, BRUNO = "anna@example.com", "bruno@example.com"


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def throttle(clock: HandClock) -> Throttle:
    return Throttle(clock, account_attempts=3, address_attempts=6, first_wait=1.0, longest_wait=60.0, half_life=600.0)


def fail(throttle: Throttle, times: int, account: str = ANNA, address: str = HOME) -> None:
    for _ in range(times):
        assert throttle.admit(account, address) == 0


class TestAnAccount:
    def test_has_a_few_attempts_without_any_wait(self, throttle: Throttle) -> None:
        fail(throttle, 4)
        assert throttle.admit(ANNA, HOME) > 0

    def test_waits_twice_as_long_with_each_further_attempt_up_to_the_bound(self, throttle: Throttle, clock: HandClock) -> None:
        fail(throttle, 3)
        waits = []
        for _ in range(9):
            fail(throttle, 1)
            waits.append(throttle.admit(ANNA, HOME))
            clock.at += waits[-1]
        assert waits[0] == pytest.approx(1.0)
        assert all(1.8 < later / earlier <= 2.01 for earlier, later in itertools.pairwise(waits[:5]))
        assert waits[-1] <= 60.0
        assert waits[-1] > 30.0

    def test_is_never_locked_for_good_however_often_somebody_tries_during_the_wait(
        self, throttle: Throttle, clock: HandClock
    ) -> None:
        fail(throttle, 4)
        for _ in range(1000):
            assert throttle.admit(ANNA, HOME) > 0
        clock.at += 1.0
        assert throttle.admit(ANNA, HOME) == 0

    def test_is_counted_whatever_address_it_is_tried_from(self, throttle: Throttle) -> None:
        for number in range(4):
            fail(throttle, 1, address=f"192.0.2.{number}")
        assert throttle.admit(ANNA, "192.0.2.99") > 0

    def test_is_the_same_in_any_case_of_its_letters(self, throttle: Throttle) -> None:
        fail(throttle, 4)
        assert throttle.admit(ANNA.upper(), ELSEWHERE) > 0

    def test_starts_anew_after_a_success(self, throttle: Throttle) -> None:
        fail(throttle, 3)
        throttle.succeed(ANNA, HOME)
        fail(throttle, 3)

    def test_forgets_with_time(self, throttle: Throttle, clock: HandClock) -> None:
        fail(throttle, 3)
        clock.at += 20 * 600
        fail(throttle, 3)

    def test_many_attempts_at_once_gain_nothing(self, throttle: Throttle) -> None:
        admitted = [throttle.admit(ANNA, HOME) == 0 for _ in range(50)]
        assert sum(admitted) == 4

    def test_strangers_cannot_keep_the_owner_out_of_where_they_got_in_before(self, throttle: Throttle) -> None:
        fail(throttle, 1)
        throttle.succeed(ANNA, HOME)
        fail(throttle, 4, address=ELSEWHERE)
        assert throttle.admit(ANNA, ELSEWHERE) > 0
        assert throttle.admit(ANNA, HOME) == 0

    def test_guesses_from_where_the_owner_got_in_are_slowed_down_all_the_same(self, throttle: Throttle) -> None:
        throttle.succeed(ANNA, HOME)
        fail(throttle, 4)
        assert throttle.admit(ANNA, HOME) > 0

    def test_a_first_factor_that_was_right_counts_for_nothing(self, throttle: Throttle) -> None:
        for _ in range(50):
            fail(throttle, 1)
            throttle.take_back(ANNA, HOME)

    def test_a_clock_that_is_set_back_makes_nobody_wait_longer(self, throttle: Throttle, clock: HandClock) -> None:
        fail(throttle, 4)
        clock.at -= 86_400
        assert throttle.admit(ANNA, HOME) <= 1.0


class TestAnAddress:
    def test_is_counted_whatever_account_is_tried(self, throttle: Throttle) -> None:
        for number in range(7):
            fail(throttle, 1, account=f"{number}@example.com")
        assert throttle.admit("new@example.com", HOME) > 0
        assert throttle.admit("new@example.com", ELSEWHERE) == 0

    def test_is_not_reset_by_a_success_of_ones_own(self, throttle: Throttle) -> None:
        for number in range(6):
            fail(throttle, 1, account=f"{number}@example.com")
        fail(throttle, 1, account=BRUNO)
        throttle.succeed(BRUNO, HOME)
        fail(throttle, 1, account="new@example.com")
        assert throttle.admit("newer@example.com", HOME) > 0

    def test_many_people_may_log_in_from_the_same_one(self, throttle: Throttle) -> None:
        for number in range(100):
            fail(throttle, 1, account=f"{number}@example.com")
            throttle.succeed(f"{number}@example.com", HOME)

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
            ("::ffff:192.0.2.1", "192.0.2.1", True),
            ("fe80::1%eth0", "fe80::2", True),
            ("", "", True),
            ("unix", "unix", True),
        ],
    )
    def test_is_a_whole_network_of_ipv6(self, throttle: Throttle, one: str, other: str, same: bool) -> None:
        for number in range(7):
            fail(throttle, 1, account=f"{number}@example.com", address=one)
        assert (throttle.admit("new@example.com", other) > 0) is same


class TestMemory:
    @given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=40), st.booleans()), max_size=60))
    def test_is_bounded_whatever_is_tried(self, attempts: list[tuple[str, str, bool]]) -> None:
        throttle = Throttle(HandClock(), capacity=5)
        for account, address, right in attempts:
            wait = throttle.admit(account, address)
            assert 0 <= wait <= 900
            assert math.isfinite(wait)
            if wait == 0 and right:
                throttle.succeed(account, address)
        assert len(throttle) <= 15
