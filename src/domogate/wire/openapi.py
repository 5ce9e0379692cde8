"""Parts of OpenAPI 3.1 documents that the families and our own surfaces share."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

KEY_SCHEME = {"type": "apiKey", "in": "header", "name": "Ocp-Apim-Subscription-Key"}

_REF = "#/components/schemas/{name}"
_REFS = re.compile(rb'"#/components/schemas/(\w+)"')
_LISTING = re.compile(r"Listing_(\w+)_")


def operation_id_of(handler: Callable[..., Any]) -> str:
    """Return the name of the handler in camel case: `readLight` for `read_light`."""
    first, *others = handler.__name__.split("_")
    return first + "".join(map(str.capitalize, others))


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

    def of(self, model: Any) -> dict[str, Any]:
        schema: dict[str, Any] = self._schema_of[repr(model)]
        return schema

    def json_of(self, model: Any) -> dict[str, Any]:
        """Return the OpenAPI `content` of a JSON body of this model."""
        return {"application/json": {"schema": self.of(model)}}


def component_name(model: str) -> str:
    """Return the name of a model in a document: `User` for `UserOut` and `WireUser`, `UserList` for `Listing[UserOut]`."""
    listing = _LISTING.fullmatch(model)
    return f"{component_name(listing[1])}List" if listing else model.removesuffix("Out").removeprefix("Wire")


def openapi_frame(
    *,
    title: str,
    description: str,
    base_url: str,
    version: str,
    paths: dict[str, Any],
    schemas: Schemas,
    security: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the complete document for `paths`. `security` has the security schemes; a request needs all of them."""
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
