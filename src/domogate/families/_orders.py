"""The request bodies of X1 and X2, their commands, and the code that sends these commands (Spec 8, Decision 0041).

msgspec checks only the types of these bodies. Values are checked later, after the module was found (Decision 0016). The
bounds in the schemas are only for the OpenAPI documents.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from domogate.common.times import LATEST_LOCAL
from domogate.domain.commands import Command, SetLight, SetThermostat
from domogate.domain.faults import Fault, ValueOutOfRange
from domogate.domain.states import Color, ThermostatFunction, ThermostatMode
from domogate.families._call import Call, Services
from domogate.services.audit import AuditAction, note_command, note_done

T = TypeVar("T")

_DECIMAL = r"^-?[0-9]{1,3}(\.[0-9]{1,10})?$"
_DATE_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})?"
_END = rf"^(({_DATE_TIME}/)?{_DATE_TIME})?$"
"""The end of a mode: a time, or an interval `start/end`. An empty string means that no end is given."""
_is_decimal = re.compile(_DECIMAL.removesuffix("$")).fullmatch
_is_date_time = re.compile(_DATE_TIME).fullmatch
_START_LEEWAY = 300
"""In seconds. The interval of a mode must have begun, but the clock of an application may be wrong.

So the gateway accepts a start that is up to this time in the future.
"""

_STATUSES = {"on": True, "off": False}
_FUNCTIONS = {"heating": ThermostatFunction.HEATING, "cooling": ThermostatFunction.COOLING}
_MODES = {
    "automatic": ThermostatMode.AUTOMATIC,
    "manual": ThermostatMode.MANUAL,
    "boost": ThermostatMode.BOOST,
    "off": ThermostatMode.OFF,
    "protection": ThermostatMode.PROTECTION,
}
_COLORS = {"H": 360, "S": 100, "V": 100}


def _described(**schema: Any) -> Meta:
    return Meta(extra_json_schema=schema)


def _one_of_these(*names: str) -> Meta:
    return _described(anyOf=[{"required": [name]} for name in names])


class ColorOrder(msgspec.Struct, frozen=True):
    H: Annotated[float, _described(minimum=0, maximum=360)]
    S: Annotated[float, _described(minimum=0, maximum=100)]
    V: Annotated[float, _described(minimum=0, maximum=100)]


class LightOrder(msgspec.Struct, rename="camel", frozen=True):
    """The body of a request X2, with the names of Spec 2.7.

    At least one field is needed. If a field is left out, its value does not change, with two exceptions. `level` and `V` of
    `colorHSV` are the same brightness: if only one of them is sent, the other changes too. The brightness 0 without `status`
    switches the light off.
    """

    status: Annotated[str, _described(enum=list(_STATUSES))] | UnsetType = UNSET
    level: Annotated[float, _described(multipleOf=1, minimum=0, maximum=100)] | UnsetType = UNSET
    color: ColorOrder | UnsetType = msgspec.field(name="colorHSV", default=UNSET)


class SetPointOrder(msgspec.Struct, frozen=True):
    """The set point in the body of a request X1. E12 prints degrees as a string; clients may send a string or a number."""

    value: Annotated[str, _described(pattern=_DECIMAL)] | float
    unit: Annotated[str, _described(pattern="^°?[CFcf]$")]


class ProgramOrder(msgspec.Struct, frozen=True):
    number: Annotated[float, _described(multipleOf=1, minimum=0, maximum=11)]


class ThermostatOrder(msgspec.Struct, rename="camel", frozen=True):
    """The body of a request X1, with the names of Spec 2.8.

    At least one field is needed. If a field is left out, its value does not change. But a new `function`, `mode` or program can
    also change the set point, and a new `mode` can also change the end of the mode. Existing applications write the words of
    `function` and `mode` in lower or in upper case.
    """

    function: Annotated[str, _described(enum=list(_FUNCTIONS))] | UnsetType = UNSET
    mode: Annotated[str, _described(enum=list(_MODES))] | UnsetType = UNSET
    set_point: SetPointOrder | UnsetType = UNSET
    programs: Annotated[list[ProgramOrder], _described(minItems=1, maxItems=1)] | UnsetType = UNSET
    activation_time: Annotated[str, _described(pattern=_END)] | UnsetType = UNSET


LIGHT_BODY = Annotated[LightOrder, _one_of_these("status", "level", "colorHSV")]
THERMOSTAT_BODY = Annotated[ThermostatOrder, _one_of_these("function", "mode", "setPoint", "programs", "activationTime")]


def light_command(order: LightOrder) -> SetLight:
    fields: dict[str, Any] = {}
    if order.status is not UNSET:
        fields["on"] = _choose("status", order.status, _STATUSES)
    if order.level is not UNSET:
        fields["level"] = _whole("level", order.level, 0, 100)
    if order.color is not UNSET:
        color = order.color
        fields["color"] = Color(
            *(_within(f"{name} of colorHSV", getattr(color, name), 0, high) for name, high in _COLORS.items())
        )
    command = SetLight(**fields)
    if not fields:
        raise ValueOutOfRange("one of status, level and colorHSV is needed")
    if (contradiction := command.find_contradiction()) is not None:
        raise ValueOutOfRange(contradiction)
    return command


def thermostat_command(order: ThermostatOrder, *, known_programs: list[int], offset_minutes: int, now: float) -> SetThermostat:
    """Return the command for the body of X1. Raises ValueOutOfRange for a value that is not allowed.

    `known_programs` are the programs that E13 lists. `offset_minutes` is the thermostat's UTC offset.
    """
    fields: dict[str, Any] = {}
    if order.function is not UNSET:
        fields["function"] = _choose("function", order.function.lower(), _FUNCTIONS)
    if order.mode is not UNSET:
        fields["mode"] = _choose("mode", order.mode.lower(), _MODES)
    if order.set_point is not UNSET:
        fields["set_point"] = parse_celsius(order.set_point.value, order.set_point.unit)
    if order.programs is not UNSET:
        fields["program"] = _parse_program(order.programs, known_programs)
    if order.activation_time:
        fields["activation_time"] = parse_end(order.activation_time, offset_minutes, now)
    if not fields:
        raise ValueOutOfRange("one of function, mode, setPoint, programs and activationTime is needed")
    return SetThermostat(**fields)


def parse_celsius(value: str | float, unit: str) -> float:
    """Return a set point in Celsius, rounded to a tenth of a degree.

    Raises ValueOutOfRange if the value is not a number, or if the unit is neither C nor F. Also raises ValueOutOfRange if the
    set point is outside its bounds. The bounds are in Celsius for both units (Spec 8, Decision 0011).
    """
    if isinstance(value, str) and not _is_decimal(value):
        raise ValueOutOfRange("setPoint's value must be a number such as 20.5")
    # Decimal, because with floats 37.4 °F would be slightly less than the bound of 3 °C.
    degrees = Decimal(str(value))
    scale = unit.upper().removeprefix("°")
    celsius = _choose("setPoint's unit", scale, {"C": degrees, "F": (degrees - 32) * 5 / 9})
    if not 3 <= celsius <= 40:
        raise ValueOutOfRange("setPoint must be within 3..40 C, or 37.4..104 F")
    return float(round(celsius, 1))


def parse_end(text: str, offset_minutes: int, now: float) -> float:
    """Return the end of a mode, in seconds since the epoch.

    The text is a time in the future, or an interval `start/end` that has already begun. Raises ValueOutOfRange for any other
    text.
    """
    start, slash, end = text.rpartition("/")
    at = _parse_date_time(end, offset_minutes)
    if not now < at <= LATEST_LOCAL:
        raise ValueOutOfRange("activationTime must be in the future")
    if slash and _parse_date_time(start, offset_minutes) > now + _START_LEEWAY:
        raise ValueOutOfRange("activationTime must be an interval that has begun: the mode is set now")
    return at


def _parse_date_time(text: str, offset_minutes: int) -> float:
    """Return a time in seconds since the epoch. Raises ValueOutOfRange if the text is not a time.

    A text without a UTC offset is in the local time of the device, as in E12.
    """
    try:
        moment = datetime.fromisoformat(text) if _is_date_time(text) else None
    except ValueError:
        moment = None
    if moment is None:
        raise ValueOutOfRange("activationTime must be a date and time, YYYY-MM-DDThh:mm:ss, or two with a slash between them")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone(timedelta(minutes=offset_minutes)))
    return moment.timestamp()


def _parse_program(programs: list[ProgramOrder], known: list[int]) -> int:
    """Return the number of a program of the thermostat. Raises ValueOutOfRange if the thermostat has no such program.

    If the thermostat lists no programs, every number from 0 to 11 is accepted.
    """
    if len(programs) != 1:
        raise ValueOutOfRange("programs must name one program")
    number = _whole("the program's number", programs[0].number, 0, 11)
    if known and number not in known:
        raise ValueOutOfRange(f"the thermostat has no program {number}")
    return number


def _choose(name: str, word: str, choices: Mapping[str, T]) -> T:
    if word not in choices:
        raise ValueOutOfRange(f"{name} must be {' or '.join(choices)}")
    return choices[word]


def _within(name: str, value: float, low: int, high: int) -> float:
    if not low <= value <= high:
        raise ValueOutOfRange(f"{name} must be within {low}..{high}")
    return value


def _whole(name: str, value: float, low: int, high: int) -> int:
    """Return the value as an int. Raises ValueOutOfRange if it is not a whole number within the bounds.

    50.0 is also accepted as a whole number, because JSON has only one type of number.
    """
    if not _within(name, value, low, high).is_integer():
        raise ValueOutOfRange(f"{name} must be a whole number")
    return int(value)


async def send_command(services: Services, call: Call, command: Command, what: str) -> None:
    """Send the command to the module of the call, and record it in the audit log as `what`. A failed command is recorded too.

    Raises DeviceOffline, DeviceTimeout, DeviceRefused, Internal.
    """
    user_id = call.principal.user_id
    try:
        await services.control.execute(call.plant.plant.id, call.module.module.id, command, by=user_id)
    except Fault as fault:
        note_command(services.audit, user_id, what, fault, call.address)
        raise
    note_done(services.audit, call, AuditAction.COMMAND, what)
