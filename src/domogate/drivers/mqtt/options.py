"""Reads and checks the options of a module."""

import re
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Any, get_args

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.drivers.declaration import OptionProblem, OptionSchema
from domogate.drivers.mqtt.dialects import DIALECTS, Options

_AT = re.compile(r" - at `\$(?P<path>.*)`$", re.DOTALL)
_PART = re.compile(r"\.(\w+)|\[(\d+)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)


def read_options(options: Mapping[str, Any]) -> Options:
    """Return the options as an object of their dialect. Raises msgspec.ValidationError if they do not have the right form."""
    read: Options = msgspec.convert(dict(options), Options)
    return read


def find_option_problems(kind: DeviceKind, options: Mapping[str, Any]) -> Iterator[OptionProblem]:
    """Yield the problems of the options, each with its path inside the options.

    If the options do not have the form of their dialect, yield only the first problem.
    """
    if "dialect" not in options:
        yield (), f"the option dialect is missing; there are {', '.join(DIALECTS)}"
        return
    if options["dialect"] not in DIALECTS:
        yield ("dialect",), f"there is no dialect {options['dialect']!r}; there are {', '.join(DIALECTS)}"
        return
    try:
        read = read_options(options)
    except (msgspec.ValidationError, RecursionError) as error:
        yield _explain(str(error))
        return
    yield from read.find_common_problems(kind)
    if kind in read.kinds:
        yield from read.find_problems(kind)


def describe_options(kind: DeviceKind) -> OptionSchema | None:
    """Return the JSON Schema of the dialects that can drive modules of this kind.

    Return None if there is no such dialect.
    """
    dialects = [options for options in get_args(Options) if kind in options.kinds]
    return msgspec.json.schema(reduce(or_, dialects)) if dialects else None


def _explain(message: str) -> OptionProblem:
    """Split a message of msgspec into a path and a problem.

    If the problem is inside an option whose value is a table of names and values, the path ends at this table. The reason:
    msgspec does not say which entry of the table has the problem.
    """
    where = _AT.search(message)
    path: tuple[str | int, ...] = ()
    whole = True
    if where is not None:
        message = message[: where.start()]
        named, *within_a_table = where["path"].split("[...]", 1)
        path = tuple(part[1] if part[1] is not None else int(part[2]) for part in _PART.finditer(named))
        whole = not within_a_table
    if unknown := _UNKNOWN.fullmatch(message):
        return (*path, unknown["name"]) if whole else path, f"there is no option {unknown['name']!r}"
    return path, message[:1].lower() + message[1:]
