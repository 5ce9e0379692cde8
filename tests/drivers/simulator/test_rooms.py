from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.domain.commands import MoveShutter, SwitchHeater
from domogate.domain.devices import DeviceKind
from domogate.domain.states import (
    AutomationState,
    HeaterState,
    Reading,
    ThermostatFunction,
    ThermostatMode,
    ThermostatState,
    Unit,
)
from domogate.drivers.simulator.device import REAL_TIME, Device
from domogate.drivers.simulator.plant import SimulatedPlant
from domogate.drivers.simulator.thermostat import Thermostat
from domogate.drivers.simulator.weather import Weather
from domogate.ports import AttachedModule
from support.clocks import NOON
from support.devices import make_attached, make_id

HOUR = 3600.0
OFF = ThermostatState(
    function=ThermostatFunction.HEATING,
    mode=ThermostatMode.OFF,
    set_point=20.0,
    temperature=Reading(20.0, Unit.CELSIUS, NOON),
    humidity=Reading(50.0, Unit.PERCENT, NOON),
)


def make_plant(*attached: AttachedModule) -> SimulatedPlant:
    plant = SimulatedPlant(make_id(1), 1, Weather(1), REAL_TIME)
    for _ in plant.attach(attached, NOON):
        pass
    return plant


def advance(plant: SimulatedPlant, hours: float, start: float = NOON) -> None:
    for step in range(1, int(hours * 30) + 1):
        for _ in plant.evolve(start + step * 120):
            pass


def thermostat(number: int, room: str | None = None) -> AttachedModule:
    options = {} if room is None else {"room": room}
    return make_attached(DeviceKind.CHRONOTHERMOSTAT, OFF, module_id=make_id(number), options=options)


def device(plant: SimulatedPlant, attached: AttachedModule) -> Device[Any]:
    found = plant.find(attached.module.id).device
    assert found is not None
    return found


def celsius(plant: SimulatedPlant, attached: AttachedModule) -> float:
    thermostat = device(plant, attached)
    assert isinstance(thermostat, Thermostat)
    return thermostat.room.celsius


class TestWhatSharesARoom:
    def test_thermostats_in_one_room_feel_the_same_and_others_do_not(self) -> None:
        one, other, alone = thermostat(2, "hall"), thermostat(3, "hall"), thermostat(4)
        plant = make_plant(one, other, alone)
        advance(plant, 6)
        assert celsius(plant, one) == celsius(plant, other) != celsius(plant, alone)

    def test_a_heater_warms_its_own_room_only(self) -> None:
        warm, cold = thermostat(2, "hall"), thermostat(3, "attic")
        heater = make_attached(DeviceKind.HEATER, HeaterState(on=False), module_id=make_id(4), options={"room": "hall"})
        plant = make_plant(warm, cold, heater)
        device(plant, heater).execute(SwitchHeater(on=True), NOON)
        advance(plant, 1.9)
        assert celsius(plant, warm) > celsius(plant, cold) + 0.5

    def test_the_sun_warms_a_room_through_open_shutters(self) -> None:
        temperatures = {}
        for position in (0, 100):
            feels = thermostat(2, "hall")
            shutter = make_attached(
                DeviceKind.AUTOMATION, AutomationState(position=position), module_id=make_id(3), options={"room": "hall"}
            )
            plant = make_plant(feels, shutter)
            device(plant, shutter).execute(MoveShutter(position=position), NOON)
            advance(plant, 1.9)
            temperatures[position] = celsius(plant, feels)
        assert temperatures[100] > temperatures[0]

    def test_a_room_keeps_its_temperature_when_the_plant_changes(self) -> None:
        feels = thermostat(2, "hall")
        plant = make_plant(feels)
        advance(plant, 6)
        before = celsius(plant, feels)
        assert before < 19.5
        for _ in plant.attach((feels, thermostat(3, "hall")), NOON + 6 * HOUR):
            pass
        assert celsius(plant, feels) == before


class TestTheWeather:
    def test_is_cold_at_night_and_warmer_in_summer(self) -> None:
        weather = Weather(1)
        winter = sum(weather.outdoors(NOON + day * 86_400) for day in range(30)) / 30
        summer = sum(weather.outdoors(NOON + (240 + day) * 86_400) for day in range(30)) / 30
        assert winter + 8 < summer
        assert weather.outdoors(NOON - 7 * HOUR) < weather.outdoors(NOON + 5 * HOUR)

    def test_has_a_sun_by_day_that_is_higher_in_june(self) -> None:
        weather = Weather(1)
        june = NOON + 217 * 86_400
        assert weather.sun(NOON - 12 * HOUR) == weather.sun(june - 12 * HOUR) == 0
        brightest = [max(weather.sun(start + day * 86_400) for day in range(20)) for start in (NOON + 27 * 86_400, june)]
        assert 0 < brightest[0] < brightest[1] <= 1

    @given(st.floats(-1e10, 1e11), st.integers(0, 2**64))
    def test_is_bearable_at_any_time(self, at: float, seed: int) -> None:
        weather = Weather(seed)
        assert -20 < weather.outdoors(at) < 45
        assert 0 <= weather.sun(at) <= 1

    @given(st.floats(0, 4e9))
    def test_has_no_sudden_turns(self, at: float) -> None:
        weather = Weather(1)
        assert weather.outdoors(at + 60) == pytest.approx(weather.outdoors(at), abs=0.1)
