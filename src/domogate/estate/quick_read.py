"""Converts raw values (simple_yaml.py) to data and checks them against the schema, in one step.

The step takes a tenth of the time of jsonschema.

The result is the same data as the result of `SchemaGuide` (values.py). The data has passed all checks of the schema. The
exception `NotQuick` means that the data may have a mistake. Then jsonschema must check the data: it finds all mistakes and
their places.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NoReturn

from domogate.estate.nodes import Listing, Node, Scalar
from domogate.estate.repeated import HEAD, MOST_RESTS, RepeatedRecord
from domogate.estate.simple_yaml import Raw
from domogate.estate.values import NULLS, Schema, condition_holds, read_plain, types_of

Check = Callable[[Any], bool]
Read = Callable[[Raw], Any]

_TYPES: Mapping[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)}
_NUMBERS = _TYPES["number"]
_RULES_OF_SCALARS = frozenset({"enum", "pattern", "format", "minimum", "maximum", "minLength", "maxLength"})
_OTHER_RULES_OF_TEXTS = frozenset({"enum", "format"})
_RULES_OF_LISTS = frozenset({"items", "uniqueItems", "minItems", "maxItems"})
_RULES_OF_OBJECTS = frozenset({"properties", "required", "additionalProperties", "propertyNames", "minProperties"})
_OTHER_RULES = frozenset({"$ref", "type", "if", "then", "allOf", "not"})
_ABOUT = frozenset({"$schema", "$id", "$defs", "title", "description", "default", "writeOnly"})
_KNOWN = _RULES_OF_SCALARS | _RULES_OF_LISTS | _RULES_OF_OBJECTS | _OTHER_RULES | _ABOUT
_MOST_WORDS = 1_000
"""The greatest number of entries in a cache for the values of one key.

For each value of the key, such a cache has the data that is made from the value, or the function that reads records with this
value.
"""


class NotQuick(Exception):
    """`QuickReader` does not accept the data.

    The data may have a mistake or may be correct. So jsonschema must check the data.
    """


def to_raw(node: Node) -> Raw:
    if isinstance(node, Scalar):
        if node.plain and node.text in NULLS:
            raise NotQuick
        return node.text if node.plain else (node.text,)
    if isinstance(node, Listing):
        return [to_raw(item) for item in node.items]
    return {key: to_raw(entry.node) for key, entry in node.entries.items()}


class QuickReader:
    """A schema, compiled to functions that read and check data.

    Raises ValueError if the schema has a rule that this class does not know.
    """

    def __init__(self, schema: Schema, formats: Mapping[str, Check]) -> None:
        self._schema = schema  # Readers are found by the ids of the schema's parts, so the parts must exist.
        self._definitions: Schema = schema["$defs"]
        self._formats = formats
        self._readers: dict[tuple[int, ...], Read] = {}
        self.read = self._reader([schema])

    def _reader(self, schemas: Sequence[Schema]) -> Read:
        """Return a function that converts a value and checks it against all these schemas."""
        key = tuple(map(id, schemas))
        if key not in self._readers:
            self._readers[key] = self._compile(schemas)
        return self._readers[key]

    def _compile(self, schemas: Sequence[Schema]) -> Read:
        read_scalar = self._compile_scalar(self._parts(schemas, ""))
        read_list = self._compile_list(self._parts(schemas, []))
        read_object = self._compile_choice(schemas)

        def read(raw: Raw) -> Any:
            kind = type(raw)
            if kind is dict or kind is RepeatedRecord:
                return read_object(raw)
            return read_list(raw) if kind is list else read_scalar(raw)

        types = [types_of(part) for part in self._parts(schemas, {})]
        # A reader with a cache cannot get a list or an object, because they have no hash.
        return read_scalar if ["string"] in types and not hasattr(read_scalar, "cache_info") else read

    def _parts(self, schemas: Sequence[Schema], raw: Raw) -> list[Schema]:
        """Return all schemas that apply to the value, with the schemas that they refer to."""
        parts: list[Schema] = []
        for schema in schemas:
            if not _KNOWN.issuperset(schema):
                raise ValueError(f"the quick check does not know a rule of {sorted(schema)}")
            parts.append(schema)
            if "$ref" in schema:
                parts += self._parts([self._definitions[schema["$ref"].removeprefix("#/$defs/")]], raw)
            if "if" in schema and condition_holds(schema["if"], raw):
                parts += self._parts([schema["then"]], raw)
            parts += self._parts(schema.get("allOf", ()), raw)
        return parts

    def _compile_scalar(self, parts: Sequence[Schema]) -> Read:
        if any("not" in part for part in parts):
            return _refuse
        kinds = [{one for kind in types_of(part) for one in _TYPES.get(kind, ())} for part in parts if types_of(part)]
        is_text = any("string" in types_of(part) for part in parts)
        checks = [self._compile_rule(rule, part[rule]) for part in parts for rule in part if rule in _RULES_OF_SCALARS]
        of_text = [self._compile_rule(rule, part[rule]) for part in parts for rule in part if rule in _OTHER_RULES_OF_TEXTS]
        patterns = [re.compile(part["pattern"]).search for part in parts if "pattern" in part]
        least = max((part.get("minLength", 0) for part in parts), default=0)
        most = min((part.get("maxLength", sys.maxsize) for part in parts), default=sys.maxsize)

        def read_text(raw: Raw) -> str:
            text: str = raw if type(raw) is str else _unquote(raw)
            # Most values are ids and names, so their rules are checked without a call for each rule.
            if not least <= len(text) <= most:
                raise NotQuick
            for search in patterns:
                if "\n" in text or search(text) is None:
                    raise NotQuick
            for check in of_text:
                if not check(text):
                    raise NotQuick
            return text

        def read_any(raw: Raw) -> Any:
            value = read_plain(raw) if type(raw) is str else _unquote(raw)
            for one_of in kinds:
                if type(value) not in one_of:
                    raise NotQuick
            for check in checks:
                if not check(value):
                    raise NotQuick
            return value

        # Most ids and names occur once in a file, so a cache is of no use for them. Other values, such as kinds, occur often.
        if not is_text:
            return lru_cache(_MOST_WORDS)(read_any)
        if not all(str in one_of for one_of in kinds):
            return _refuse
        return lru_cache(_MOST_WORDS)(read_text) if any("enum" in part for part in parts) else read_text

    def _compile_rule(self, rule: str, bound: Any) -> Check:
        """Return a function that checks a scalar by one rule of the JSON Schema.

        The rules about a pattern or a length apply only to texts. `minimum` and `maximum` apply only to numbers.
        """
        match rule:
            case "enum":
                words = frozenset(bound)
                return lambda value: value in words
            case "pattern":
                search = re.compile(bound).search
                return lambda value: type(value) is not str or ("\n" not in value and search(value) is not None)
            case "format":
                return self._formats[bound]
            case "minimum":
                return lambda value: type(value) not in _NUMBERS or value >= bound
            case "maximum":
                return lambda value: type(value) not in _NUMBERS or value <= bound
            case "minLength":
                return lambda value: type(value) is not str or len(value) >= bound
            case _:
                return lambda value: type(value) is not str or len(value) <= bound

    def _compile_list(self, parts: Sequence[Schema]) -> Read:
        if any("not" in part or "array" not in (types_of(part) or ["array"]) for part in parts):
            return _refuse
        read_item = self._reader_or_any([part["items"] for part in parts if "items" in part])
        least = max((part.get("minItems", 0) for part in parts), default=0)
        most = min((part["maxItems"] for part in parts if "maxItems" in part), default=None)
        are_unique = any(part.get("uniqueItems") for part in parts)

        def read(raw: list[Raw]) -> list[Any]:
            if len(raw) < least or (most is not None and len(raw) > most):
                raise NotQuick
            items = [read_item(one) for one in raw]
            if are_unique and not _are_different_words(items):
                raise NotQuick
            return items

        return read

    def _compile_choice(self, schemas: Sequence[Schema]) -> Read:
        """Return a function that reads a record. All conditions in the schemas test the same key, such as `kind`.

        So the value of this key decides which rules apply. The returned function keeps one reader for each value of this key.
        """
        tested = {key for schema in schemas for key in self._tested_keys(schema)}
        if not tested:
            return self._compile_object(self._parts(schemas, {}))
        (key,) = tested
        by_word: dict[str, Read] = {}

        def read(raw: dict[str, Raw]) -> dict[str, Any]:
            word = raw.get(key)
            if type(word) is tuple:
                word = word[0]
            if type(word) is not str:
                raise NotQuick
            found = by_word.get(word)
            if found is None:
                if len(by_word) > _MOST_WORDS:
                    raise NotQuick
                found = by_word[word] = self._compile_object(self._parts(schemas, {key: word}))
            result: dict[str, Any] = found(raw)
            return result

        return read

    def _tested_keys(self, schema: Schema) -> set[str]:
        keys = set(schema.get("if", {}).get("properties", ()))
        if "$ref" in schema:
            keys |= self._tested_keys(self._definitions[schema["$ref"].removeprefix("#/$defs/")])
        return keys.union(*map(self._tested_keys, schema.get("allOf", ())))

    def _compile_object(self, parts: Sequence[Schema]) -> Read:
        if any("not" in part or "object" not in (types_of(part) or ["object"]) for part in parts):
            return _refuse
        by_key: dict[str, list[Schema]] = {}
        for part in parts:
            for key, inner in part.get("properties", {}).items():
                by_key.setdefault(key, []).append(inner)
        required = tuple({key for part in parts for key in part.get("required", ())})
        least = max((part.get("minProperties", 0) for part in parts), default=0)
        closed = [frozenset(part["properties"]) for part in parts if part.get("additionalProperties") is False]
        closed += [frozenset(part["propertyNames"]["enum"]) for part in parts if "propertyNames" in part]
        if closed:
            allowed = frozenset.intersection(*closed)
            by_key = {key: inner for key, inner in by_key.items() if key in allowed}
        readers = _Readers(self._reader_or_any, by_key, _refuse if closed else _read_free)

        def read(raw: dict[str, Raw]) -> dict[str, Any]:
            if len(raw) < least:
                raise NotQuick
            for key in required:
                if key not in raw:
                    raise NotQuick
            if type(raw) is RepeatedRecord:
                return read_repeated(raw)
            return {key: readers[key](value) for key, value in raw.items()}

        # The entries of a record are checked independently of each other. So the entries after HEAD are checked only once.
        rests: dict[str, dict[str, Any]] = {}

        def read_repeated(raw: RepeatedRecord) -> dict[str, Any]:
            rest = rests.get(raw.rest)
            if rest is None:
                rest = {key: readers[key](value) for key, value in raw.items() if key not in HEAD}
                if len(rests) < MOST_RESTS:
                    rests[raw.rest] = rest
            record = RepeatedRecord(raw.rest, rest)
            for key in HEAD:
                record[key] = readers[key](raw[key])
            return record

        return read

    def _reader_or_any(self, schemas: Sequence[Schema | bool]) -> Read:
        """Return a function that converts a value and checks it against all these schemas. A schema `true` allows anything."""
        rules = [schema for schema in schemas if not isinstance(schema, bool)]
        return self._reader(rules) if rules else _read_free


class _Readers(dict[str, Read]):
    """For each key of a mapping, the function that converts and checks its value.

    A function is compiled when its key is first found in a file.
    """

    def __init__(
        self, compile_reader: Callable[[Sequence[Schema]], Read], by_key: dict[str, list[Schema]], other: Read
    ) -> None:
        super().__init__()
        self._compile = compile_reader
        self._by_key = by_key
        self._other = other

    def __missing__(self, key: str) -> Read:
        schemas = self._by_key.get(key)
        if schemas is None:
            return self._other
        read = self[key] = self._compile(schemas)
        return read


def _refuse(_: Raw) -> NoReturn:
    raise NotQuick


def _unquote(raw: Raw) -> str:
    if type(raw) is not tuple:
        raise NotQuick
    text: str = raw[0]
    return text


def _read_free(raw: Raw) -> Any:
    """Read a value to which no schema applies, such as an option of a driver."""
    if isinstance(raw, dict):
        return {key: _read_free(value) for key, value in raw.items()}
    if type(raw) is list:
        return [_read_free(one) for one in raw]
    return read_plain(raw) if type(raw) is str else _unquote(raw)


def _are_different_words(value: list[Any]) -> bool:
    return all(isinstance(one, str) for one in value) and len(set(value)) == len(value)
