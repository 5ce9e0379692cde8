"""JSON Schemas of simple values, and functions that build schemas. Each part of a schema names the rule that it checks.

A field that the specification does not call required may be absent, and additional fields are allowed.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from domogate.conformance.rules import Rule, Schema

# In Python `$` also matches before a final newline. This matches only at the end.
_END = r"(?![\s\S])"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
_ID, _SENTENCE = "$comment", "description"

TEXT: Schema = {"type": "string"}
STRING = ("string", TEXT)
"""A sentence and a schema, for a field whose rule says only that it is a text."""
BOOLEAN: Schema = {"type": "boolean"}
INTEGER: Schema = {"type": "integer"}
INT32: Schema = {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}
UUID: Schema = {"type": "string", "pattern": f"^[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}{_END}"}
HEX32: Schema = {"type": "string", "pattern": f"^[0-9a-fA-F]{{32}}{_END}"}
HEXADECIMAL: Schema = {"type": "string", "pattern": f"^(0[xX])?[0-9a-fA-F]+{_END}"}
JWT: Schema = {"type": "string", "pattern": f"^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]*{_END}"}
LOCAL_TIME: Schema = {"type": "string", "format": "local-time", "pattern": f"^{_DATE}{_END}"}
OFFSET_TIME: Schema = {"type": "string", "format": "local-time", "pattern": f"^{_DATE}[+-][0-9]{{2}}:[0-9]{{2}}{_END}"}
DATE_TIME: Schema = {
    "type": "string",
    "format": "local-time",
    "pattern": f"^{_DATE.replace('T', '[Tt]')}(\\.[0-9]+)?([Zz]|[+-][0-9]{{2}}:[0-9]{{2}}){_END}",
}
"""A time of RFC 3339. jsonschema can check the format `date-time` only with one more package, so `is_time` checks the time."""
NUMBER_3_TO_40: Schema = {"type": "string", "pattern": f"^(([3-9]|[12][0-9]|3[0-9])([.,][0-9]+)?|40([.,]0+)?){_END}"}
WORDS, DIGITS = f"^[\\w\\s:.,_-]*{_END}", f"^[0-9]*{_END}"


def text(longest: int, pattern: str | None = None) -> Schema:
    return {"type": "string", "maxLength": longest, **({"pattern": pattern} if pattern else {})}


def one_of(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def between(kind: str, lowest: float, highest: float) -> Schema:
    return {"type": kind, "minimum": lowest, "maximum": highest}


def listing(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def said(rule: str, sentence: str, schema: Schema) -> Schema:
    """Return the schema, with the id and the sentence of the rule that it checks."""
    return {**schema, _ID: rule, _SENTENCE: sentence}


def record(section: str, fields: dict[str, tuple[str, Schema]], required: tuple[str, ...] = (), sentence: str = "") -> Schema:
    """Return the schema of an object. `fields` has a sentence and a schema for each field; `required` names required fields.

    The id of the rule about a field is the section and the name of the field. `sentence` is the rule about the whole object.
    """
    properties = {
        name: schema if _ID in schema else said(f"{section}.{name}", f"{name}: {about}", schema)
        for name, (about, schema) in fields.items()
    }
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return said(section, sentence, schema) if sentence else schema


def rules_in(schema: object) -> Iterator[Rule]:
    """Yield the rules of the conformance tool that this JSON Schema and its parts contain."""
    if isinstance(schema, dict):
        if _ID in schema:
            yield Rule(schema[_ID], schema[_SENTENCE])
        for part in schema.values():
            yield from rules_in(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from rules_in(part)


def rules_used(schema: Schema, body: object) -> Iterator[Rule]:
    """Yield the rules of the schema. The rules of a field are left out if the body does not have this field."""
    if _ID in schema:
        yield Rule(schema[_ID], schema[_SENTENCE])
    if isinstance(body, dict):
        for name, part in schema.get("properties", {}).items():
            if name in body:
                yield from rules_used(part, body[name])
        for condition in schema.get("allOf", ()):
            yield from rules_used(condition["then"], None)
    elif isinstance(body, list):
        for item in body:
            yield from rules_used(schema.get("items", {}), item)


def rule_at(schema: Schema, path: list[str | int]) -> Rule:
    """Return the rule of the part of the schema at this path.

    If this part has no rule, return the rule of the nearest part above it that has one.
    """
    part: Any = schema
    found = Rule(schema[_ID], schema[_SENTENCE])
    for step in path:
        part = part[step]
        if isinstance(part, dict) and _ID in part:
            found = Rule(part[_ID], part[_SENTENCE])
    return found


def is_time(value: object) -> bool:
    """Return True for the text of a valid time. Raises ValueError for any other text, for example for February 30.

    Also return True for a value that is not a text: another check refuses this value.
    """
    return not isinstance(value, str) or bool(datetime.fromisoformat(value.upper()))
