"""The options of a simulated module. The check of estate files and the simulator use the same table."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.plants import Module
from domogate.drivers.declaration import OptionProblem, OptionSchema, inside
from domogate.drivers.simulator.behaviour import Behaviour
from domogate.drivers.simulator.power import LOADS


class Option(msgspec.Struct, frozen=True):
    """One option: the JSON Schema of its value, the schema in words, and the kinds of modules that have this option.

    If `kinds` is empty, all kinds have this option.
    """

    wanted: str
    schema: OptionSchema
    kinds: frozenset[DeviceKind] = frozenset()
    each: bool = False
    """If true, the value is a list, and the schema is for each item."""

    def is_of(self, kind: DeviceKind) -> bool:
        return not self.kinds or kind in self.kinds

    def describe(self) -> OptionSchema:
        whole = {"type": "array", "items": self.schema, "minItems": 1} if self.each else self.schema
        return {**whole, "description": self.wanted}

    def find_problems(self, value: Any) -> Iterator[OptionProblem]:
        if not self.each:
            if not _fits(self.schema, value):
                yield (), f"must be {self.wanted}"
        elif not isinstance(value, list | tuple) or not value:
            yield (), f"must be a list, each item {self.wanted}"
        else:
            yield from (
                ((index,), f"must be {self.wanted}") for index, item in enumerate(value) if not _fits(self.schema, item)
            )


def _fits(schema: OptionSchema, value: Any) -> bool:
    match schema["type"]:
        case "string" if "enum" in schema:
            return isinstance(value, str) and value in schema["enum"]
        case "string":
            return isinstance(value, str) and schema["minLength"] <= len(value) <= schema["maxLength"]
        case kind:
            types = (int,) if kind == "integer" else (int, float)
            is_number = isinstance(value, types) and not isinstance(value, bool)
            return is_number and schema["minimum"] <= value <= schema["maximum"]


def _number(low: float, high: float, *, whole: bool = False) -> OptionSchema:
    return {"type": "integer" if whole else "number", "minimum": low, "maximum": high}


def _word(*words: str) -> OptionSchema:
    return {"type": "string", "enum": [str(word) for word in words]}


_TEXT: OptionSchema = {"type": "string", "minLength": 1, "maxLength": 50}


def _of(*kinds: DeviceKind) -> frozenset[DeviceKind]:
    return frozenset(kinds)


_K = DeviceKind
_LOADS = f"one of {', '.join(LOADS)}"

OPTIONS: dict[str, Option] = {
    "simulate": Option(f"one of {', '.join(Behaviour)}", _word(*Behaviour)),
    "room": Option(
        "a text of 1 to 50 characters",
        _TEXT,
        _of(_K.CHRONOTHERMOSTAT, _K.HEATER, _K.AUTOMATION, _K.PLUG, _K.MULTISOCKET, _K.LIGHT),
    ),
    "transition": Option("seconds within 0..3600", _number(0, 3600), _of(_K.LIGHT)),
    "travel": Option("seconds within 0..600", _number(0, 600), _of(_K.AUTOMATION)),
    "load": Option(_LOADS, _word(*LOADS), _of(_K.PLUG)),
    "watts": Option("a number within 0..100000", _number(0, 100_000), _of(_K.PLUG)),
    "loads": Option(_LOADS, _word(*LOADS), _of(_K.MULTISOCKET), each=True),
    "sockets": Option("a whole number within 1..32", _number(1, 32, whole=True), _of(_K.MULTISOCKET)),
    "base": Option("a number within 0..10000000", _number(0, 10_000_000), _of(_K.ENERGYMETER)),
    "lasts": Option("hours within 0.01..1000000", _number(0.01, 1_000_000), _of(_K.REMOTE)),
}


def find_option_problems(kind: DeviceKind, options: Mapping[str, Any]) -> Iterator[OptionProblem]:
    """Yield all problems of the options of a module of this kind."""
    for name, value in options.items():
        option = OPTIONS.get(name)
        if option is None or not option.is_of(kind):
            known = ", ".join(sorted(known for known, option in OPTIONS.items() if option.is_of(kind)))
            yield (name,), f"a simulated {kind} has no such option; it has: {known}"
        else:
            yield from inside(option.find_problems(value), name)
    if "load" in options and "watts" in options:
        yield ("watts",), "give either 'load' or 'watts', not both"


def describe_options(kind: DeviceKind) -> OptionSchema:
    properties = {name: option.describe() for name, option in OPTIONS.items() if option.is_of(kind)}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def without_bad_options(module: Module) -> Module:
    """Return the module without its wrong options. Then a device can be made for it.

    The simulator still reports a module with wrong options as absent (`apply_options`).
    """
    bad = {path[0] for path, _ in find_option_problems(module.kind, module.options)}
    if not bad:
        return module
    return msgspec.structs.replace(module, options={name: value for name, value in module.options.items() if name not in bad})
