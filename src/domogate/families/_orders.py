"""The bodies of X1 and X2, and the commands they become: words, bounded numbers, degrees and times (Spec 8, Decision 0041).

The schemas say what is right; values are looked at only once the module is known to be there (Decision 0016), so that msgspec
checks types alone.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from domogate.domain.commands import SetLight, SetThermostat
from domogate.domain.faults import ValueOutOfRange
from domogate.domain.states import Color, ThermostatFunction, ThermostatMode

T = TypeVar("T")

_DECIMAL = r"^-?[0-9]{1,3}(\.[0-9]{1,10})?$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})?$"
_is_decimal = re.compile(_DECIMAL.removesuffix("$")).fullmatch
_is_moment = re.compile(_MOMENT.removesuffix("$")).fullmatch
_LATEST = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
"""A wall clock that is some hours ahead must still be able to print it."""

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


class ColorOrder(msgspec.Struct):
    H: Annotated[float, _described(minimum=0, maximum=360)]
    S: Annotated[float, _described(minimum=0, maximum=100)]
    V: Annotated[float, _described(minimum=0, maximum=100)]


class LightOrder(msgspec.Struct, rename="camel"):
    """X2's body, in the words of Spec 2.7: what is left out stays as it is, and something must be there."""

    status: Annotated[str, _described(enum=list(_STATUSES))] | UnsetType = UNSET
    level: Annotated[float, _described(multipleOf=1, minimum=0, maximum=100)] | UnsetType = UNSET
    color: ColorOrder | UnsetType = msgspec.field(name="colorHSV", default=UNSET)


class SetPointOrder(msgspec.Struct):
    """E12 prints degrees as a string; those who set them send numbers as well."""

    value: Annotated[str, _described(pattern=_DECIMAL)] | float
    unit: Annotated[str, _described(enum=["C", "F"])]


class ProgramOrder(msgspec.Struct):
    number: Annotated[float, _described(multipleOf=1, minimum=0, maximum=11)]


class ThermostatOrder(msgspec.Struct, rename="camel"):
    """X1's body, in the words of Spec 2.8: what is left out stays as it is, and something must be there."""

    function: Annotated[str, _described(enum=list(_FUNCTIONS))] | UnsetType = UNSET
    mode: Annotated[str, _described(enum=list(_MODES))] | UnsetType = UNSET
    set_point: SetPointOrder | UnsetType = UNSET
    programs: Annotated[list[ProgramOrder], _described(minItems=1, maxItems=1)] | UnsetType = UNSET
    activation_time: Annotated[str, _described(pattern=_MOMENT)] | UnsetType = UNSET


LIGHT_BODY = Annotated[LightOrder, _one_of_these("status", "level", "colorHSV")]
THERMOSTAT_BODY = Annotated[ThermostatOrder, _one_of_these("function", "mode", "setPoint", "programs", "activationTime")]


def light_command(order: LightOrder) -> SetLight:
    asked: dict[str, Any] = {}
    if order.status is not UNSET:
        asked["on"] = _choose("status", order.status, _STATUSES)
    if order.level is not UNSET:
        asked["level"] = _whole("level", order.level, 0, 100)
    if order.color is not UNSET:
        color = order.color
        asked["color"] = Color(
            *(_within(f"{name} of colorHSV", getattr(color, name), 0, high) for name, high in _COLORS.items())
        )
    if not asked:
        raise ValueOutOfRange("one of status, level and colorHSV must be there")
    return SetLight(**asked)


def thermostat_command(order: ThermostatOrder, *, known_programs: list[int], offset_minutes: int, now: float) -> SetThermostat:
    """`known_programs` are those that E13 lists; `offset_minutes` is the wall clock's beside the thermostat."""
    asked: dict[str, Any] = {}
    if order.function is not UNSET:
        asked["function"] = _choose("function", order.function, _FUNCTIONS)
    if order.mode is not UNSET:
        asked["mode"] = _choose("mode", order.mode, _MODES)
    if order.set_point is not UNSET:
        asked["set_point"] = parse_celsius(order.set_point.value, order.set_point.unit)
    if order.programs is not UNSET:
        asked["program"] = _parse_program(order.programs, known_programs)
    if order.activation_time is not UNSET:
        asked["activation_time"] = parse_moment(order.activation_time, offset_minutes, now)
    if not asked:
        raise ValueOutOfRange("one of function, mode, setPoint, programs and activationTime must be there")
    return SetThermostat(**asked)


def parse_celsius(value: str | float, unit: str) -> float:
    """A set point of either scale in Celsius, to a tenth of a degree; its bounds are Celsius (Spec 8, Decision 0011)."""
    if isinstance(value, str) and not _is_decimal(value):
        raise ValueOutOfRange("setPoint's value must be a number such as 20.5")
    # Decimals: 37.4 °F is 3 °C exactly, and not a hair below the bound.
    degrees = Decimal(str(value))
    celsius = _choose("setPoint's unit", unit, {"C": degrees, "F": (degrees - 32) * 5 / 9})
    if not 3 <= celsius <= 40:
        raise ValueOutOfRange("setPoint must be within 3..40 C, or 37.4..104 F")
    return float(round(celsius, 1))


def parse_moment(text: str, offset_minutes: int, now: float) -> float:
    """A time to come: as E12 prints it, on the wall clock beside the device, or with an offset of its own."""
    try:
        moment = datetime.fromisoformat(text) if _is_moment(text) else None
    except ValueError:
        moment = None
    if moment is None:
        raise ValueOutOfRange("activationTime must be a date and time, YYYY-MM-DDThh:mm:ss")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone(timedelta(minutes=offset_minutes)))
    at = moment.timestamp()
    if not now < at < _LATEST:
        raise ValueOutOfRange("activationTime must be a time to come")
    return at


def _parse_program(programs: list[ProgramOrder], known: list[int]) -> int:
    """One that the thermostat has; where none are listed, any number that may be one."""
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
    """JSON knows one kind of number: 50.0 is as whole as 50."""
    if not _within(name, value, low, high).is_integer():
        raise ValueOutOfRange(f"{name} must be a whole number")
    return int(value)
