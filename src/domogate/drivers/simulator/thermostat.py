"""Simulated thermostats: they follow weekly programs and commands, and heat or cool their rooms."""

from math import cos, pi

import msgspec

from domogate.domain.commands import Command, SetThermostat
from domogate.domain.plants import Module, ThermostatDetail
from domogate.domain.states import Reading, ThermostatFunction, ThermostatMode, ThermostatState, Unit
from domogate.drivers.bounds import check_bounds
from domogate.drivers.simulator.device import Device, Start
from domogate.drivers.simulator.programs import SET_POINTS, Level, Period, period_at
from domogate.drivers.simulator.rooms import Room
from domogate.drivers.simulator.seeded_random import MeasureSchedule

_DAY = 86_400.0
_HYSTERESIS = 0.25
_MEASURE_ANYWAY = 600.0
_NOISE = 0.12
_ADVANCE_EVERY = 20.0
"""In seconds: a tick of the simulator computes the room temperature if the last computation was at least this time ago.

This is often enough, because the temperature changes slowly. A tick computes it earlier only if the
thermostat measures in this tick, or if its timed mode has ended.
"""
_BOOST_LASTS = 1800.0

# Target temperatures of the modes that ignore the set point.
PROTECTION = {ThermostatFunction.HEATING: 7.0, ThermostatFunction.COOLING: 35.0}
BOOST = {ThermostatFunction.HEATING: 30.0, ThermostatFunction.COOLING: 16.0}
_SIGN = {ThermostatFunction.HEATING: 1.0, ThermostatFunction.COOLING: -1.0}


def to_celsius(value: float, unit: Unit) -> float:
    return (value - 32) / 1.8 if unit is Unit.FAHRENHEIT else value


def from_celsius(celsius: float, unit: Unit) -> float:
    return celsius * 1.8 + 32 if unit is Unit.FAHRENHEIT else celsius


class Thermostat(Device[ThermostatState]):
    """A thermostat, which keeps its room at the set point. In automatic mode the program changes the set point.

    A set point from a command in automatic mode is valid until the next period of the program. The field `activation_time` is
    real time, like all times that leave the simulator (Decision 0036).
    """

    __slots__ = ("_gain", "_humidity_shift", "_measured_at", "_period", "_programs", "_schedule", "room")
    reports = ThermostatState

    def __init__(self, module: Module, state: ThermostatState | None, start: Start) -> None:
        self._programs = _programs_of(module)
        super().__init__(module, state, start)
        self._gain = self.random.between("gain", 46, 60)
        self._schedule = MeasureSchedule(self.random, "measure", start.measure_every, start.now)
        self._measured_at = start.now
        self._period = self._period_at(start.now if state is None else start.since)
        if state is None:
            self._follow(start.now, restart=True)
        humidity = self.state.humidity
        self._humidity_shift = 0.0 if humidity is None else humidity.value - self._base_humidity(start.now)
        self.room: Room
        """The room that the thermostat heats or cools. `enter` sets it before the first call of `evolve`."""

    def first_state(self) -> ThermostatState:
        return ThermostatState(
            function=ThermostatFunction.HEATING,
            mode=ThermostatMode.AUTOMATIC,
            set_point=SET_POINTS[ThermostatFunction.HEATING][Level.COMFORT],
            program=self._programs[0],
        )

    @property
    def measured_celsius(self) -> float | None:
        """The last measured temperature of the room in Celsius, or None before the first measurement."""
        measured = self.state.temperature
        return None if measured is None else to_celsius(measured.value, measured.unit)

    @property
    def likely_celsius(self) -> float:
        """A plausible temperature of the room before the first measurement."""
        return self.state.set_point - self.random.between("start", 0, 2)

    def enter(self, room: Room, now: float) -> None:
        """From now on, control the temperature of this room."""
        self.room = room
        if self.state.temperature is None or self.state.humidity is None:
            self._measure(now)

    # time

    def evolve(self, now: float) -> None:
        due = self._schedule.is_due(now)
        ends = self._ends
        if due or (ends is not None and now >= ends) or not 0 <= now - self.room.advanced_until < _ADVANCE_EVERY:
            self.room.advance(now)
        if due:
            self._measure(now)

    def regulate(self, at: float, celsius: float) -> float:
        """Apply the program and the end of a timed mode, and switch the heating or cooling.

        Returns by how many degrees the room would become warmer if the heating or cooling stayed on for a long time. The number
        is below 0 for cooling, and 0 if both are off.
        """
        ends = self._ends
        if ends is not None and at >= ends:
            self._end_timed_mode()
        self._follow(at)
        self._set_load(self._wants_load(celsius, self.state.load_active))
        return _SIGN[self.state.function] * self._gain if self.state.load_active else 0.0

    @property
    def _ends(self) -> float | None:
        """The simulated time at which the present mode ends, or None if it has no end."""
        ends = self.state.activation_time
        return None if ends is None else self.time_scale.simulated(ends)

    def _end_timed_mode(self) -> None:
        state = self.state
        mode = state.former_mode or (ThermostatMode.MANUAL if state.program is None else ThermostatMode.AUTOMATIC)
        self.state = msgspec.structs.replace(
            state, mode=mode, activation_time=None, former_mode=None, program=self._program_for(mode, state.program)
        )
        self._period = None

    def _follow(self, at: float, *, restart: bool = False) -> None:
        """In automatic mode, when a new period of the program has begun, use its set point.

        If `restart` is true, use the set point of the present period even if this period is not new.
        """
        period = self._period_at(at)
        if period is None or (period == self._period and not restart):
            return
        self._period = period
        wanted = SET_POINTS[self.state.function][period.level]
        if wanted != self.state.set_point:
            self.state = msgspec.structs.replace(self.state, set_point=wanted)

    def _period_at(self, at: float) -> Period | None:
        state = self.state
        if state.mode is not ThermostatMode.AUTOMATIC:
            return None
        return period_at(state.program or 0, at + state.utc_offset_minutes * 60)

    def _set_load(self, load: bool) -> None:
        if load is not self.state.load_active:
            self.state = msgspec.structs.replace(self.state, load_active=load)

    def _wants_load(self, celsius: float, load: bool) -> bool:
        target = self._target()
        if target is None:
            return False
        lacking = _SIGN[self.state.function] * (target - celsius)
        return lacking > -_HYSTERESIS if load else lacking > _HYSTERESIS

    def _target(self) -> float | None:
        state = self.state
        match state.mode:
            case ThermostatMode.OFF:
                return None
            case ThermostatMode.PROTECTION:
                return PROTECTION[state.function]
            case ThermostatMode.BOOST:
                return BOOST[state.function]
            case ThermostatMode.MANUAL | ThermostatMode.AUTOMATIC:
                return state.set_point

    # measuring

    def _measure(self, now: float) -> None:
        state = self.state
        # Like radio sensors: rounded to a hundredth of a degree, with some noise. So even a slow room shows changes.
        celsius = self.room.celsius + _NOISE * (2 * self.random.of("draught", int(now // 60)) - 1)
        temperature = self._reading(state.temperature, round(from_celsius(celsius, state.scale), 2), state.scale, now)
        humid = min(max(self._base_humidity(now) + self._humidity_shift, 0.0), 100.0)
        humidity = self._reading(state.humidity, float(round(humid)), Unit.PERCENT, now)
        if not 0 <= now - self._measured_at < _MEASURE_ANYWAY:
            self._measured_at = now
        if temperature is not state.temperature or humidity is not state.humidity:
            self.state = msgspec.structs.replace(state, temperature=temperature, humidity=humidity)

    def _reading(self, before: Reading | None, value: float, unit: Unit, now: float) -> Reading:
        """Return a reading of the value. If the value has not changed, the reading gets a new time only every ten minutes."""
        if 0 <= now - self._measured_at < _MEASURE_ANYWAY:
            return self.measured(before, value, unit, now)
        return Reading(value, unit, self.time_scale.real(now))

    def _base_humidity(self, now: float) -> float:
        day = cos(2 * pi * (now / _DAY + self.random.of("humid phase")))
        return self.random.between("humid", 40, 55) + 6 * day + 2 * self.random.of("breath", int(now // 1800))

    # orders

    def execute(self, command: Command, now: float) -> None:
        if not isinstance(command, SetThermostat):
            raise self.refusal(command)
        check_bounds("set point", command.set_point, 3, 40)
        check_bounds("program", command.program, 0, 11)
        before = self.state
        mode = command.mode or before.mode
        former = before.former_mode
        if mode is not before.mode and not (before.activation_time is not None and former is not None):
            # If a second timed mode replaces a first timed mode, its end returns to the mode before the first timed mode.
            former = before.mode
        ends = command.activation_time
        if ends is None:
            ends = before.activation_time if command.mode is None else None
            if command.mode is ThermostatMode.BOOST:
                ends = self.time_scale.real(now + _BOOST_LASTS)
        self.state = msgspec.structs.replace(
            before,
            function=command.function or before.function,
            mode=mode,
            set_point=before.set_point if command.set_point is None else command.set_point,
            program=self._program_for(mode, before.program if command.program is None else command.program),
            activation_time=ends,
            former_mode=former,
        )
        if command.set_point is not None:
            self._period = self._period_at(now)
        elif command.mode is not None or command.program is not None or command.function is not None:
            self._follow(now, restart=True)
        self._set_load(self._wants_load(self.room.celsius, self.state.load_active and self.state.function is before.function))

    def _program_for(self, mode: ThermostatMode, program: int | None) -> int | None:
        """Return `program`. If it is None in automatic mode, return the first program of the thermostat.

        In automatic mode a program is always active (Spec 2.8).
        """
        return self._programs[0] if program is None and mode is ThermostatMode.AUTOMATIC else program


def _programs_of(module: Module) -> tuple[int, ...]:
    detail = module.detail
    numbers = tuple(program.number for program in detail.programs) if isinstance(detail, ThermostatDetail) else ()
    return numbers or (0,)
