"""Parts of OpenAPI 3.1 documents that the families and our own surfaces share."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from domogate.common.names import to_camel_case

_JSON = "application/json"
KEY_SCHEME = {"type": "apiKey", "in": "header", "name": "Ocp-Apim-Subscription-Key"}

_REF = "#/components/schemas/{name}"
_REFS = re.compile(rb'"#/components/schemas/(\w+)"')
_LISTING = re.compile(r"(?:Own)?Listing_(\w+)_")


def operation_id_of(handler: Callable[..., Any]) -> str:
    """Return the name of the handler in camel case: `readLight` for `read_light`."""
    return to_camel_case(handler.__name__)


class Schemas:
    """The JSON schemas of some models, and the components that the schemas refer to."""

    def __init__(self, models: Iterable[Any]) -> None:
        distinct = list({repr(model): model for model in models}.values())
        # The schemas are encoded and decoded again, because defaults may be tuples and a document has only JSON types.
        text = msgspec.json.encode(msgspec.json.schema_components(distinct, ref_template=_REF))
        text = _REFS.sub(lambda ref: f'"{_REF.format(name=component_name(ref[1].decode()))}"'.encode(), text)
        schemas, components = msgspec.json.decode(text)
        self._schema_of: dict[str, Any] = dict(zip(map(repr, distinct), schemas, strict=True))
        self.components: dict[str, Any] = {}
        for name, schema in components.items():
            public = component_name(name)
            if public in self.components:
                raise ValueError(f"two models are called {public} in one document")
            self.components[public] = schema | ({"title": public} if schema.get("title") == name else {})
            for member in schema.get("properties", {}).values():
                _describe_default(member)
                _allow_any_members(member)

    def of(self, model: Any) -> dict[str, Any]:
        schema: dict[str, Any] = self._schema_of[repr(model)]
        return schema

    def json_of(self, model: Any) -> dict[str, Any]:
        """Return the OpenAPI `content` of a JSON body of this model."""
        return {_JSON: {"schema": self.of(model)}}


def _describe_default(member: dict[str, Any]) -> None:
    """Move the default into the description: some generators treat a field with the key `default` as required."""
    default = member.pop("default", None)
    if default:
        text = f"Default: `{msgspec.json.encode(default).decode()}`."
        member["description"] = f"{member['description']} {text}" if "description" in member else text


def _allow_any_members(member: dict[str, Any]) -> None:
    """Say that an object without described fields may have any fields. Otherwise, some generators treat it as empty."""
    if member.get("type") == "object" and not member.keys() & {"properties", "additionalProperties"}:
        member["additionalProperties"] = True


def component_name(model: str) -> str:
    """Return the name of a model in a document: `User` for `UserOut` and `WireUser`, `UserList` for `Listing[UserOut]`."""
    listing = _LISTING.fullmatch(model)
    return f"{component_name(listing[1])}List" if listing else model.removesuffix("Out").removeprefix("Wire")


@cache
def _load_examples() -> dict[str, dict[str, dict[str, Any]]]:
    """Return requests and answers of the demo, by document and operation."""
    text = files("domogate.wire").joinpath("examples.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, dict[str, dict[str, Any]]])


def _add_examples(document: str, paths: Mapping[str, Any]) -> None:
    examples = _load_examples().get(document, {})
    for methods in paths.values():
        for described in methods.values():
            example = examples.get(described["operationId"], {})
            values = example.get("parameters", {})
            for parameter in described["parameters"]:
                if parameter["name"] in values:
                    parameter["example"] = values[parameter["name"]]
            if "body" in example:
                described["requestBody"]["content"][_JSON]["example"] = example["body"]
            if "answer" in example:
                # The first response is the success, and the first of its media types is the preferred one.
                content = next(iter(described["responses"].values()))["content"]
                next(iter(content.values()))["example"] = example["answer"]


def openapi_frame(
    *,
    name: str,
    title: str,
    description: str,
    base_url: str,
    version: str,
    paths: dict[str, Any],
    schemas: Schemas,
    security: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the complete OpenAPI document for `paths`, with examples.

    `security` has the security schemes; a request needs all of them.
    """
    _add_examples(name, paths)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"Domogate: {title}",
            "version": version,
            "description": description,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "security": [{name: [] for name in security}],
        "paths": paths,
        "components": {"schemas": schemas.components, "securitySchemes": dict(security)},
    }
