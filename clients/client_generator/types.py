"""Python types of JSON schemas."""

from textwrap import wrap
from typing import Any

from client_generator.documents import Schema

_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def annotation(schema: Schema) -> str:
    """Return the type as an annotation. Names of components are classes of the same module or imported classes."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return literal([schema["const"]])
    if "enum" in schema:
        return literal(schema["enum"])
    if "anyOf" in schema:
        return union(*(annotation(choice) for choice in schema["anyOf"]))
    match schema.get("type"):
        case "array":
            return f"list[{annotation(schema['items'])}]"
        case "object":
            values = schema.get("additionalProperties", True)
            return f"dict[str, {annotation(values) if isinstance(values, dict) else 'Any'}]"
        case str(name):
            return _SIMPLE[name]
    return "Any"


def union(*kinds: str) -> str:
    """Return the union of these types, with None at the end."""
    found = dict.fromkeys(part for kind in kinds for part in kind.split(" | "))
    return " | ".join(sorted(found, key=lambda kind: kind == "None"))


def literal(values: list[Any]) -> str:
    return f"Literal[{', '.join(map(quoted, values))}]"


def quoted(value: Any) -> str:
    """The value as Python writes it, with double quotes."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(value, str) else repr(value)


def is_nullable(schema: Schema) -> bool:
    return {"type": "null"} in schema.get("anyOf", ())


def docstring(text: str, indent: int) -> str:
    """Return the first paragraph of a text as a docstring, in lines that are not too long."""
    words = " ".join(text.split("\n\n")[0].split()).replace("\\", "\\\\").replace('"""', "'''")
    return '"""' + f"\n{' ' * indent}".join(wrap(words, 116 - indent)) + '"""'
