"""The small language of generic mappings: a path into JSON, a table or a scale; and payloads to fill. No code is run."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from domogate.drivers.mqtt.dialects.options import Problem, find_problem_of_topic
from domogate.drivers.mqtt.facts import Unreadable, Unsayable, as_number, read_text

Scalar = str | int | float | bool

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,6})\]")
_VALUE = "{value}"


def _steps(path: str) -> tuple[str | int, ...] | None:
    """`a.b[0].c` as its steps; None when it is not of that form."""
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or (at == 0 and path.startswith(".")):
            return None
        steps.append(step[1] if step[1] is not None else int(step[2]))
        at = step.end()
    return tuple(steps)


def _spell(value: object) -> str:
    """As it is written in a table's left column and in payloads: true, 21.5, open."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Where a fact is read: topic, path into the JSON there, then either a table or a scale."""

    topic: str
    path: str = ""
    """Empty: the whole payload, which need not be JSON then."""
    map: dict[str, Scalar] = {}
    """What each value means; values that are not in it are passed over."""
    scale: float = 1.0
    offset: float = 0.0
    """A number is multiplied by `scale`, then `offset` is added."""

    def find_problems(self) -> Iterator[Problem]:
        if problem := find_problem_of_topic(self.topic):
            yield ("topic",), problem
        if _steps(self.path) is None:
            yield ("path",), f"{self.path!r} is no path, such as relays[0].state"
        if not (math.isfinite(self.scale) and math.isfinite(self.offset)) or self.scale == 0:
            yield ("scale",), "scale and offset are numbers, and scale is not 0"

    def read(self, payload: bytes) -> Scalar | None:
        """None when the payload says nothing of it. Raises Unreadable."""
        found = self._find(payload)
        if self.map:
            return self.map.get(_spell(found)) if isinstance(found, Scalar) else None
        number = as_number(found)
        if number is not None:
            return number * self.scale + self.offset
        return found if isinstance(found, str | bool) else None

    def _find(self, payload: bytes) -> Any:
        if not self.path:
            text = read_text(payload)
            return text if self.map else _as_scalar(text)
        try:
            found = msgspec.json.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Unreadable("it is not JSON") from None
        for step in _steps(self.path) or ():
            if isinstance(step, int) and isinstance(found, list) and step < len(found):
                found = found[step]
            elif isinstance(step, str) and isinstance(found, Mapping):
                found = found.get(step)
            else:
                return None
        return found


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """How a fact is told: topic, and a payload in which {value} stands for the value."""

    topic: str
    payload: str = _VALUE
    map: dict[str, Scalar] = {}
    """What each value is called; a value that is not in it cannot be told."""
    scale: float = 1.0
    offset: float = 0.0
    decimals: int | None = None
    """None: as many as the fact is worth."""

    def find_problems(self) -> Iterator[Problem]:
        if problem := find_problem_of_topic(self.topic):
            yield ("topic",), problem
        if not (math.isfinite(self.scale) and math.isfinite(self.offset)):
            yield ("scale",), "scale and offset are numbers"
        if self.decimals is not None and not 0 <= self.decimals <= 6:
            yield ("decimals",), "0 to 6 decimals"

    def fill(self, value: object, decimals: int = 0) -> bytes:
        """`decimals`: how many the fact is worth. Raises Unsayable."""
        if self.map:
            told = self.map.get(_spell(value))
            if told is None:
                raise Unsayable(f"the module's options have no word for {_spell(value)}")
            return self.payload.replace(_VALUE, _spell(told)).encode()
        number = as_number(value)
        if number is not None:
            rounded = round(number * self.scale + self.offset, decimals if self.decimals is None else self.decimals)
            return self.payload.replace(_VALUE, _spell(rounded)).encode()
        return self.payload.replace(_VALUE, _spell(value)).encode()


def _as_scalar(text: str) -> Scalar:
    """A payload that is a number or true or false in JSON is that; anything else is a text."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text
    return value if isinstance(value, bool | int | float) else text
