import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.safety import EmergencyTest, EmergencyTestKind, Failure, FailureType, in_failure
from domogate.domain.states import EmergencyState
from domogate.drivers.simulator.device import Start, TimeScale
from domogate.drivers.simulator.emergency import EmergencyUnit
from domogate.drivers.simulator.seeded_random import SeededRandom
from support.clocks import NOON
from support.devices import make_id, make_module

HOUR, DAY = 3600.0, 86_400.0


@pytest.fixture(autouse=True)
def _nothing_breaks_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmergencyUnit, "ODDS", 0.0)
    monkeypatch.setattr(EmergencyUnit, "FAILS", dict.fromkeys(EmergencyTestKind, 0.0))


def make_unit(state: EmergencyState | None = None, now: float = NOON, time_scale: TimeScale | None = None) -> EmergencyUnit:
    module = make_module(DeviceKind.EMERGENCY_UNIT, make_id(7))
    return EmergencyUnit(module, state, Start(SeededRandom(1, module.id), now, now, time_scale or TimeScale()))


def advance(unit: EmergencyUnit, days: float, start: float = NOON, every: float = 60.0) -> list[EmergencyState]:
    """All its states, one after the other."""
    states = [unit.state]
    for step in range(1, int(days * DAY / every) + 1):
        unit.evolve(start + step * every)
        if unit.state != states[-1]:
            states.append(unit.state)
    return states


def results_of(states: list[EmergencyState], kind: EmergencyTestKind) -> list[EmergencyTest]:
    done = [state.function_test if kind is EmergencyTestKind.FUNCTION else state.duration_test for state in states]
    return [test for number, test in enumerate(done) if test is not None and test not in done[:number]]


class TestAUnit:
    def test_tests_its_function_every_month_for_half_a_minute(self) -> None:
        tests = results_of(advance(make_unit(), 95, every=300.0), EmergencyTestKind.FUNCTION)
        assert len(tests) in (3, 4)
        assert all(test.passed and test.lit == 30.0 for test in tests)
        assert tests[1].began_at - tests[0].began_at == pytest.approx(30 * DAY, abs=HOUR)

    @pytest.mark.slow
    def test_tests_its_duration_every_year_and_recharges_within_a_day(self) -> None:
        states = advance(make_unit(), 800, every=1800.0)
        tests = results_of(states, EmergencyTestKind.DURATION)
        assert len(tests) == 2
        assert all(test.passed and test.lit == 3600.0 for test in tests)
        charges = [state.charge for state in states if state.charge is not None]
        lowest = min(range(len(charges)), key=lambda number: charges[number])
        assert 15 <= charges[lowest] <= 30
        assert max(charges[lowest : lowest + 50]) == 100

    def test_says_which_test_is_under_way(self) -> None:
        unit = make_unit()
        due = next(hour * HOUR for hour in range(31 * 24) if unit._is_due(EmergencyTestKind.FUNCTION, NOON + hour * HOUR))
        before = max(0.0, due - HOUR)
        unit.evolve(NOON + before)
        seen = [state.testing for state in advance(unit, 2 * HOUR / DAY, start=NOON + before, every=25.0)]
        assert set(seen) == {None, EmergencyTestKind.FUNCTION}

    @pytest.mark.parametrize("kind", EmergencyTestKind)
    def test_repeats_a_test_that_a_restart_interrupted(self, kind: EmergencyTestKind) -> None:
        healthy = (Failure(FailureType.BLOCK_OK),)
        unit = make_unit(EmergencyState(failures=healthy, charge=90, charging_since=NOON - 3 * DAY, testing=kind))
        assert [test.passed for test in results_of(advance(unit, 1 / 12), kind)] == [True]

    def test_makes_no_duration_test_before_it_has_charged_for_a_day(self) -> None:
        unit = make_unit()
        due = next(day for day in range(400) if unit._is_due(EmergencyTestKind.DURATION, NOON + day * DAY))
        start = NOON + due * DAY
        fresh = make_unit(EmergencyState(failures=(Failure(FailureType.BLOCK_OK),), charge=5, charging_since=start), now=start)
        fresh._slot_of[EmergencyTestKind.DURATION] -= 1
        fresh.evolve(start + 23 * HOUR)
        assert fresh.state.testing is None
        fresh.evolve(start + 25 * HOUR)
        assert fresh.state.testing is EmergencyTestKind.DURATION

    def test_that_fails_its_test_is_in_failure_until_it_is_repaired_and_tests_itself_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(EmergencyUnit, "FAILS", {EmergencyTestKind.FUNCTION: 1.0, EmergencyTestKind.DURATION: 0.0})
        unit = make_unit()
        start = NOON
        while not in_failure(unit.state.failures):
            start += 600
            unit.evolve(start)
        assert unit.state.failures == (Failure(FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT, "0x0080"),)
        assert unit.state.function_test is not None
        assert (unit.state.function_test.passed, unit.state.function_test.lit) == (False, 0.0)
        monkeypatch.setattr(EmergencyUnit, "FAILS", dict.fromkeys(EmergencyTestKind, 0.0))
        states = advance(unit, 4, start=start)
        assert not in_failure(states[-1].failures)
        assert states[-1].function_test is not None
        assert states[-1].function_test.passed

    def test_with_a_tired_battery_lights_for_a_part_of_its_hour(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(EmergencyUnit, "FAILS", {EmergencyTestKind.FUNCTION: 0.0, EmergencyTestKind.DURATION: 1.0})
        (test, *_) = results_of(advance(make_unit(), 400, every=1800.0), EmergencyTestKind.DURATION)
        assert test.failure is FailureType.BLOCK_FAULTY_BATTERY
        assert 0.3 * 3600 <= test.lit <= 0.9 * 3600

    def test_with_given_failures_keeps_them_and_leaves_them_alone(self) -> None:
        given = EmergencyState(failures=(Failure(FailureType.BLOCK_DLD),))
        assert advance(make_unit(given), 60, every=3600.0) == [given]


class TestAfterARestart:
    def test_results_and_charge_are_kept_and_the_next_test_comes_when_it_is_due(self) -> None:
        before = advance(make_unit(), 40, every=300.0)[-1]
        again = make_unit(before, now=NOON + 40 * DAY)
        assert again.state == before
        tests = results_of(advance(again, 30, start=NOON + 40 * DAY, every=300.0), EmergencyTestKind.FUNCTION)
        assert len(tests) == 2
        assert tests[0] == before.function_test

    def test_a_test_that_was_cut_off_is_made_again(self) -> None:
        cut_off = EmergencyState(failures=(Failure(FailureType.BLOCK_OK),), testing=EmergencyTestKind.FUNCTION)
        assert make_unit(cut_off).state.testing is None

    def test_a_failure_that_a_test_found_is_still_repaired(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(EmergencyUnit, "FAILS", {EmergencyTestKind.FUNCTION: 1.0, EmergencyTestKind.DURATION: 0.0})
        failed = next(state for state in advance(make_unit(), 40, every=600.0) if in_failure(state.failures))
        monkeypatch.setattr(EmergencyUnit, "FAILS", dict.fromkeys(EmergencyTestKind, 0.0))
        again = make_unit(failed, now=NOON + 40 * DAY)
        assert not in_failure(advance(again, 2, start=NOON + 40 * DAY)[-1].failures)


class TestAtAnotherSpeed:
    def test_tests_are_dated_in_real_time(self) -> None:
        unit = make_unit(time_scale=TimeScale(3600, origin=NOON))
        (test, *_) = results_of(advance(unit, 31, every=60.0), EmergencyTestKind.FUNCTION)
        assert NOON <= test.began_at <= test.ended_at <= NOON + 31 * DAY / 3600
        assert test.lit == 30.0
