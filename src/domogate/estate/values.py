"""Converts nodes to plain data, by the types in the schema: where the schema expects text, every scalar is text.

So `on`, `062520`, `1e3` and `2026-11-15` stay text where the format has text. Numbers are decimal numbers, and only `true` and
`false` are booleans. A value that does not fit stays text, and the schema check refuses it.
"""

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from domogate.estate.nodes import Entry, Listing, Mapping, Node, Scalar

Schema = dict[str, Any]

# Numbers have the syntax of JSON. Integers that are too large for a store or a client stay text.
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})").fullmatch
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,308})(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?").fullmatch
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}


class SchemaGuide:
    """Finds the parts of the schema that apply to a node."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def to_data(self, node: Node) -> Any:
        return self._convert(node, [self._schema])

    def _convert(self, node: Node, schemas: Iterable[Schema | bool]) -> Any:
        applicable = [part for schema in schemas for part in self._expand(node, schema)]
        if isinstance(node, Scalar):
            return read_scalar(node, as_text=any("string" in _types(part) for part in applicable))
        if isinstance(node, Listing):
            items = [part["items"] for part in applicable if "items" in part]
            return [self._convert(item, items) for item in node.items]
        return {
            key: self._convert(
                entry.node, [part["properties"][key] for part in applicable if key in part.get("properties", ())]
            )
            for key, entry in node.entries.items()
        }

    def _expand(self, node: Node, schema: Schema | bool) -> Iterator[Schema]:
        if isinstance(schema, bool):
            return
        yield schema
        if "$ref" in schema:
            yield from self._expand(node, self.resolve(schema["$ref"]))
        for part in schema.get("allOf", ()):
            yield from self._expand(node, part)
        if "if" in schema and condition_holds(schema["if"], node):
            yield from self._expand(node, schema["then"])

    def resolve(self, reference: str) -> Schema:
        schema: Schema = self._schema["$defs"][reference.removeprefix("#/$defs/")]
        return schema


def read_scalar(scalar: Scalar, *, as_text: bool) -> Any:
    """A missing value is always None. A quoted value is always text."""
    if not scalar.plain:
        return scalar.text
    word = _WORDS.get(scalar.text, scalar.text)
    if word is None or (isinstance(word, bool) and not as_text):
        return word
    return scalar.text if as_text else _number(scalar.text)


def _number(text: str) -> int | float | str:
    if _INTEGER(text):
        return int(text)
    if _DECIMAL(text) and not text.lstrip("-").isdigit():
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def _types(schema: Schema) -> list[str]:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else types


def condition_holds(condition: Schema, value: Any) -> bool:
    """Evaluate an `if` of the estate's schema: a type, required keys, and the allowed words of these keys.

    `value` is a node, or the data made from it.
    """
    if "type" in condition:
        return isinstance(value, Scalar | str) if condition["type"] == "string" else isinstance(value, Mapping | dict)
    entries: Any = value.entries if isinstance(value, Mapping) else value
    if not isinstance(entries, dict):
        return False
    return all(key in entries for key in condition.get("required", ())) and all(
        _word(entries[key]) in rule.get("enum", (rule.get("const"),))
        for key, rule in condition["properties"].items()
        if key in entries
    )


def _word(value: Any) -> Any:
    node = value.node if isinstance(value, Entry) else value
    return node.text if isinstance(node, Scalar) else node
