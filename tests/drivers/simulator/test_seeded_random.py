from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.drivers.simulator.seeded_random import MeasureSchedule, ResidentActivity, SeededRandom, TimeSlots

NAMES = st.text(max_size=10)
SLOTS = st.integers(-(10**9), 10**9)


class TestSeededRandom:
    @given(st.integers(), NAMES, NAMES, SLOTS)
    def test_repeats_for_the_same_seed_module_purpose_and_slot(self, seed: int, module: str, purpose: str, slot: int) -> None:
        assert SeededRandom(seed, module).of(purpose, slot) == SeededRandom(seed, module).of(purpose, slot)

    @given(st.integers(), NAMES, NAMES, SLOTS)
    def test_is_at_least_0_and_below_1(self, seed: int, module: str, purpose: str, slot: int) -> None:
        assert 0 <= SeededRandom(seed, module).of(purpose, slot) < 1

    def test_is_spread_evenly_and_differs_with_each_of_its_causes(self) -> None:
        numbers = [SeededRandom(1, "a").of("x", slot) for slot in range(4000)]
        assert abs(sum(numbers) / 4000 - 0.5) < 0.03
        causes = ((1, "a", "x"), (2, "a", "x"), (1, "b", "x"), (1, "a", "y"))
        assert len({SeededRandom(seed, module).of(purpose) for seed, module, purpose in causes}) == 4

    @given(st.integers(), SLOTS)
    def test_picks_every_choice_sooner_or_later_and_nothing_else(self, seed: int, slot: int) -> None:
        random = SeededRandom(seed, "a")
        assert {random.pick("x", "abc", slot + step) for step in range(200)} == set("abc")


class TestTimeSlots:
    @given(st.floats(0, 4e9), st.floats(1, 1e6))
    def test_change_exactly_once_in_a_span(self, now: float, span: float) -> None:
        slots = TimeSlots(SeededRandom(1, "a"), "x", span)
        assert slots.at(now + span) - slots.at(now) in (0, 1, 2)
        assert slots.at(now + 10 * span) - slots.at(now) in (9, 10, 11)


class TestMeasureSchedule:
    def test_is_due_once_a_period_after_a_shorter_first_one(self) -> None:
        cadence = MeasureSchedule(SeededRandom(1, "a"), "x", 60.0, 1000.0)
        due = [second for second in range(1000, 1600) if cadence.is_due(second)]
        assert 1003 <= due[0] <= 1034
        assert {later - earlier for earlier, later in pairwise(due)} <= {60, 61}

    def test_does_not_make_up_for_time_that_jumped_and_survives_a_clock_set_back(self) -> None:
        cadence = MeasureSchedule(SeededRandom(1, "a"), "x", 60.0, 1000.0)
        assert cadence.is_due(1e6)
        assert not cadence.is_due(1e6)
        assert cadence.is_due(5000.0)
        assert not cadence.is_due(5001.0)


class TestResidentActivity:
    @pytest.mark.parametrize("seed", range(20))
    def test_leave_alone_what_was_just_ordered(self, seed: int) -> None:
        residents = ResidentActivity(SeededRandom(seed, "a"), 0.0)
        visits = []
        for minute in range(60 * 24 * 7):
            now = minute * 60.0
            if minute == 1000:
                residents.pause(now)
            if residents.next_visit(now) is not None:
                visits.append(now)
        assert visits
        assert visits[0] >= ResidentActivity.PAUSE
        assert not [visit for visit in visits if 60_000 <= visit < 60_000 + ResidentActivity.PAUSE]
