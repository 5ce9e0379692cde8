import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.drivers.simulator.power import COMMON, LOADS
from domogate.drivers.simulator.seeded_random import SeededRandom

CHANCE = SeededRandom(1, "a plug")
NAMES = st.sampled_from(sorted(LOADS))


class TestAnyLoad:
    @given(NAMES, st.floats(-1e9, 4e9), st.integers(0, 1000))
    def test_draws_what_one_of_its_phases_or_its_idling_draws(self, name: str, at: float, seed: int) -> None:
        load = LOADS[name]
        watts = load.watts_at(SeededRandom(seed, "a plug"), at)
        assert 0 <= watts <= 4000
        assert load.could_draw(round(watts))

    @given(NAMES, st.floats(0, 4e9), st.floats(0, 1e6))
    def test_draws_on_average_no_more_than_at_most(self, name: str, begin: float, lasts: float) -> None:
        load = LOADS[name]
        most = max((load.idle * (1 + load.swing), *(watts for _, watts in load.phases)))
        assert 0 <= load.average_watts(CHANCE, begin, begin + lasts) <= most * 1.04

    @pytest.mark.parametrize("name", [name for name, load in LOADS.items() if load.phases])
    def test_with_phases_runs_sometimes_and_rests_sometimes(self, name: str) -> None:
        load = LOADS[name]
        step = min(lasts for lasts, _ in load.phases) / 2
        draws = [load.watts_at(CHANCE, number * step) for number in range(int(8 * load.every / step))]
        assert any(watts > 2 * load.idle + 5 for watts in draws)
        assert any(watts <= load.idle * 1.04 for watts in draws)

    def test_that_may_stand_anywhere_is_one_of_them(self) -> None:
        assert set(COMMON) <= set(LOADS)
