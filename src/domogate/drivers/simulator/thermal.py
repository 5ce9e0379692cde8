"""Thermostats: a room that gains and loses warmth, and what keeps it as it should be.

The room is of the first order: it follows what surrounds it, the weather and the load, with one time constant. That has an
exact solution for as long as the load stays as it is, so time may pass in steps of any length.
"""

from math import cos, exp, pi

import msgspec

from domogate.domain.commands import Command, SetThermostat
from domogate.domain.plants import Module, ThermostatDetail
from domogate.domain.states import Reading, ThermostatFunction, ThermostatMode, ThermostatState, Unit
from domogate.drivers.simulator.chance import Cadence, Chance
from domogate.drivers.simulator.device import Device, check_bounds

_DAY = 86_400.0
_STEP = 120.0
_STEPS = 100
"""The load is looked at every so many seconds, or so many times when more time passes at once."""
_MEMORY = _DAY
"""What was longer ago than this no longer matters to a room's temperature."""
_HYSTERESIS = 0.3
_MEASURE_EVERY = 60.0
_MEASURE_ANYWAY = 600.0
_BOOST_LASTS = 1800.0

# What each mode aims at beside the set point: by function.
_PROTECTION = {ThermostatFunction.HEATING: 7.0, ThermostatFunction.COOLING: 35.0}
_BOOST = {ThermostatFunction.HEATING: 30.0, ThermostatFunction.COOLING: 16.0}
_SIGN = {ThermostatFunction.HEATING: 1.0, ThermostatFunction.COOLING: -1.0}


def outdoor_temperature(at: float) -> float:
    """The weather, in Celsius: cold at five in the morning, warm at five in the afternoon, warmest in July."""
    season = 11.0 - 9.0 * cos(2 * pi * (at / _DAY % 365.25 - 15) / 365.25)
    return season - 5.0 * cos(2 * pi * (at % _DAY - 5 * 3600) / _DAY)


def to_celsius(value: float, unit: Unit) -> float:
    return (value - 32) / 1.8 if unit is Unit.FAHRENHEIT else value


def from_celsius(celsius: float, unit: Unit) -> float:
    return celsius * 1.8 + 32 if unit is Unit.FAHRENHEIT else celsius


class Thermostat(Device[ThermostatState]):
    """Keeps its room at the set point; in automatic mode lets it drift by some degrees outside the program's hours."""

    __slots__ = ("_cadence", "_constant", "_gain", "_humidity_shift", "_programs", "_room", "_until")
    reports = ThermostatState

    def __init__(self, module: Module, state: ThermostatState | None, chance: Chance, now: float) -> None:
        self._programs = _programs_of(module)
        super().__init__(module, state, chance, now)
        self._until = now
        self._constant = chance.between("time constant", 4, 9) * 3600
        self._gain = chance.between("gain", 24, 34)
        self._cadence = Cadence(chance, "measure", _MEASURE_EVERY, now)
        measured, humidity = self.state.temperature, self.state.humidity
        self._room = (
            self.state.set_point - chance.between("start", 0, 2)
            if measured is None
            else to_celsius(measured.value, measured.unit)
        )
        self._humidity_shift = 0.0 if humidity is None else humidity.value - self._humid_by_itself(now)
        if measured is None or humidity is None:
            self._measure(now)

    def first_state(self) -> ThermostatState:
        return ThermostatState(
            function=ThermostatFunction.HEATING,
            mode=ThermostatMode.AUTOMATIC,
            set_point=self.chance.pick("set point", (19.0, 20.0, 20.5, 21.0, 22.0)),
            program=self._programs[0],
        )

    # time

    def evolve(self, now: float) -> None:
        ends = self.state.activation_time
        if ends is not None and now >= ends:
            self._fall_back()
        self._live(now)
        if self._cadence.is_due(now):
            self._measure(now)

    def _fall_back(self) -> None:
        state = self.state
        mode = state.former_mode or (ThermostatMode.MANUAL if state.program is None else ThermostatMode.AUTOMATIC)
        self.state = msgspec.structs.replace(
            state, mode=mode, activation_time=None, former_mode=None, program=self._program_for(mode, state.program)
        )

    def _live(self, now: float) -> None:
        at = max(self._until, now - _MEMORY)
        step = max(_STEP, (now - at) / _STEPS)
        load = self.state.load_active
        sign = _SIGN[self.state.function]
        while at < now:
            passing = min(step, now - at)
            load = self._wants_load(at, load)
            surrounded_by = outdoor_temperature(at) + (sign * self._gain if load else 0.0)
            self._room = surrounded_by + (self._room - surrounded_by) * exp(-passing / self._constant)
            at += passing
        self._until = now
        self._set_load(self._wants_load(now, load))

    def _set_load(self, load: bool) -> None:
        if load is not self.state.load_active:
            self.state = msgspec.structs.replace(self.state, load_active=load)

    def _wants_load(self, at: float, load: bool) -> bool:
        target = self._target(at)
        if target is None:
            return False
        lacking = _SIGN[self.state.function] * (target - self._room)
        return lacking > -_HYSTERESIS if load else lacking > _HYSTERESIS

    def _target(self, at: float) -> float | None:
        state = self.state
        match state.mode:
            case ThermostatMode.OFF:
                return None
            case ThermostatMode.PROTECTION:
                return _PROTECTION[state.function]
            case ThermostatMode.BOOST:
                return _BOOST[state.function]
            case ThermostatMode.MANUAL:
                return state.set_point
            case ThermostatMode.AUTOMATIC:
                hour = (at / 60 + state.utc_offset_minutes) % 1440 / 60
                drift = 0.0 if _in_program(state.program or 0, hour) else 3.0
                return state.set_point - _SIGN[state.function] * drift

    # measuring

    def _measure(self, now: float) -> None:
        state = self.state
        temperature = _measured(state.temperature, round(from_celsius(self._room, state.scale), 1), state.scale, now)
        humid = min(max(self._humid_by_itself(now) + self._humidity_shift, 0.0), 100.0)
        humidity = _measured(state.humidity, float(round(humid)), Unit.PERCENT, now)
        if temperature is not state.temperature or humidity is not state.humidity:
            self.state = msgspec.structs.replace(state, temperature=temperature, humidity=humidity)

    def _humid_by_itself(self, now: float) -> float:
        day = cos(2 * pi * (now / _DAY + self.chance.of("humid phase")))
        return self.chance.between("humid", 40, 55) + 6 * day + 2 * self.chance.of("breath", int(now // 1800))

    # orders

    def obey(self, command: Command, now: float) -> None:
        if not isinstance(command, SetThermostat):
            raise self.refusal(command)
        check_bounds("set point", command.set_point, 3, 40)
        check_bounds("program", command.program, 0, 11)
        before = self.state
        mode = command.mode or before.mode
        former = before.former_mode
        if mode is not before.mode and not (before.activation_time is not None and former is not None):
            # A timed mode that is overtaken by another leads back to where the first one came from.
            former = before.mode
        ends = command.activation_time
        if ends is None:
            ends = before.activation_time if command.mode is None else None
            if command.mode is ThermostatMode.BOOST:
                ends = now + _BOOST_LASTS
        self.state = msgspec.structs.replace(
            before,
            function=command.function or before.function,
            mode=mode,
            set_point=before.set_point if command.set_point is None else command.set_point,
            program=self._program_for(mode, before.program if command.program is None else command.program),
            activation_time=ends,
            former_mode=former,
        )
        self._set_load(self._wants_load(now, self.state.load_active and self.state.function is before.function))

    def _program_for(self, mode: ThermostatMode, program: int | None) -> int | None:
        """In automatic mode some program is always active (Spec 2.8)."""
        return self._programs[0] if program is None and mode is ThermostatMode.AUTOMATIC else program


def _programs_of(module: Module) -> tuple[int, ...]:
    detail = module.detail
    numbers = tuple(program.number for program in detail.programs) if isinstance(detail, ThermostatDetail) else ()
    return numbers or (0,)


def _in_program(number: int, hour: float) -> bool:
    """A schedule by number: programs begin between five and eight and last ten to sixteen hours."""
    begins = 5 + number % 4
    return begins <= hour < begins + 10 + number // 4 * 3


def _measured(before: Reading | None, value: float, unit: Unit, now: float) -> Reading:
    if before is not None and before.value == value and before.unit is unit and 0 <= now - before.at < _MEASURE_ANYWAY:
        return before
    return Reading(value, unit, now)
