"""A quick check of data against the schema. Nearly all records are correct, and jsonschema takes ten times as long for them.

True means that the data is correct. False means that jsonschema must check the data. jsonschema also finds all mistakes and
their places.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from domogate.estate.values import Schema, condition_holds

Check = Callable[[Any], bool]

_KINDS: Mapping[str, Check] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
_WORDS_ABOUT = frozenset({"$schema", "$id", "$defs", "title", "description", "default", "writeOnly"})
_OF_OBJECTS = frozenset({"properties", "required", "additionalProperties", "propertyNames", "minProperties"})


class QuickCheck:
    """A schema as functions. Raises ValueError for a rule that it does not know."""

    def __init__(self, schema: Schema, formats: Mapping[str, Check]) -> None:
        self._definitions: Schema = schema["$defs"]
        self._formats = formats
        self._references: dict[str, Check] = {}
        self.holds = self._compile(schema)

    def _compile(self, schema: Schema) -> Check:
        checks = [
            self._compile_rule(rule, bound, schema)
            for rule, bound in schema.items()
            if rule not in _WORDS_ABOUT | _OF_OBJECTS | {"then"}
        ]
        if not _OF_OBJECTS.isdisjoint(schema):
            checks.append(self._compile_object(schema))
        return checks[0] if len(checks) == 1 else lambda value: all(check(value) for check in checks)

    def _compile_rule(self, rule: str, bound: Any, schema: Schema) -> Check:
        match rule:
            case "$ref":
                return self._refer(bound.removeprefix("#/$defs/"))
            case "type":
                kinds = [_KINDS[kind] for kind in ([bound] if isinstance(bound, str) else bound)]
                return kinds[0] if len(kinds) == 1 else lambda value: any(kind(value) for kind in kinds)
            case "enum":
                words = frozenset(bound)
                return lambda value: isinstance(value, str) and value in words
            case "pattern":
                search = re.compile(bound).search
                return lambda value: not isinstance(value, str) or ("\n" not in value and search(value) is not None)
            case "format":
                return self._formats[bound]
            case "minimum":
                return lambda value: not _KINDS["number"](value) or value >= bound
            case "maximum":
                return lambda value: not _KINDS["number"](value) or value <= bound
            case "minLength" | "minItems":
                return lambda value: not isinstance(value, str | list) or len(value) >= bound
            case "maxLength" | "maxItems":
                return lambda value: not isinstance(value, str | list) or len(value) <= bound
            case "uniqueItems":
                return _are_different_words
            case "items":
                item = self._compile(bound)
                return lambda value: not isinstance(value, list) or all(item(one) for one in value)
            case "if":
                then = self._compile(schema["then"])
                return lambda value: not condition_holds(bound, value) or then(value)
            case "allOf":
                return self._compile_all(bound)
            case "not":
                return lambda _: False
            case _:
                raise ValueError(f"the quick check does not know the rule {rule!r}")

    def _refer(self, name: str) -> Check:
        if name not in self._references:
            self._references[name] = self._compile(self._definitions[name])
        return self._references[name]

    def _compile_all(self, parts: list[Schema]) -> Check:
        """Compile an `allOf`: a list of parts, each with an `if` and a `then`.

        All conditions of the list test the same key of a record (such as `kind`). So the checks that apply depend only on the
        value of this key, and they are cached by this value.
        """
        (key,) = {key for part in parts for key in part["if"]["properties"]}
        by_word: dict[str, list[Check]] = {}
        checks = [(part["if"], self._compile(part["then"])) for part in parts]

        def check(value: Any) -> bool:
            word = value.get(key) if isinstance(value, dict) else None
            if not isinstance(word, str) or len(by_word) > 1_000:
                return False
            if word not in by_word:
                by_word[word] = [then for condition, then in checks if condition_holds(condition, value)]
            return all(then(value) for then in by_word[word])

        return check

    def _compile_object(self, schema: Schema) -> Check:
        properties = {key: self._compile(inner) for key, inner in schema.get("properties", {}).items()}
        required, least = tuple(schema.get("required", ())), schema.get("minProperties", 0)
        is_closed = schema.get("additionalProperties", True) is False
        names = frozenset(schema["propertyNames"]["enum"]) if "propertyNames" in schema else None

        def check(value: Any) -> bool:
            if not isinstance(value, dict):
                return True
            if len(value) < least or any(key not in value for key in required):
                return False
            if names is not None and not names.issuperset(value):
                return False
            for key, item in value.items():
                inner = properties.get(key)
                if inner is None:
                    if is_closed:
                        return False
                elif not inner(item):
                    return False
            return True

        return check


def _are_different_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value) and len(set(value)) == len(value)
