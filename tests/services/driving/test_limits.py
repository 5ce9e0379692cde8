from typing import Any

import pytest

from domogate.domain.states import (
    AutomationState,
    Color,
    EnergyMeterState,
    LightState,
    LockState,
    PlugState,
    Reading,
    Report,
    State,
    ThermostatFunction,
    ThermostatMode,
    ThermostatState,
    Unit,
)
from domogate.services.driving.calls import find_breach


def light(**fields: Any) -> LightState:
    return LightState(on=True, **fields)


def thermostat(set_point: float = 20.0, **fields: Any) -> ThermostatState:
    return ThermostatState(function=ThermostatFunction.HEATING, mode=ThermostatMode.MANUAL, set_point=set_point, **fields)


def breach_of(**fields: Any) -> str:
    breach = find_breach(Report("p", "m", 0.0, **fields))
    assert breach is not None
    return breach


def watts(value: float) -> Reading:
    return Reading(value, Unit.WATT, 0.0)


class TestWithinTheBounds:
    @pytest.mark.parametrize(
        "state",
        [
            None,
            LockState(locked=True),
            light(),
            light(level=0, color=Color(0, 0, 0)),
            light(level=100, color=Color(360, 100, 100)),
            AutomationState(position=0),
            thermostat(3, program=0),
            thermostat(
                40, program=11, temperature=Reading(451, Unit.FAHRENHEIT, 0.0), humidity=Reading(100, Unit.PERCENT, 0.0)
            ),
            PlugState(on=True, power=watts(0), energy=Reading(100_000, Unit.WATT_HOUR, 0.0)),
            EnergyMeterState(power=watts(1e12), energy=Reading(1e15, Unit.WATT_HOUR, 0.0)),
        ],
    )
    def test_nothing_is_found(self, state: State) -> None:
        assert find_breach(Report("p", "m", 0.0, state=state)) is None

    @pytest.mark.parametrize(("value", "unit"), [(1e15, Unit.WATT_HOUR), (-40.0, Unit.CELSIUS), (100.0, Unit.PERCENT)])
    def test_nor_in_readings(self, value: float, unit: Unit) -> None:
        assert find_breach(Report("p", "m", 0.0, readings=(("measure", Reading(value, unit, 0.0)),))) is None


class TestOutsideTheBounds:
    @pytest.mark.parametrize(
        ("state", "what"),
        [
            (light(level=101), "level"),
            (light(level=-1), "level"),
            (light(color=Color(360.1, 0, 0)), "hue"),
            (light(color=Color(0, -0.1, 0)), "saturation"),
            (light(color=Color(0, 0, 100.1)), "value"),
            (AutomationState(position=101), "position"),
            (thermostat(2.9), "set point"),
            (thermostat(40.1), "set point"),
            (thermostat(float("nan")), "set point"),
            (thermostat(program=12), "program"),
            (thermostat(humidity=Reading(101, Unit.PERCENT, 0.0)), "humidity"),
            (PlugState(on=True, power=watts(100_001)), "power"),
            (EnergyMeterState(energy=Reading(-1, Unit.WATT_HOUR, 0.0)), "energy"),
        ],
    )
    def test_the_value_is_named(self, state: State, what: str) -> None:
        assert breach_of(state=state).startswith(f"{what} is ")

    def test_readings_count_as_well(self) -> None:
        assert breach_of(readings=(("power", watts(-1)),)).startswith("power is ")

    @pytest.mark.parametrize("unit", [Unit.WATT, Unit.WATT_HOUR, Unit.CELSIUS])
    def test_a_reading_whose_sum_could_overflow_is_a_breach(self, unit: Unit) -> None:
        assert breach_of(readings=(("measure", Reading(1e300, unit, 0.0)),)).startswith("measure is ")

    def test_a_temperature_far_below_zero_is_a_breach(self) -> None:
        assert breach_of(readings=(("temperature", Reading(-1e300, Unit.CELSIUS, 0.0)),)).startswith("temperature is ")

    def test_what_is_no_number_is_a_breach(self) -> None:
        assert breach_of(state=light(level="bright")).startswith("not a valid report")
