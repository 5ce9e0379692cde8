"""Converts between records of the file and values of the domain, with one table for both directions."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from domogate.common.names import to_camel_case
from domogate.domain.ids import Id
from domogate.domain.states import Reading, Unit
from domogate.estate.times import parse_offset, parse_time, print_offset, print_time

T = TypeVar("T", bound=msgspec.Struct)


class Codec(NamedTuple):
    """Converts a value: `read` from the file to the domain, `write` in the other direction. `read` gets only checked values."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


class Shape(Generic[T]):
    """A record of the file that stands for one value of the domain. A value that equals its default is not written.

    `codecs` maps the name of each attribute to its codec. The key of an attribute in the record is the name of the attribute in
    camelCase. If the key is another word, `keys` maps the name of the attribute to this key.
    """

    def __init__(self, cls: type[T], keys: Mapping[str, str] = {}, /, **codecs: Codec) -> None:
        self._cls = cls
        self._fields = {keys.get(attribute) or to_camel_case(attribute): (attribute, codecs[attribute]) for attribute in codecs}
        self._readers = [
            (key, attribute, None if codec is AS_IS else codec.read) for key, (attribute, codec) in self._fields.items()
        ]
        self._defaults = {field.name: _default(field) for field in msgspec.structs.fields(cls)}

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._fields)

    def read(self, record: dict[str, Any], **more: Any) -> T:
        for key, attribute, read in self._readers:
            if key in record:
                more[attribute] = record[key] if read is None else read(record[key])
        return self._cls(**more)

    def write(self, value: T) -> dict[str, Any]:
        record = {}
        for key, (attribute, codec) in self._fields.items():
            content = getattr(value, attribute)
            if content is not None and content != self._defaults[attribute]:
                record[key] = codec.write(content)
        return record


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def _same(value: Any) -> Any:
    return value


def short(number: float) -> float | int:
    """Return a whole number as an int, such as 20 for 20.0, because a person would write 20. Other numbers stay as they are."""
    return int(number) if float(number).is_integer() and abs(number) < 1e15 else float(number)


def word(enumeration: type[StrEnum]) -> Codec:
    return Codec(enumeration, str)


def many(codec: Codec) -> Codec:
    return Codec(lambda items: tuple(map(codec.read, items)), lambda items: [codec.write(item) for item in items])


def record(shape: Shape[Any]) -> Codec:
    return Codec(shape.read, shape.write)


def reading(unit: Unit) -> Codec:
    """Return the codec of a reading.

    In the file, a reading is a number if its unit is `unit` and it has no time. All other readings are records.
    """

    def read(value: Any) -> Reading:
        if not isinstance(value, dict):
            return Reading(float(value), unit, 0.0)
        at = TIME.read(value["at"]) if "at" in value else 0.0
        return Reading(float(value["value"]), Unit(value.get("unit", unit)), at)

    def write(measured: Reading) -> Any:
        if measured.unit is unit and not measured.at:
            return short(measured.value)
        full: dict[str, Any] = {"value": short(measured.value)}
        if measured.unit is not unit:
            full["unit"] = str(measured.unit)
        if measured.at:
            full["at"] = print_time(measured.at)
        return full

    return Codec(read, write)


AS_IS = Codec(_same, _same)
IDENTITY = Codec(lambda text: Id(text.lower()), str)
WHOLE = Codec(int, int)
DECIMAL = Codec(float, short)
TIME = Codec(parse_time, print_time)
OFFSET = Codec(parse_offset, print_offset)
