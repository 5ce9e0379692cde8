"""Converts nodes to plain data, by the types in the schema.

Where the schema expects text, every scalar is text.

So `on`, `062520`, `1e3` and `2026-11-15` stay text where the format has text. Numbers are decimal numbers, and only `true` and
`false` are booleans. A value that does not fit stays text, and the schema check refuses it.
"""

import math
import re
from collections.abc import Iterable
from typing import Any

from domogate.estate.nodes import Entry, Listing, Mapping, Node, Scalar

Schema = dict[str, Any]

# Numbers have the syntax of JSON. Integers that are too large for a store or a client stay text.
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})").fullmatch
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,308})(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?").fullmatch
_MOST_WORDS = 1_000
"""The greatest number of entries in the cache `_by_word`. A correct file needs dozens."""
NULLS = frozenset({"null", "~", ""})
_BOOLEANS = {"true": True, "false": False}


class SchemaGuide:
    """Converts the nodes of an estate file to data. For each node, it finds the parts of the schema that apply to the node."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._fixed: dict[int, list[Schema] | None] = {}
        """By `id(schema)`: the parts of the schema that apply to every node, or None if the parts depend on the node."""
        self._text: dict[int, bool] = {}
        """By `id(schema)`: whether the schema expects text. Schemas for which `_fixed` has None are not in this mapping."""
        self._by_word: dict[tuple[int, str], list[Schema]] = {}

    def to_data(self, node: Node) -> Any:
        return self._convert(node, [self._schema])

    def _convert(self, node: Node, schemas: Iterable[Schema | bool]) -> Any:
        if isinstance(node, Scalar):
            return read_scalar(node, as_text=True in [self._is_text(node, schema) for schema in schemas])
        applicable = [part for schema in schemas for part in self._expand(node, schema)]
        if isinstance(node, Listing):
            items = [part["items"] for part in applicable if "items" in part]
            return [self._convert(item, items) for item in node.items]
        properties = [part["properties"] for part in applicable if "properties" in part]
        return {
            key: self._convert(entry.node, [known[key] for known in properties if key in known])
            for key, entry in node.entries.items()
        }

    def _is_text(self, node: Node, schema: Schema | bool) -> bool:
        if id(schema) in self._text:
            return self._text[id(schema)]
        parts = self._expand(node, schema)
        is_text = any("string" in types_of(part) for part in parts)
        if self._fixed.get(id(schema)) is not None:
            self._text[id(schema)] = is_text
        return is_text

    def _expand(self, node: Node, schema: Schema | bool) -> list[Schema]:
        if isinstance(schema, bool):
            return []
        if id(schema) not in self._fixed:
            self._fixed[id(schema)] = None if self._depends(schema) else self._parts(node, schema)
        fixed = self._fixed[id(schema)]
        if fixed is not None:
            return fixed
        if "allOf" not in schema or "$ref" in schema:
            return self._parts(node, schema)
        # All conditions of an `allOf` are about the same key of the record, so the parts are found by the value of this key.
        key = next(iter(schema["allOf"][0]["if"]["properties"]))
        entry = node.entries.get(key) if isinstance(node, Mapping) else None
        word = entry.node.text if entry is not None and isinstance(entry.node, Scalar) else None
        if word is None or len(self._by_word) > _MOST_WORDS:
            return self._parts(node, schema)
        if (id(schema), word) not in self._by_word:
            self._by_word[id(schema), word] = self._parts(node, schema)
        return self._by_word[id(schema), word]

    def _depends(self, schema: Schema) -> bool:
        return "if" in schema or "allOf" in schema or ("$ref" in schema and self._depends(self.resolve(schema["$ref"])))

    def _parts(self, node: Node, schema: Schema) -> list[Schema]:
        parts = [schema]
        if "$ref" in schema:
            parts += self._expand(node, self.resolve(schema["$ref"]))
        for part in schema.get("allOf", ()):
            parts += self._expand(node, part)
        if "if" in schema and condition_holds(schema["if"], node):
            parts += self._expand(node, schema["then"])
        return parts

    def resolve(self, reference: str) -> Schema:
        schema: Schema = self._schema["$defs"][reference.removeprefix("#/$defs/")]
        return schema


def read_scalar(scalar: Scalar, *, as_text: bool) -> Any:
    """Return the value of a scalar. A quoted value is always text.

    Without quotes, an empty value, `null` and `~` are None. If `as_text` is true, other values are text. Otherwise they are
    booleans, numbers or text, as they are written.
    """
    if not scalar.plain:
        return scalar.text
    if scalar.text in NULLS:
        return None
    return scalar.text if as_text else read_plain(scalar.text)


def read_plain(text: str) -> bool | int | float | str:
    """Return a boolean or a number if the text is written as one. Otherwise return the text itself."""
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER(text):
        return int(text)
    if _DECIMAL(text) and not text.lstrip("-").isdigit():
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def types_of(schema: Schema) -> list[str]:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else types


def condition_holds(condition: Schema, value: Any) -> bool:
    """Return whether the value fulfils `condition`, which is an `if` of the schema of the estate file.

    If the condition names a type, the value must have this type. If it names keys, the value must have these keys, each with
    one of the words that the condition lists for the key. `value` is a node of the YAML file, or the data made from the node.
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
