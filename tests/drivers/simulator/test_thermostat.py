from typing import Any

import pytest

from domogate.domain.commands import SetThermostat
from domogate.domain.devices import DeviceKind
from domogate.domain.plants import Program, ThermostatDetail
from domogate.domain.states import Reading, ThermostatFunction, ThermostatMode, ThermostatState, Unit
from domogate.drivers.simulator.device import Start
from domogate.drivers.simulator.rooms import Room
from domogate.drivers.simulator.seeded_random import SeededRandom
from domogate.drivers.simulator.thermostat import Thermostat, from_celsius, to_celsius
from domogate.drivers.simulator.weather import Weather
from support.clocks import NOON
from support.devices import make_id, make_module
from support.simulator_setup import value_of

HOUR = 3600.0
MODES = ThermostatMode


def make_thermostat(programs: tuple[Program, ...] = (), **fields: Any) -> Thermostat:
    module = make_module(DeviceKind.CHRONOTHERMOSTAT, make_id(5), detail=ThermostatDetail(programs=programs))
    defaults: dict[str, Any] = {
        "function": ThermostatFunction.HEATING,
        "mode": MODES.MANUAL,
        "set_point": 20.0,
        "temperature": Reading(20.0, Unit.CELSIUS, NOON),
        "humidity": Reading(50.0, Unit.PERCENT, NOON),
    }
    state = ThermostatState(**(defaults | fields))
    thermostat = Thermostat(module, state, Start(SeededRandom(1, module.id), NOON, NOON))
    room = Room(
        SeededRandom(1, "room"),
        Weather(1),
        thermostat.likely_celsius if thermostat.measured_celsius is None else thermostat.measured_celsius,
        NOON,
    )
    room.thermostats.append(thermostat)
    thermostat.enter(room, NOON)
    return thermostat


def advance(thermostat: Thermostat, hours: float, start: float = NOON, every: float = 60.0) -> list[float]:
    """The measured temperatures of the room, in Celsius."""
    measured = []
    for step in range(1, int(hours * HOUR / every) + 1):
        thermostat.evolve(start + step * every)
        celsius = thermostat.measured_celsius
        assert celsius is not None
        measured.append(celsius)
    return measured


class TestTheRoom:
    def test_is_kept_around_the_set_point_by_a_load_that_goes_on_and_off(self) -> None:
        thermostat = make_thermostat()
        loads = []
        measured = []
        for step in range(1, 60 * 24):
            thermostat.evolve(NOON + step * 60)
            loads.append(thermostat.state.load_active)
            measured.append(value_of(thermostat.state.temperature))
        assert all(19.0 <= value <= 21.0 for value in measured)
        assert True in loads
        assert False in loads
        assert len(set(measured)) > 3

    def test_follows_the_weather_when_the_thermostat_is_off(self) -> None:
        thermostat = make_thermostat(mode=MODES.OFF)
        advance(thermostat, 48)
        assert not thermostat.state.load_active
        assert value_of(thermostat.state.temperature) < 17

    def test_is_protected_from_frost(self) -> None:
        thermostat = make_thermostat(mode=MODES.PROTECTION)
        assert min(advance(thermostat, 96, start=NOON + 60 * 24 * HOUR)) >= 6

    def test_is_cooled_when_that_is_the_function(self) -> None:
        july = NOON + 240 * 24 * HOUR
        hottest = {}
        for mode in (MODES.MANUAL, MODES.OFF):
            thermostat = make_thermostat(
                function=ThermostatFunction.COOLING,
                mode=mode,
                set_point=19.0,
                temperature=Reading(26.0, Unit.CELSIUS, NOON),
            )
            hottest[mode] = max(advance(thermostat, 48, start=july)[12 * 60 :])
        assert hottest[MODES.MANUAL] <= 19.6
        assert hottest[MODES.OFF] > 21

    def test_heats_up_in_boost_whatever_the_set_point(self) -> None:
        thermostat = make_thermostat()
        thermostat.execute(SetThermostat(mode=MODES.BOOST, activation_time=NOON + 3 * HOUR), NOON)
        assert thermostat.state.load_active
        assert advance(thermostat, 2)[-1] > 21

    def test_follows_the_program_in_automatic_mode(self) -> None:
        thermostat = make_thermostat(mode=MODES.AUTOMATIC, program=10, set_point=20.5)
        set_points: list[float] = []
        for step in range(1, 24 * 60):
            thermostat.evolve(NOON + step * 60)
            if not set_points or set_points[-1] != thermostat.state.set_point:
                set_points.append(thermostat.state.set_point)
        assert set_points == [20.5, 18.5, 20.5, 16.5, 20.5, 18.5, 20.5]

    def test_cools_down_at_night_in_automatic_mode(self) -> None:
        thermostat = make_thermostat(mode=MODES.AUTOMATIC, program=0)
        measured = advance(thermostat, 24)
        assert min(measured) == pytest.approx(18.5, abs=0.5)
        assert max(measured) == pytest.approx(20.5, abs=0.5)

    def test_has_other_hours_with_another_program(self) -> None:
        early, late = make_thermostat(mode=MODES.AUTOMATIC, program=0), make_thermostat(mode=MODES.AUTOMATIC, program=11)
        assert advance(early, 24) != advance(late, 24)

    def test_is_about_the_same_whether_time_passes_in_small_or_large_steps(self) -> None:
        small, large = make_thermostat(), make_thermostat()
        advance(small, 12, every=5.0)
        advance(large, 12, every=1800.0)
        assert value_of(small.state.temperature) == pytest.approx(value_of(large.state.temperature), abs=0.7)


class TestMeasures:
    def test_are_in_the_scale_of_the_thermostat_and_the_set_point_in_celsius(self) -> None:
        thermostat = make_thermostat(scale=Unit.FAHRENHEIT, temperature=Reading(68.0, Unit.FAHRENHEIT, NOON))
        advance(thermostat, 6)
        assert thermostat.state.temperature is not None
        assert thermostat.state.temperature.unit is Unit.FAHRENHEIT
        assert 66 <= value_of(thermostat.state.temperature) <= 70
        assert thermostat.state.set_point == 20.0

    def test_go_on_from_those_that_are_known_and_are_taken_at_once_when_there_are_none(self) -> None:
        assert make_thermostat().state.temperature == Reading(20.0, Unit.CELSIUS, NOON)
        fresh = make_thermostat(temperature=None, humidity=None).state
        assert fresh.temperature is not None
        assert fresh.humidity is not None
        assert (fresh.temperature.at, fresh.humidity.at) == (NOON, NOON)
        assert fresh.humidity.unit is Unit.PERCENT

    def test_of_humidity_move_slowly_around_what_was_known(self) -> None:
        thermostat = make_thermostat()
        values = set()
        for step in range(1, 60 * 24):
            thermostat.evolve(NOON + step * 60)
            values.add(value_of(thermostat.state.humidity))
        assert len(values) > 3
        assert all(30 <= value <= 70 for value in values)

    @pytest.mark.parametrize("celsius", [-40.0, 0.0, 21.5])
    def test_convert_there_and_back(self, celsius: float) -> None:
        assert to_celsius(from_celsius(celsius, Unit.FAHRENHEIT), Unit.FAHRENHEIT) == pytest.approx(celsius)


class TestOrders:
    def test_remember_the_former_mode_and_timed_modes_fall_back_to_it(self) -> None:
        thermostat = make_thermostat(mode=MODES.AUTOMATIC, program=3)
        thermostat.execute(SetThermostat(mode=MODES.MANUAL, set_point=24.5, activation_time=NOON + HOUR), NOON)
        state = thermostat.state
        assert (state.mode, state.former_mode, state.set_point) == (MODES.MANUAL, MODES.AUTOMATIC, 24.5)
        thermostat.evolve(NOON + HOUR - 1)
        assert thermostat.state.mode is MODES.MANUAL
        thermostat.evolve(NOON + HOUR)
        state = thermostat.state
        assert (state.mode, state.program, state.activation_time) == (MODES.AUTOMATIC, 3, None)

    def test_of_a_boost_without_an_end_get_one(self) -> None:
        thermostat = make_thermostat()
        thermostat.execute(SetThermostat(mode=MODES.BOOST), NOON)
        assert thermostat.state.activation_time == NOON + 1800
        thermostat.evolve(NOON + 1800)
        assert thermostat.state.mode is MODES.MANUAL

    def test_of_one_timed_mode_after_another_lead_back_to_where_the_first_came_from(self) -> None:
        thermostat = make_thermostat()
        thermostat.execute(SetThermostat(mode=MODES.BOOST, activation_time=NOON + HOUR), NOON)
        thermostat.execute(SetThermostat(mode=MODES.PROTECTION, activation_time=NOON + 2 * HOUR), NOON)
        thermostat.evolve(NOON + 3 * HOUR)
        assert thermostat.state.mode is MODES.MANUAL

    def test_without_an_end_are_for_good(self) -> None:
        thermostat = make_thermostat()
        thermostat.execute(SetThermostat(mode=MODES.BOOST), NOON)
        thermostat.execute(SetThermostat(mode=MODES.OFF), NOON)
        thermostat.evolve(NOON + 1e7)
        assert thermostat.state.mode is MODES.OFF

    def test_to_go_automatic_activate_a_program_of_the_list(self) -> None:
        thermostat = make_thermostat(programs=(Program(4, "Week"), Program(5, "Weekend")))
        thermostat.execute(SetThermostat(mode=MODES.AUTOMATIC), NOON)
        assert thermostat.state.program == 4
        thermostat.execute(SetThermostat(program=5), NOON)
        assert (thermostat.state.mode, thermostat.state.program) == (MODES.AUTOMATIC, 5)

    def test_change_only_what_they_name(self) -> None:
        thermostat = make_thermostat(utc_offset_minutes=60)
        before = thermostat.state
        thermostat.execute(SetThermostat(function=ThermostatFunction.COOLING), NOON)
        after = thermostat.state
        assert after.function is ThermostatFunction.COOLING
        assert (after.mode, after.set_point, after.utc_offset_minutes) == (before.mode, before.set_point, 60)

    def test_a_given_end_counts_without_a_former_mode(self) -> None:
        thermostat = make_thermostat(activation_time=NOON + HOUR, program=2)
        thermostat.evolve(NOON + HOUR)
        assert thermostat.state.mode is MODES.AUTOMATIC
