"""The OpenAPI documents of the gateway, and the facts about operations that a client needs."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from domogate.app.documents import DOCUMENTS, openapi_document
from domogate.domain.people import TokenKind
from domogate.families import FAMILIES
from domogate.settings import Settings

Schema = dict[str, Any]

JSON = "application/json"
EVENT_STREAM = "text/event-stream"
ERRORS = frozenset({"ErrorB", "ErrorsA", "ErrorItem", "ProblemDetails"})
"""Schemas of error bodies. The clients read errors with code that is written by hand."""
UNIONS = {"of": "State", "do": "Command"}
"""Names for the unions of all states and of all commands, by their discriminators."""
_HEX = "[0-9a-fA-F]{32}"


@dataclass(frozen=True)
class Described:
    """One operation of a document."""

    document: str
    tag: str
    id: str
    method: str
    path: str
    schema: Schema

    @property
    def name(self) -> str:
        return f"{self.document}.{self.id}"

    @property
    def summary(self) -> str:
        mark = self.schema.get("x-operation")
        return f"{self.schema['summary']} ({mark})" if mark else str(self.schema["summary"])

    def parameters(self, place: str) -> list[Schema]:
        return [one for one in self.schema["parameters"] if one["in"] == place]

    @property
    def body(self) -> Schema | None:
        found: Schema | None = self.schema.get("requestBody", {}).get("content", {}).get(JSON, {}).get("schema")
        return found

    @property
    def success(self) -> Schema:
        """The schema of the successful answer by media type; empty for an answer without a body."""
        status = next(status for status in self.schema["responses"] if status.startswith("2"))
        found: Schema = self.schema["responses"][status].get("content", {})
        return found

    @property
    def may_be_empty(self) -> bool:
        return bool(self.success) and "204" in self.schema["responses"]

    @property
    def has_etag(self) -> bool:
        return "304" in self.schema["responses"]

    @property
    def is_stream(self) -> bool:
        return EVENT_STREAM in self.success

    @property
    def is_paged(self) -> bool:
        return JSON in self.success and any(one["name"] == "after" for one in self.parameters("query"))

    @property
    def takes_idempotency_key(self) -> bool:
        return any(one["name"] == "Idempotency-Key" for one in self.parameters("header"))

    @property
    def query(self) -> list[Schema]:
        """The parameters of the query that a caller gives. The client itself sends the id of the last event."""
        return [one for one in self.parameters("query") if one["name"] != "lastEventId"]

    @property
    def answer(self) -> Schema:
        """The schema of the JSON of the successful answer; empty if the answer is not JSON."""
        found: Schema = self.success.get(JSON, {}).get("schema", {})
        return found

    @property
    def has_hex_ids(self) -> bool:
        """Whether the path has ids without dashes."""
        return any(_HEX in one["schema"].get("pattern", "") for one in self.parameters("path"))

    @property
    def template(self) -> str:
        """The path with `{id}` for ids and `{}` for other parameters."""
        schemas = {one["name"]: one["schema"] for one in self.parameters("path")}
        ids = {
            name
            for name, schema in schemas.items()
            if schema.get("format") == "uuid" or "[0-9a-fA-F]" in schema.get("pattern", "")
        }
        return re.sub(r"\{(\w+)\}", lambda name: "{id}" if name[1] in ids else "{}", self.path)


class Documents:
    """All documents by name."""

    def __init__(self) -> None:
        settings = Settings()
        self.by_name: dict[str, Schema] = {name: openapi_document(name, settings) for name in DOCUMENTS}
        unions = list(_find_unions(self.by_name))
        sizes = {mark: max(len(one["anyOf"]) for one in unions if _mark_of(one) == mark) for mark in UNIONS}
        for document in self.by_name.values():
            schemas = document["components"]["schemas"]
            for union in list(_find_unions(document)):
                if len(union["anyOf"]) == sizes[_mark_of(union)]:
                    name = UNIONS[_mark_of(union)]
                    schemas[name] = dict(union)
                    union.clear()
                    union["$ref"] = f"#/components/schemas/{name}"
            _name_enumerations(document)

    def components(self, document: str) -> dict[str, Schema]:
        found = self.by_name[document]["components"]["schemas"]
        return {name: schema for name, schema in found.items() if name not in ERRORS}

    def operations(self, document: str) -> Iterator[Described]:
        for path, methods in self.by_name[document]["paths"].items():
            for method, schema in methods.items():
                tag = schema.get("tags", [document])[0] if self.has_tags(document) else document
                yield Described(document, tag, schema["operationId"], method.upper(), path, schema)

    def parts(self, document: str) -> dict[str, list[Described]]:
        """The operations of a document by tag."""
        found: dict[str, list[Described]] = defaultdict(list)
        for operation in self.operations(document):
            found[operation.tag].append(operation)
        return found

    def empty_answer(self, operation: Described) -> str:
        """The JSON of an empty list, which a client decodes if the answer is 204."""
        if operation.answer.get("type") == "array":
            return "[]"
        (name,) = references(operation.answer)
        (member,) = self.components(operation.document)[name]["properties"]
        return f'{{"{member}":[]}}'

    def item_of(self, operation: Described) -> Schema:
        """The schema of an item of a list that has pages."""
        (name,) = references(operation.answer)
        item: Schema = self.components(operation.document)[name]["properties"]["items"]["items"]
        return item

    def names_in(self, operation: Described) -> set[str]:
        """The components that the request or the answer of an operation names."""
        found = set(references([operation.body, operation.answer, operation.parameters("query")]))
        return found | set(references(self.item_of(operation))) if operation.is_paged else found

    def has_tags(self, document: str) -> bool:
        """Whether the tags split the document. The document of a family has one tag."""
        paths = self.by_name[document]["paths"].values()
        return len({tag for methods in paths for schema in methods.values() for tag in schema.get("tags", ())}) > 1

    def credentials_of(self, operation: Described) -> tuple[str, bool]:
        """Return the kind of token (`access`, `id`, `given` or an empty text) and whether a subscription key is needed."""
        schemes = self.by_name[operation.document]["components"]["securitySchemes"]
        if operation.schema.get("security") == []:
            return "", False
        if "picture" in schemes:
            return "given", False
        needs_key = any(scheme["type"] == "apiKey" for scheme in schemes.values())
        for family in FAMILIES:
            if family.slug == operation.document:
                return ("access" if TokenKind.ACCESS in family.tokens else "id"), needs_key
        return "access", needs_key


def _name_enumerations(document: Schema) -> None:
    """Replace the enumerations of parameters by references to components with the same values."""
    named = {tuple(sorted(one["enum"])): name for name, one in document["components"]["schemas"].items() if "enum" in one}
    for methods in document["paths"].values():
        for operation in methods.values():
            for parameter in operation["parameters"]:
                schema = parameter["schema"].get("items", parameter["schema"])
                if name := named.get(tuple(sorted(schema.get("enum", ())))):
                    schema.clear()
                    schema["$ref"] = f"#/components/schemas/{name}"


def _mark_of(union: Schema) -> str:
    return str(union["discriminator"]["propertyName"])


def _find_unions(schema: Any) -> Iterator[Schema]:
    """The unions with a discriminator inside a schema."""
    if isinstance(schema, dict):
        if "anyOf" in schema and isinstance(schema.get("discriminator"), dict):
            yield schema
        for inner in list(schema.values()):
            yield from _find_unions(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _find_unions(inner)


def references(schema: Any) -> Iterator[str]:
    """The names of the components to which a schema refers."""
    if isinstance(schema, dict):
        for name, inner in schema.items():
            if name == "$ref":
                yield str(inner).rpartition("/")[2]
            elif name != "discriminator":
                yield from references(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from references(inner)
