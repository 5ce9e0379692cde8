"""Faults of bodies, generated from a schema: for each node a wrong type, an unknown value, a value out of range, and so on."""

import copy
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

Schema = dict[str, Any]
Place = tuple[str | int, ...]

MISSING = object()
"""The value of a fault that removes a field."""
RULE = "$comment"
"""The keyword with the id of a rule in the schemas of the tool."""
_SAMPLES = (None, 7, "text", [7], {"unknown": 7})
_NUMBERS = {"integer": (True, 1.5), "number": (True,)}
"""More samples for numbers: values that some languages take for numbers."""
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}


class BodyFault(NamedTuple):
    """A wrong value at one place of a body, and the rule that it breaks. `about` says what is wrong."""

    rule: str
    place: Place
    about: str
    value: Any

    @property
    def reported_at(self) -> Place:
        """The place that a validator names: for a missing field, this is the object around it."""
        return self.place[:-1] if self.value is MISSING else self.place

    def apply(self, body: Any) -> Any:
        """Return a copy of the body with this fault."""
        if not self.place:
            return self.value
        body = copy.deepcopy(body)
        part = body
        for step in self.place[:-1]:
            part = part[step]
        if self.value is MISSING:
            del part[self.place[-1]]
        else:
            part[self.place[-1]] = self.value
        return body


def faults_of(schema: Schema, body: Any, place: Place = (), rule: str = "") -> Iterator[BodyFault]:
    """Yield the faults of each node of the schema. `body` is a right body that has a value for each node."""
    rule = schema.get(RULE, rule)
    for about, value in _wrong_values(schema, body):
        yield BodyFault(rule, place, about, value)
    for name in schema.get("required", ()):
        yield BodyFault(rule, (*place, name), "missing", MISSING)
    for name, part in schema.get("properties", {}).items():
        yield from faults_of(part, body[name], (*place, name), rule)
    if "items" in schema:
        yield from faults_of(schema["items"], body[0], (*place, 0), rule)
    for branch in (condition.get(name, {}) for condition in schema.get("allOf", ()) for name in ("then", "else")):
        for name in branch.get("required", ()):
            yield BodyFault(branch.get(RULE, rule), (*place, name), "missing under a condition", MISSING)


def _wrong_values(schema: Schema, right: Any) -> Iterator[tuple[str, Any]]:
    right_types = _TYPES[schema["type"]] if "type" in schema else (type(right),)
    for sample in (*_SAMPLES, *_NUMBERS.get(schema.get("type", ""), ())):
        is_right = isinstance(sample, right_types) and (not isinstance(sample, bool) or bool in right_types)
        if not is_right:
            yield f"wrong type: {json.dumps(sample)}", sample
    allowed = schema["enum"] if "enum" in schema else [schema["const"]] if "const" in schema else None
    if allowed is not None:
        candidates = [f"{right}x", "", str(right).swapcase()]
        yield from (("unknown value", value) for value in dict.fromkeys(candidates) if value not in allowed)
    if "minimum" in schema:
        yield "too small", schema["minimum"] - 1
    if "maximum" in schema:
        yield "too large", schema["maximum"] + 1
    if "maxLength" in schema:
        yield "too long", "1" * (schema["maxLength"] + 1)
    if "pattern" in schema:
        candidates = [f"{right}!", f"{right}\n", right[:-1], right[1:], "", f"é{right}", "2", "41", "40.5"]
        yield from (("wrong form", value) for value in dict.fromkeys(candidates) if not re.search(schema["pattern"], value))
    if schema.get("format") in ("local-time", "date-time"):
        yield "no such day", right.replace(right[:10], "2026-02-30")
        yield "no such hour", right.replace(right[11:13], "25")
    if schema.get("format") == "date-time":
        yield "not a time", "yesterday"


def as_path(place: Place) -> str:
    """Return the place as the tool writes it, for example `$.lights[0].level`."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
