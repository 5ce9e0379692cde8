"""How a record of the file and a value of the domain correspond: one table of fields, read and written by the same lines."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from domogate.domain.ids import Id
from domogate.domain.states import Reading, Unit
from domogate.estate.times import parse_offset, parse_time, print_offset, print_time

T = TypeVar("T", bound=msgspec.Struct)


class Codec(NamedTuple):
    """From the file and to it; what is read has been checked before."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


class Field(NamedTuple):
    """A key of the file, the attribute it stands for, and how its value is spelled."""

    key: str
    attribute: str
    codec: Codec


class Shape(Generic[T]):
    """A record of the file that is one value of the domain. What equals its default is not written."""

    def __init__(self, cls: type[T], *fields: Field) -> None:
        self._cls = cls
        self._fields = fields
        self._defaults = {field.name: _default(field) for field in msgspec.structs.fields(cls)}

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(field.key for field in self._fields)

    def read(self, record: dict[str, Any], **more: Any) -> T:
        values = {field.attribute: field.codec.read(record[field.key]) for field in self._fields if field.key in record}
        return self._cls(**values, **more)

    def write(self, value: T) -> dict[str, Any]:
        record = {}
        for key, attribute, codec in self._fields:
            told = getattr(value, attribute)
            if told is not None and told != self._defaults[attribute]:
                record[key] = codec.write(told)
        return record


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def _same(value: Any) -> Any:
    return value


def short(number: float) -> float | int:
    """20.0 as 20: what a person would write."""
    return int(number) if float(number).is_integer() and abs(number) < 1e15 else float(number)


def word(enumeration: type[StrEnum]) -> Codec:
    return Codec(enumeration, str)


def many(codec: Codec) -> Codec:
    return Codec(lambda items: tuple(map(codec.read, items)), lambda items: [codec.write(item) for item in items])


def record(shape: Shape[Any]) -> Codec:
    return Codec(shape.read, shape.write)


def reading(unit: Unit) -> Codec:
    """A bare number, or a number with its unit and time where they are not the usual ones."""

    def read(value: Any) -> Reading:
        if not isinstance(value, dict):
            return Reading(float(value), unit, 0.0)
        at = TIME.read(value["at"]) if "at" in value else 0.0
        return Reading(float(value["value"]), Unit(value.get("unit", unit)), at)

    def write(told: Reading) -> Any:
        if told.unit is unit and not told.at:
            return short(told.value)
        full: dict[str, Any] = {"value": short(told.value)}
        if told.unit is not unit:
            full["unit"] = str(told.unit)
        if told.at:
            full["at"] = print_time(told.at)
        return full

    return Codec(read, write)


AS_IS = Codec(_same, _same)
IDENTITY = Codec(lambda text: Id(text.lower()), str)
WHOLE = Codec(int, int)
DECIMAL = Codec(float, short)
TIME = Codec(parse_time, print_time)
OFFSET = Codec(parse_offset, print_offset)
