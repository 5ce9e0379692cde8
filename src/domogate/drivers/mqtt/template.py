"""The mappings of the generic dialect: a path into JSON, a table or a scale, and templates of payloads.

No code from the options is executed.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from domogate.drivers.declaration import OptionProblem
from domogate.drivers.mqtt.dialects.options import find_problem_of_topic
from domogate.drivers.mqtt.payloads import Unreadable, as_number, as_text, read_text
from domogate.drivers.mqtt.properties import Unsupported

Scalar = str | int | float | bool

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,6})\]")
_VALUE = "{value}"


def _steps(path: str) -> tuple[str | int, ...] | None:
    """Return the steps of a path such as `a.b[0].c`, or None if the text is not a path."""
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or (at == 0 and path.startswith(".")):
            return None
        steps.append(step[1] if step[1] is not None else int(step[2]))
        at = step.end()
    return tuple(steps)


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """An option: where the value of a property is (topic, place in the JSON), and how it is converted (table or scale)."""

    topic: str
    path: str = ""
    """The place of the value in the JSON. If empty, the value is the whole payload, which does not have to be JSON."""
    map: dict[str, Scalar] = {}
    """The meaning of each value. If the map is empty and there is no `other`, values are used as they are.

    Otherwise a value that is not in the map means `other`. If there is no `other`, such a value is ignored.
    """
    other: Scalar | None = None
    """The meaning of every value that is not in the map."""
    scale: float = 1.0
    offset: float = 0.0
    """A number is multiplied by `scale`, then `offset` is added."""

    def find_problems(self) -> Iterator[OptionProblem]:
        if problem := find_problem_of_topic(self.topic):
            yield ("topic",), problem
        if _steps(self.path) is None:
            yield ("path",), f"{self.path!r} is not a path such as relays[0].state"
        if not (math.isfinite(self.scale) and math.isfinite(self.offset)) or self.scale == 0:
            yield ("scale",), "scale and offset are numbers, and scale is not 0"

    def read(self, payload: bytes) -> Scalar | None:
        """Return the value. Return None if the payload has no value that can be used.

        Raises Unreadable if the payload cannot be decoded.
        """
        has_words = bool(self.map) or self.other is not None
        found = self.find(payload, keep_text=has_words)
        if has_words:
            return self.map.get(as_text(found), self.other) if isinstance(found, Scalar) else None
        number = as_number(as_scalar(found) if isinstance(found, str) else found)  # some devices send numbers as JSON strings
        if number is not None:
            return number * self.scale + self.offset
        return found if isinstance(found, str | bool) else None

    def find(self, payload: bytes, *, keep_text: bool = False) -> Any:
        """Return the value at the path, of any JSON type, or None if there is no such value.

        Without a path, the value is the payload as text. If this text is a number, true or false, it is converted. If
        `keep_text` is true, it is not converted. Raises Unreadable if the payload cannot be decoded.
        """
        if not self.path:
            text = read_text(payload)
            return text if keep_text else as_scalar(text)
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
    """An option that says how a property is sent: the topic, and a payload in which {value} is replaced by the value."""

    topic: str
    payload: str = _VALUE
    map: dict[str, Scalar] = {}
    """What is sent for each value. Other values cannot be sent. If the map is empty, every value can be sent."""
    scale: float = 1.0
    offset: float = 0.0
    decimals: int | None = None
    """The number of decimals of a sent number. None means the default of the property."""

    def find_problems(self) -> Iterator[OptionProblem]:
        if problem := find_problem_of_topic(self.topic):
            yield ("topic",), problem
        if not (math.isfinite(self.scale) and math.isfinite(self.offset)):
            yield ("scale",), "scale and offset are numbers"
        if self.decimals is not None and not 0 <= self.decimals <= 6:
            yield ("decimals",), "0 to 6 decimals"

    def fill(self, value: object, decimals: int = 0) -> bytes:
        """Return the payload for the value. Raises Unsupported if the option `map` is set and has no entry for the value.

        The parameter `decimals` is used for a number if the option `decimals` is not set.
        """
        if self.map:
            word = self.map.get(as_text(value))
            if word is None:
                raise Unsupported(f"the module's options have no word for {as_text(value)}")
            return self.payload.replace(_VALUE, as_text(word)).encode()
        number = as_number(value)
        if number is not None:
            rounded = round(number * self.scale + self.offset, decimals if self.decimals is None else self.decimals)
            return self.payload.replace(_VALUE, as_text(rounded)).encode()
        return self.payload.replace(_VALUE, as_text(value)).encode()


def as_scalar(text: str) -> Scalar:
    """Return a number or a boolean if the text is a JSON number, true or false; otherwise return the text."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text
    return value if isinstance(value, bool | int | float) else text
