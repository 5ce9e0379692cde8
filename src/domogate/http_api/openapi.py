"""The OpenAPI 3.1 document of a surface. It is made from the declarations that also serve the requests."""

from typing import Any

import msgspec
from starlette.responses import Response

from domogate.http_api.operations import Operation, Surface
from domogate.http_api.problems import MEDIA_TYPE, ProblemDetails
from domogate.wire.openapi import Schemas, openapi_frame

_SUCCESS = {200: "Success", 201: "Created", 204: "Done"}
_ERRORS = {
    400: "The body or a parameter is not as described",
    404: "Not found",
    409: "The request conflicts with the present state",
    413: "The body is too large",
    415: "The body is not application/json",
    422: "A value is not allowed",
    500: "The gateway failed",
    502: "The change was made, but the mail server did not accept the mail",
    503: "The gateway cannot answer now, for example because it cannot reach its database; see Retry-After",
}


def errors_of(operation: Operation, surface: Surface) -> dict[int, str]:
    """Return the statuses with which the operation can refuse a request, each with a description.

    Refusals because of missing or wrong credentials are included.
    """
    own = {status: words for status, words in operation.errors.items() if words}
    words_of = {**_ERRORS, **surface.credentials.errors, **surface.errors, **own}
    of_credentials = () if operation.anonymous else surface.credentials.errors
    return {status: words_of[status] for status in sorted(operation.statuses.union(of_credentials))}


def describe_surface(surface: Surface, *, base_url: str, version: str) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the surface. Its schemas are made from the JSON models of the operations."""
    models = [one for operation in surface.operations for one in (operation.answer, operation.body)]
    schemas = Schemas([*(one for one in models if one not in (None, Response)), ProblemDetails])
    paths: dict[str, dict[str, Any]] = {}
    for operation in surface.operations:
        described = _describe(operation, surface, schemas)
        paths.setdefault(f"{surface.prefix}{operation.path}", {})[operation.method.lower()] = described
    document = openapi_frame(
        name=surface.name,
        title=surface.name,
        description=surface.description,
        base_url=base_url,
        version=version,
        paths=paths,
        schemas=schemas,
        security=surface.credentials.schemes,
    )
    if tags := dict.fromkeys(operation.tag for operation in surface.operations if operation.tag):
        document["tags"] = [{"name": tag} for tag in tags]
    if surface.amend is not None:
        surface.amend(document)
    return document


def _describe(operation: Operation, surface: Surface, schemas: Schemas) -> dict[str, Any]:
    success: dict[str, Any] = {"description": operation.success or _SUCCESS[operation.status]}
    if operation.answer is Response:
        # A body that is not JSON needs only a media type and no schema (OpenAPI 3.1 §4.8.14.2).
        success["content"] = {media_type: {} for media_type in operation.media_types}
    elif operation.answer is not None:
        success["content"] = schemas.json_of(operation.answer)
    not_modified: dict[str, Any] = {}
    if operation.has_etag:
        success["headers"] = {"ETag": {"schema": {"type": "string"}, "description": "Changes with the content"}}
        not_modified = {"304": {"description": "The content still has the ETag of If-None-Match"}}
    problem = {MEDIA_TYPE: {"schema": schemas.of(ProblemDetails)}}
    described: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": _parameters(operation, surface),
        "responses": {
            str(operation.status): success,
            **not_modified,
            **{
                str(status): {"description": words, "content": problem}
                for status, words in errors_of(operation, surface).items()
            },
        },
    }
    if operation.tag:
        described["tags"] = [operation.tag]
    if operation.anonymous:
        described["security"] = []
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": schemas.json_of(operation.body)}
    return described


def _parameters(operation: Operation, surface: Surface) -> list[dict[str, Any]]:
    found = [_path_parameter(name, name in surface.text_parameters) for name in operation.parameters]
    if operation.query is not None:
        _, components = msgspec.json.schema_components([operation.query], ref_template="{name}")
        query = components[operation.query.__name__]
        properties: dict[str, dict[str, Any]] = query["properties"]
        found += [
            _query_parameter(name, dict(schema), components) | {"required": name in query["required"]}
            for name, schema in properties.items()
        ]
    if (header := operation.header) is not None:
        schema: dict[str, Any] = {"type": "string"}
        if header.max_length is not None:
            schema |= {"minLength": 1, "maxLength": header.max_length}
        found.append({"name": header.name, "in": "header", "schema": schema, "description": header.description})
    return found


def _path_parameter(name: str, is_text: bool) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1} | ({} if is_text else {"format": "uuid"})
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameter(name: str, schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    # A query has no null: an optional parameter is left out.
    for choice in schema.pop("anyOf", ()):
        if choice.get("type") != "null":
            schema |= choice
    # The values of an enumeration are listed here without its description, which is written for developers of the gateway.
    if "$ref" in schema:
        schema["enum"] = components[schema.pop("$ref")]["enum"]
    if "$ref" in schema.get("items", {}):
        schema["items"] = {"type": "string", "enum": components[schema["items"]["$ref"]]["enum"]}
    if schema.get("default", ...) in (None, ()):
        del schema["default"]
    description = {"description": schema.pop("description")} if "description" in schema else {}
    return {"name": name, "in": "query", "required": False, "schema": schema} | description
