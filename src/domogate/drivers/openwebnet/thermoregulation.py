"""WHO 4: zones of thermoregulation, with or without a central unit, and the central unit itself."""

from collections.abc import Callable, Mapping
from typing import Any

from domogate.domain.commands import Command, SetThermostat
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import CommandNotSupported
from domogate.domain.states import Reading, State, ThermostatFunction, ThermostatMode, ThermostatState, Unit
from domogate.drivers.bounds import check_bounds
from domogate.drivers.openwebnet.addresses import parse_zone
from domogate.drivers.openwebnet.device import Device, Key, Plan, to_number
from domogate.drivers.openwebnet.frames import (
    DimensionReading,
    DimensionRequest,
    DimensionWriting,
    Event,
    Normal,
    Request,
    StatusRequest,
)

WHO = 4
CENTRAL = 0
_TEMPERATURE, _ADJUSTED, _OFFSET, _SET_POINT, _VALVES, _ACTUATOR, _HUMIDITY = 0, 12, 13, 14, 19, 20, 60
_ACTIVE = frozenset({1, 2, 6, 7, 8, 9})
"""The values of valves and actuators that are on, open or blowing."""

LOWEST, HIGHEST = 5.0, 40.0
PROGRAMS = range(1, 4)
_NO_PROGRAM = 0
"""The program in `_Decoded` if no program runs. If the program is None, the frame does not name a program."""

_Decoded = tuple[ThermostatFunction | None, ThermostatMode | None, int | None]
"""Function, mode and program. A value is None if the frame does not have this value."""

_FUNCTIONS = {1: ThermostatFunction.HEATING, 2: ThermostatFunction.COOLING, 3: None}
_MODES = {
    2: ThermostatMode.PROTECTION,
    3: ThermostatMode.OFF,
    10: ThermostatMode.MANUAL,
    11: ThermostatMode.AUTOMATIC,
    12: ThermostatMode.MANUAL,  # for some hours; the number of hours follows the temperature
    15: ThermostatMode.AUTOMATIC,  # the daily plan for holidays
}
_FUNCTION_DIGIT = {ThermostatFunction.HEATING: 1, ThermostatFunction.COOLING: 2}
_LOCAL = {"4": ThermostatMode.OFF, "5": ThermostatMode.PROTECTION}
"""A thermostat on the wall has a knob. These positions of the knob mean a mode; its other positions mean an offset."""


def decode_what(what: int) -> _Decoded | None:
    """Return the function, mode and program that the WHAT of a frame means.

    The result is None if WHAT means none of them.
    """
    if what in (0, 1):
        return (ThermostatFunction.HEATING if what else ThermostatFunction.COOLING, None, None)
    digits = str(what)
    function = _FUNCTIONS.get(int(digits[0]))
    rest = int(digits[1:] or 0)
    if digits[0] not in "123":
        return None
    if len(digits) == 3 and rest in _MODES:
        return (function, _MODES[rest], None)
    if len(digits) == 4 and rest // 100 == 1:
        return (function, ThermostatMode.AUTOMATIC, rest % 100 if rest % 100 in PROGRAMS else None)
    if len(digits) == 4 and rest // 100 == 2:
        # A scenario runs instead of a program: the contract has no number for it.
        return (function, ThermostatMode.AUTOMATIC, _NO_PROGRAM)
    if len(digits) == 5 and rest // 1000 == 3:
        return (function, ThermostatMode.PROTECTION, None)  # the residents are away for some days
    return None


def decode_temperature(text: str) -> float | None:
    """Return a temperature in Celsius. The text has four digits: the sign (1 means negative), then tenths of a degree.

    Return None for any other text.
    """
    number = to_number(text)
    if number is None or len(text) != 4 or text[0] not in "01":
        return None
    return (number % 1000) / 10 * (-1 if text[0] == "1" else 1)


def encode_set_point(celsius: float) -> str:
    """Return the set point in the form of the bus.

    It is rounded to half degrees, because the bus has no other values.
    """
    return f"{round(celsius * 2) * 5:04d}"


class Zone(Device):
    """A zone or the central unit.

    The option `where` is N for a zone without a central unit. It is #N for a zone with a central unit, and #0 for the central
    unit itself.
    """

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self.where_text = str(options["where"])
        zone = parse_zone(self.where_text)
        assert zone is not None  # the options are already checked
        self.zone = zone
        self._function = ThermostatFunction.HEATING
        self._mode: ThermostatMode | None = None
        self._local: ThermostatMode | None = None
        self._program: int | None = None
        self._set_point: float | None = None
        self._temperature: Reading | None = None
        self._humidity: Reading | None = None
        self._active: dict[str, bool] = {}
        super().__init__(kind, options, last)

    def restore(self, last: State | None) -> None:
        if isinstance(last, ThermostatState):
            self._function, self._program = last.function, last.program
            # LOWEST can stand for a set point that is not known. It must not be sent in a later order.
            self._set_point = None if last.set_point == LOWEST else last.set_point
            self._temperature, self._humidity = last.temperature, last.humidity

    @property
    def keys(self) -> frozenset[Key]:
        return frozenset({(WHO, str(self.zone))})

    @property
    def read_requests(self) -> tuple[Request, ...]:
        if self.zone == CENTRAL:
            return (StatusRequest(WHO, self.where_text),)
        # Two requests to the probe read the whole zone. A zone behind a central unit is also read from the central unit.
        asked: tuple[Request, ...] = (StatusRequest(WHO, str(self.zone)), DimensionRequest(WHO, str(self.zone), _VALVES))
        return asked if self.where_text == str(self.zone) else (StatusRequest(WHO, self.where_text), *asked)

    # events

    def receive(self, event: Event, at: float) -> bool:
        received = self._receive_mode(event) if isinstance(event, Normal) else self._receive_dimension(event, at)
        if received:
            self._update_state()
        return received

    def _receive_mode(self, event: Normal) -> bool:
        decoded = decode_what(event.what)
        if decoded is None:
            return False
        function, mode, program = decoded
        self._function = function or self._function
        self._mode = mode or self._mode
        if program is not None:
            self._program = None if program == _NO_PROGRAM else program
        # In the other modes the parameter is not a temperature: 115#1101 is a holiday, and then program 1101.
        is_manual = mode is ThermostatMode.MANUAL
        if is_manual and event.params and (set_point := decode_temperature(event.params[0])) is not None:
            self._set_point = set_point
        return True

    def _receive_dimension(self, event: DimensionReading, at: float) -> bool:
        value = event.values[0]
        match event.dimension:
            case 0 if (celsius := decode_temperature(value)) is not None:
                self._temperature = Reading(celsius, Unit.CELSIUS, at)
                self.add_reading("temperature", self._temperature)
            case 60 if (percent := to_number(value)) is not None and percent <= 100:
                self._humidity = Reading(float(percent), Unit.PERCENT, at)
                self.add_reading("humidity", self._humidity)
            case 14 if (celsius := decode_temperature(value)) is not None:
                self._set_point = celsius
            case 12 if self._set_point is None and (celsius := decode_temperature(value)) is not None:
                # This value includes the offset of the knob. It is used until dimension 14 gives the value without the offset.
                self._set_point = celsius
            case 13:
                self._local = _LOCAL.get(value)
            case 19:
                self._active = {"valves": any(to_number(valve) in _ACTIVE for valve in event.values[:2])}
            case 20:
                self._active[event.where] = to_number(value) in _ACTIVE
            case _:
                return False
        return True

    def _update_state(self) -> None:
        mode = self._local or self._mode
        set_point = self._set_point
        has_none = mode in (ThermostatMode.OFF, ThermostatMode.PROTECTION) or self.zone == CENTRAL
        if set_point is None and has_none:
            # A zone that is off or protected sends no set point. A central unit sends it only in manual mode.
            set_point = LOWEST
        if mode is None or set_point is None:
            return
        self.state = ThermostatState(
            function=self._function,
            mode=mode,
            set_point=min(HIGHEST, max(3.0, set_point)),
            program=self._program if mode is ThermostatMode.AUTOMATIC else None,
            load_active=any(self._active.values()),
            temperature=self._temperature,
            humidity=self._humidity,
        )

    # commands

    def plan(self, command: Command) -> Plan:
        if not isinstance(command, SetThermostat):
            raise self.refusal(command)
        check_bounds("set point", command.set_point, LOWEST, HIGHEST)
        if command.activation_time is not None:
            raise CommandNotSupported("zones of this bus have no modes with an end, so they take no activation time")
        if command.mode is ThermostatMode.BOOST:
            raise CommandNotSupported("zones of this bus have no boost")
        if command.program is not None and (self.zone != CENTRAL or command.program not in PROGRAMS):
            raise CommandNotSupported("only the central unit (#0) has programs (1 to 3)")
        function = command.function or self._function
        digit = _FUNCTION_DIGIT[function]
        if command.mode in (ThermostatMode.OFF, ThermostatMode.PROTECTION):
            what = 303 if command.mode is ThermostatMode.OFF else digit * 100 + 2
            return self._plan_what(what, command.mode, command.function)
        if command.set_point is not None or command.mode is ThermostatMode.MANUAL:
            return self._plan_set_point(command, digit)
        if command.program is not None:
            return self._plan_what(digit * 1000 + 100 + command.program, ThermostatMode.AUTOMATIC, None, command.program)
        if command.mode is ThermostatMode.AUTOMATIC:
            return self._plan_what(digit * 100 + 11 if command.function else 311, command.mode, command.function)
        if command.function is not None:
            return self._plan_what(1 if command.function is ThermostatFunction.HEATING else 0, None, command.function)
        raise CommandNotSupported("a zone of this bus cannot execute any part of this command")

    def _plan_set_point(self, command: SetThermostat, digit: int) -> Plan:
        if command.mode is ThermostatMode.AUTOMATIC:
            raise CommandNotSupported("in automatic mode the program sets the set point")
        wanted = command.set_point if command.set_point is not None else self._set_point
        if wanted is None:
            raise CommandNotSupported("manual mode needs a set point, and the set point of the zone is not known yet")
        value = encode_set_point(wanted)
        request = DimensionWriting(WHO, self.where_text, _SET_POINT, (value, str(digit)))
        set_point = decode_temperature(value)
        return Plan(
            (request,),
            self._confirmed_when(lambda it: it.mode is ThermostatMode.MANUAL and it.set_point == set_point, command.function),
        )

    def _plan_what(
        self, what: int, mode: ThermostatMode | None, function: ThermostatFunction | None, program: int | None = None
    ) -> Plan:
        def fits(state: ThermostatState) -> bool:
            return mode in (None, state.mode) and program in (None, state.program)

        return Plan((Normal(WHO, what, self.where_text),), self._confirmed_when(fits, function))

    def _confirmed_when(
        self, fits: Callable[[ThermostatState], bool], function: ThermostatFunction | None
    ) -> Callable[[], bool]:
        def is_confirmed() -> bool:
            return isinstance(self.state, ThermostatState) and fits(self.state) and function in (None, self.state.function)

        return is_confirmed
