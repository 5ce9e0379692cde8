"""WHO 4: zones of thermoregulation, alone or behind a central unit, and the central unit itself."""

from collections.abc import Callable, Mapping
from typing import Any

from domogate.domain.commands import Command, SetThermostat
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceRefused
from domogate.domain.states import Reading, State, ThermostatFunction, ThermostatMode, ThermostatState, Unit
from domogate.drivers.openwebnet.addresses import parse_zone
from domogate.drivers.openwebnet.device import Device, Key, Plan, check_bounds, to_number
from domogate.drivers.openwebnet.frames import (
    DimensionReading,
    DimensionRequest,
    DimensionWriting,
    News,
    Normal,
    Request,
    StatusRequest,
)

WHO = 4
CENTRAL = 0
_TEMPERATURE, _ADJUSTED, _OFFSET, _SET_POINT, _VALVES, _ACTUATOR, _HUMIDITY = 0, 12, 13, 14, 19, 20, 60
_AT_WORK = frozenset({1, 2, 6, 7, 8, 9})
"""What valves and actuators say when they are on, open, or blowing."""

LOWEST, HIGHEST = 5.0, 40.0
PROGRAMS = range(1, 4)

_Said = tuple[ThermostatFunction | None, ThermostatMode | None, int | None]
"""Function, mode and program; what is None is not told."""

_FUNCTIONS = {1: ThermostatFunction.HEATING, 2: ThermostatFunction.COOLING, 3: None}
_MODES = {
    2: ThermostatMode.PROTECTION,
    3: ThermostatMode.OFF,
    10: ThermostatMode.MANUAL,
    11: ThermostatMode.AUTOMATIC,
    15: ThermostatMode.AUTOMATIC,  # the daily plan for holidays
}
_FUNCTION_DIGIT = {ThermostatFunction.HEATING: 1, ThermostatFunction.COOLING: 2}
_LOCAL = {"4": ThermostatMode.OFF, "5": ThermostatMode.PROTECTION}
"""What the knob on the wall says besides an offset."""


def read_what(what: int) -> _Said | None:
    """What a WHAT of thermoregulation says of function, mode and program; None where it says nothing of them."""
    if what in (0, 1):
        return (ThermostatFunction.HEATING if what else ThermostatFunction.COOLING, None, None)
    written = str(what)
    function = _FUNCTIONS.get(int(written[0]))
    rest = int(written[1:] or 0)
    if written[0] not in "123":
        return None
    if len(written) == 3 and rest in _MODES:
        return (function, _MODES[rest], None)
    if len(written) == 4 and rest // 100 == 1:
        return (function, ThermostatMode.AUTOMATIC, rest % 100 if rest % 100 in PROGRAMS else None)
    if len(written) == 4 and rest // 100 == 2:
        return (function, ThermostatMode.AUTOMATIC, None)  # a scenario of the day, which has no number in the contract
    if len(written) == 5 and rest // 1000 == 3:
        return (function, ThermostatMode.PROTECTION, None)  # away for so many days
    return None


def read_temperature(written: str) -> float | None:
    """Four digits: a sign (1 is below zero), and tenths of a degree."""
    number = to_number(written)
    if number is None or len(written) != 4 or written[0] not in "01":
        return None
    return (number % 1000) / 10 * (-1 if written[0] == "1" else 1)


def write_set_point(celsius: float) -> str:
    """Buses know half degrees."""
    return f"{round(celsius * 2) * 5:04d}"


class Zone(Device):
    """A zone (`where` N), a zone that obeys its central unit (#N), or the central unit (#0)."""

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self.written = str(options["where"])
        zone = parse_zone(self.written)
        assert zone is not None  # the options were checked
        self.zone = zone
        self._function = ThermostatFunction.HEATING
        self._mode: ThermostatMode | None = None
        self._local: ThermostatMode | None = None
        self._program: int | None = None
        self._set_point: float | None = None
        self._temperature: Reading | None = None
        self._humidity: Reading | None = None
        self._at_work: dict[str, bool] = {}
        super().__init__(kind, options, last)

    def begin(self, last: State | None) -> None:
        if isinstance(last, ThermostatState):
            self._function, self._program, self._set_point = last.function, last.program, last.set_point
            self._temperature, self._humidity = last.temperature, last.humidity

    @property
    def keys(self) -> frozenset[Key]:
        return frozenset({(WHO, str(self.zone))})

    @property
    def questions(self) -> tuple[Request, ...]:
        if self.zone == CENTRAL:
            return (StatusRequest(WHO, self.written),)
        # All of a zone in one question, asked of its probe; a central unit adds what it has set.
        asked: tuple[Request, ...] = (StatusRequest(WHO, str(self.zone)), DimensionRequest(WHO, str(self.zone), _VALVES))
        return asked if self.written == str(self.zone) else (StatusRequest(WHO, self.written), *asked)

    # what it says

    def hear(self, news: News, at: float) -> bool:
        heard = self._hear_mode(news) if isinstance(news, Normal) else self._hear_dimension(news, at)
        if heard:
            self._show()
        return heard

    def _hear_mode(self, news: Normal) -> bool:
        said = read_what(news.what)
        if said is None:
            return False
        function, mode, program = said
        self._function = function or self._function
        self._mode = mode or self._mode
        if mode is ThermostatMode.AUTOMATIC:
            self._program = program or self._program
        if news.params and (set_point := read_temperature(news.params[0])) is not None:
            self._set_point = set_point
        return True

    def _hear_dimension(self, news: DimensionReading, at: float) -> bool:
        value = news.values[0]
        match news.dimension:
            case 0 if (celsius := read_temperature(value)) is not None:
                self._temperature = Reading(celsius, Unit.CELSIUS, at)
                self.note("temperature", self._temperature)
            case 60 if (percent := to_number(value)) is not None and percent <= 100:
                self._humidity = Reading(float(percent), Unit.PERCENT, at)
                self.note("humidity", self._humidity)
            case 14 if (celsius := read_temperature(value)) is not None:
                self._set_point = celsius
            case 12 if self._set_point is None and (celsius := read_temperature(value)) is not None:
                self._set_point = celsius  # with the knob's offset; better than nothing until 14 tells it without
            case 13:
                self._local = _LOCAL.get(value)
            case 19:
                self._at_work = {"valves": any(to_number(valve) in _AT_WORK for valve in news.values[:2])}
            case 20:
                self._at_work[news.where] = to_number(value) in _AT_WORK
            case _:
                return False
        return True

    def _show(self) -> None:
        mode = self._local or self._mode
        set_point = self._set_point
        if set_point is None and mode in (ThermostatMode.OFF, ThermostatMode.PROTECTION):
            set_point = LOWEST  # it has none then, and the state must
        if mode is None or set_point is None:
            return
        self.state = ThermostatState(
            function=self._function,
            mode=mode,
            set_point=min(HIGHEST, max(3.0, set_point)),
            program=self._program if mode is ThermostatMode.AUTOMATIC else None,
            load_active=any(self._at_work.values()),
            temperature=self._temperature,
            humidity=self._humidity,
        )

    # what it is told

    def plan(self, command: Command) -> Plan:
        if not isinstance(command, SetThermostat):
            raise self.refusal(command)
        check_bounds("set point", command.set_point, LOWEST, HIGHEST)
        if command.activation_time is not None:
            raise DeviceRefused("zones of this bus keep a mode until they are told otherwise: they take no activation time")
        if command.mode is ThermostatMode.BOOST:
            raise DeviceRefused("zones of this bus know no boost")
        if command.program is not None and (self.zone != CENTRAL or command.program not in PROGRAMS):
            raise DeviceRefused("programs 1 to 3 are the central unit's (#0): a zone follows the one that runs there")
        function = command.function or self._function
        digit = _FUNCTION_DIGIT[function]
        if command.mode in (ThermostatMode.OFF, ThermostatMode.PROTECTION):
            what = 303 if command.mode is ThermostatMode.OFF else digit * 100 + 2
            return self._telling(what, command.mode, command.function)
        if command.set_point is not None or command.mode is ThermostatMode.MANUAL:
            return self._setting(command, digit)
        if command.program is not None:
            return self._telling(digit * 1000 + 100 + command.program, ThermostatMode.AUTOMATIC, None, command.program)
        if command.mode is ThermostatMode.AUTOMATIC:
            return self._telling(digit * 100 + 11 if command.function else 311, command.mode, command.function)
        if command.function is not None:
            return self._telling(1 if command.function is ThermostatFunction.HEATING else 0, None, command.function)
        raise DeviceRefused("nothing was said that a zone of this bus could do")

    def _setting(self, command: SetThermostat, digit: int) -> Plan:
        if command.mode is ThermostatMode.AUTOMATIC:
            raise DeviceRefused("in automatic mode the program says the set point")
        wanted = command.set_point if command.set_point is not None else self._set_point
        if wanted is None:
            raise DeviceRefused("manual mode needs a set point, and the zone has told none so far")
        written = write_set_point(wanted)
        request = DimensionWriting(WHO, self.written, _SET_POINT, (written, str(digit)))
        set_point = read_temperature(written)
        return Plan(
            (request,), self._shows(lambda it: it.mode is ThermostatMode.MANUAL and it.set_point == set_point, command.function)
        )

    def _telling(
        self, what: int, mode: ThermostatMode | None, function: ThermostatFunction | None, program: int | None = None
    ) -> Plan:
        def fits(state: ThermostatState) -> bool:
            return mode in (None, state.mode) and program in (None, state.program)

        return Plan((Normal(WHO, what, self.written),), self._shows(fits, function))

    def _shows(self, fits: Callable[[ThermostatState], bool], function: ThermostatFunction | None) -> Callable[[], bool]:
        def is_shown() -> bool:
            return isinstance(self.state, ThermostatState) and fits(self.state) and function in (None, self.state.function)

        return is_shown
