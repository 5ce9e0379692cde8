"""Thermostats: they follow their weekly programs, and what they are told, and keep their rooms accordingly."""

from math import cos, pi

import msgspec

from domogate.domain.commands import Command, SetThermostat
from domogate.domain.plants import Module, ThermostatDetail
from domogate.domain.states import Reading, ThermostatFunction, ThermostatMode, ThermostatState, Unit
from domogate.drivers.simulator.chance import Cadence
from domogate.drivers.simulator.device import Device, Start, check_bounds
from domogate.drivers.simulator.programs import SET_POINTS, Level, Period, period_at
from domogate.drivers.simulator.rooms import Room

_DAY = 86_400.0
_HYSTERESIS = 0.25
_MEASURE_ANYWAY = 600.0
_DRAUGHT = 0.12
_LOOK_EVERY = 20.0
"""A room is slow: it need not be looked at in every tick."""
_BOOST_LASTS = 1800.0

# What each mode aims at beside the set point: by function.
PROTECTION = {ThermostatFunction.HEATING: 7.0, ThermostatFunction.COOLING: 35.0}
BOOST = {ThermostatFunction.HEATING: 30.0, ThermostatFunction.COOLING: 16.0}
_SIGN = {ThermostatFunction.HEATING: 1.0, ThermostatFunction.COOLING: -1.0}


def to_celsius(value: float, unit: Unit) -> float:
    return (value - 32) / 1.8 if unit is Unit.FAHRENHEIT else value


def from_celsius(celsius: float, unit: Unit) -> float:
    return celsius * 1.8 + 32 if unit is Unit.FAHRENHEIT else celsius


class Thermostat(Device[ThermostatState]):
    """Keeps its room at the set point, which in automatic mode the program moves.

    A set point that is ordered in automatic mode holds until the program's next period. `activation_time` is in real
    time, as all that leaves the simulator is (Decision 0036).
    """

    __slots__ = ("_cadence", "_gain", "_humidity_shift", "_measured_at", "_period", "_programs", "room")
    reports = ThermostatState

    def __init__(self, module: Module, state: ThermostatState | None, start: Start) -> None:
        self._programs = _programs_of(module)
        super().__init__(module, state, start)
        self._gain = self.chance.between("gain", 46, 60)
        self._cadence = Cadence(self.chance, "measure", start.measure_every, start.now)
        self._measured_at = start.now
        self._period = self._period_at(start.now if state is None else start.since)
        if state is None:
            self._follow(start.now, anew=True)
        humidity = self.state.humidity
        self._humidity_shift = 0.0 if humidity is None else humidity.value - self._humid_by_itself(start.now)
        self.room: Room
        """Set by `enter`, before time passes."""

    def first_state(self) -> ThermostatState:
        return ThermostatState(
            function=ThermostatFunction.HEATING,
            mode=ThermostatMode.AUTOMATIC,
            set_point=SET_POINTS[ThermostatFunction.HEATING][Level.COMFORT],
            program=self._programs[0],
        )

    @property
    def felt(self) -> float | None:
        """The room's temperature as it last measured it, in Celsius."""
        measured = self.state.temperature
        return None if measured is None else to_celsius(measured.value, measured.unit)

    @property
    def likely(self) -> float:
        """What the room may have been at before anybody measured it."""
        return self.state.set_point - self.chance.between("start", 0, 2)

    def enter(self, room: Room, now: float) -> None:
        """Stand in this room from now on."""
        self.room = room
        if self.state.temperature is None or self.state.humidity is None:
            self._measure(now)

    # time

    def evolve(self, now: float) -> None:
        due = self._cadence.is_due(now)
        ends = self._ends
        if due or (ends is not None and now >= ends) or not 0 <= now - self.room.lived_until < _LOOK_EVERY:
            self.room.live(now)
        if due:
            self._measure(now)

    def regulate(self, at: float, celsius: float) -> float:
        """What the program and the time say at this moment, and whether that takes the load."""
        ends = self._ends
        if ends is not None and at >= ends:
            self._fall_back()
        self._follow(at)
        self._set_load(self._wants_load(celsius, self.state.load_active))
        return _SIGN[self.state.function] * self._gain if self.state.load_active else 0.0

    @property
    def _ends(self) -> float | None:
        """When the mode ends, in simulated time."""
        ends = self.state.activation_time
        return None if ends is None else self.pace.simulated(ends)

    def _fall_back(self) -> None:
        state = self.state
        mode = state.former_mode or (ThermostatMode.MANUAL if state.program is None else ThermostatMode.AUTOMATIC)
        self.state = msgspec.structs.replace(
            state, mode=mode, activation_time=None, former_mode=None, program=self._program_for(mode, state.program)
        )
        self._period = None

    def _follow(self, at: float, *, anew: bool = False) -> None:
        """In automatic mode: take over the set point of a period that has begun."""
        period = self._period_at(at)
        if period is None or (period == self._period and not anew):
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
        # To a hundredth of a degree, as radio sensors do, in air that is never quite still: even a slow room is seen to move.
        felt = self.room.celsius + _DRAUGHT * (2 * self.chance.of("draught", int(now // 60)) - 1)
        temperature = self._reading(state.temperature, round(from_celsius(felt, state.scale), 2), state.scale, now)
        humid = min(max(self._humid_by_itself(now) + self._humidity_shift, 0.0), 100.0)
        humidity = self._reading(state.humidity, float(round(humid)), Unit.PERCENT, now)
        if not 0 <= now - self._measured_at < _MEASURE_ANYWAY:
            self._measured_at = now
        if temperature is not state.temperature or humidity is not state.humidity:
            self.state = msgspec.structs.replace(state, temperature=temperature, humidity=humidity)

    def _reading(self, before: Reading | None, value: float, unit: Unit, now: float) -> Reading:
        """A value that stays the same is dated anew now and then: it was measured, after all."""
        if 0 <= now - self._measured_at < _MEASURE_ANYWAY:
            return self.measured(before, value, unit, now)
        return Reading(value, unit, self.pace.real(now))

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
                ends = self.pace.real(now + _BOOST_LASTS)
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
            self._follow(now, anew=True)
        self._set_load(self._wants_load(self.room.celsius, self.state.load_active and self.state.function is before.function))

    def _program_for(self, mode: ThermostatMode, program: int | None) -> int | None:
        """In automatic mode some program is always active (Spec 2.8)."""
        return self._programs[0] if program is None and mode is ThermostatMode.AUTOMATIC else program


def _programs_of(module: Module) -> tuple[int, ...]:
    detail = module.detail
    numbers = tuple(program.number for program in detail.programs) if isinstance(detail, ThermostatDetail) else ()
    return numbers or (0,)
