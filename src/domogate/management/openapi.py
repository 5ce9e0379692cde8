"""The OpenAPI 3.1 document of the management API, from the same table that serves it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from domogate.domain.people import MANAGE_SCOPE
from domogate.http_api.problems import MEDIA_TYPE, ProblemDetails
from domogate.management.operation import Operation
from domogate.management.problems import PHRASES

_DESCRIPTION = (
    "For operators: users, applications, plants with their people and devices, keys, and the audit log. "
    f"Every operation needs an access token with the scope {MANAGE_SCOPE} whose user is an operator at that moment. "
    "It stands outside the families: no subscription key is asked for."
)

_SUCCESS = {200: "Success", 201: "Made", 204: "Done"}


def openapi_document(operations: Sequence[Operation], *, prefix: str, base_url: str, version: str) -> dict[str, Any]:
    """Valid OpenAPI 3.1; every schema is one of the wire's own models."""
    told = [one for operation in operations for one in (operation.answer, operation.body) if one not in (None, bytes)]
    types = list({repr(one): one for one in [*told, ProblemDetails]}.values())
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    # Defaults of the models are tuples; a document is made of JSON's own types.
    schemas, components = msgspec.json.decode(msgspec.json.encode([schemas, components]))
    schema_of = dict(zip(map(repr, types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        described = _operation(operation, schema_of)
        paths.setdefault(f"{prefix}{operation.path}", {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Domogate: management",
            "version": version,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "security": [{"token": []}],
        "tags": [{"name": tag} for tag in dict.fromkeys(operation.tag for operation in operations)],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": f"An access token with the scope {MANAGE_SCOPE}",
                }
            },
        },
    }


def _operation(operation: Operation, schema_of: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": [*map(_path_parameter, operation.parameters), *_query_parameters(operation.query), *_key(operation)],
        "responses": _responses(operation, schema_of),
    }
    if operation.body is not None:
        content = {"application/json": {"schema": schema_of[repr(operation.body)]}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _path_parameter(name: str) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1}
    if name not in ("clientId", "email", "orderId"):
        schema["format"] = "uuid"
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _key(operation: Operation) -> list[dict[str, Any]]:
    if not operation.takes_key:
        return []
    told = "The same request again under the same key is carried out once, and gets the same answer."
    schema = {"type": "string", "minLength": 1, "maxLength": 128}
    return [{"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema, "description": told}]


def _query_parameters(query: Any) -> list[dict[str, Any]]:
    if query is None:
        return []
    (_,), components = msgspec.json.schema_components([query], ref_template="{name}")
    properties: dict[str, dict[str, Any]] = components[query.__name__]["properties"]
    return [_query_parameter(name, dict(schema), components) for name, schema in properties.items()]


def _query_parameter(name: str, schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    # A parameter that is left out is absent; null is no word of a query.
    for choice in schema.pop("anyOf", ()):
        if choice.get("type") != "null":
            schema |= choice
    if "$ref" in schema:  # an enumeration: its words are told here, its own description is for the core
        schema["enum"] = components[schema.pop("$ref")]["enum"]
    if schema.get("default", ...) is None:
        del schema["default"]
    description = {"description": schema.pop("description")} if "description" in schema else {}
    return {"name": name, "in": "query", "required": False, "schema": schema} | description


def _responses(operation: Operation, schema_of: dict[str, Any]) -> dict[str, Any]:
    success: dict[str, Any] = {"description": _SUCCESS[operation.status]}
    if operation.answer is not None:
        # What is no JSON needs no schema: its media type says all (OpenAPI 3.1 §4.8.14.2).
        described = {} if operation.answer is bytes else {"schema": schema_of[repr(operation.answer)]}
        success["content"] = {operation.media_type: described}
    responses = {str(operation.status): success}
    problem = {MEDIA_TYPE: {"schema": schema_of[repr(ProblemDetails)]}}
    for status in sorted(operation.every_error):
        responses[str(status)] = {"description": PHRASES[status], "content": problem}
    return responses
