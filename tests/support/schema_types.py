"""JSON Schemas of simple values, and functions that build schemas. `spec_schemas` uses them."""

from typing import Any

Schema = dict[str, Any]

# In Python `$` also matches before a final newline. This matches only at the end, and it is a valid ECMA pattern too.
END = r"(?![\s\S])"
UUID: Schema = {"type": "string", "pattern": f"^[0-9a-f]{{8}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{12}}{END}"}
HEX32: Schema = {"type": "string", "pattern": f"^[0-9a-f]{{32}}{END}"}
TEXT: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
INT32: Schema = {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}
EMAIL: Schema = {"type": "string", "pattern": f"^[^@\\s]+@[^@\\s]+{END}"}
WORDS = f"^[\\w\\s:.,_-]*{END}"
DIGITS = f"^[0-9]*{END}"
DECIMAL: Schema = {"type": "string", "pattern": f"^-?[0-9]+(\\.[0-9]+)?{END}"}
LOCAL_TIME: Schema = {
    "type": "string",
    "format": "local-time",
    "pattern": f"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}{END}",
}
OFFSET_TIME: Schema = {
    "type": "string",
    "format": "local-time",
    "pattern": f"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}[+-][0-9]{{2}}:[0-9]{{2}}{END}",
}
DATE_TIME: Schema = {"type": "string", "format": "date-time"}
PLANT_TYPES = ["Hotel", "House", "Office", "Hospital"]


def record(required: Schema, optional: Schema | None = None) -> Schema:
    """An object with these required and these optional properties, and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def listing(item: Schema, **bounds: int) -> Schema:
    return {"type": "array", "items": item, **bounds}


def one_of(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def text(longest: int, pattern: str | None = None) -> Schema:
    return {"type": "string", "minLength": 0, "maxLength": longest, **({"pattern": pattern} if pattern else {})}


def number(lowest: float, highest: float) -> Schema:
    return {"type": "number", "minimum": lowest, "maximum": highest}


def integer(lowest: int, highest: int) -> Schema:
    return {"type": "integer", "minimum": lowest, "maximum": highest}
