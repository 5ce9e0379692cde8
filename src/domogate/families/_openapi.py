"""Makes the OpenAPI 3.1 document of a family from its declaration."""

from typing import Any

from domogate.domain.people import TokenKind
from domogate.families._errors import ErrorB, ErrorsA, shape_a
from domogate.families._family import Family, Operation, Parameter
from domogate.wire.openapi import KEY_SCHEME, Schemas, openapi_frame

PHRASES = {
    200: "Success",
    201: "Created",
    204: "There is nothing to list",
    304: "Not modified since the entity tag given in If-None-Match",
    400: "Bad request or invalid arguments",
    401: "Subscription key or token missing or not valid, or a required scope missing; or the plant is not the user's",
    403: "The user has no rights on the plant",
    404: "Not found, or the device is offline",
    406: "The Accept header admits no JSON",
    408: "The device did not answer in time",
    409: "The subscription exists already",
    413: "The body is too large",
    429: "The subscription's rate or daily quota is used up",
    442: "Unexpected parameter value, or out of range",
    469: "The user must renew their password",
    470: "The user must accept the terms and conditions",
    500: "Internal error",
    502: "The echo backend cannot be reached",
    503: "The gateway cannot answer now; see Retry-After",
    504: "The echo backend did not answer in time",
}

_TOKEN_WORDS = {TokenKind.ACCESS: "an OAuth 2.0 access token", TokenKind.ID: "an OpenID Connect id token"}


def openapi_document(family: Family, *, base_url: str, version: str) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the family. Its schemas are made from the family's JSON models."""
    error_type = ErrorsA if family.error_shape is shape_a else ErrorB
    models = [one for operation in family.operations for one in (operation.answer, operation.body) if one not in (None, bytes)]
    schemas = Schemas([*models, error_type])
    paths: dict[str, dict[str, Any]] = {}
    for operation in family.operations:
        path = f"{family.prefix}/{operation.contract_path}"
        described = _operation(family, operation, schemas, schemas.json_of(error_type))
        paths.setdefault(path, {})[operation.method.lower()] = described
    tokens = " or ".join(_TOKEN_WORDS[kind] for kind in sorted(family.tokens))
    return openapi_frame(
        name=family.slug,
        title=family.name,
        description=f"The {family.name} family ({family.lifecycle.word}). The header Authorization carries {tokens}.",
        base_url=base_url,
        version=version,
        paths=paths,
        schemas=schemas,
        security={
            "subscriptionKey": KEY_SCHEME,
            "token": {
                "type": "http",
                "scheme": "bearer",
                "bearerFormat": "JWT",
                "description": f"{tokens}, as `Bearer TOKEN` or bare",
            },
        },
    )


def _operation(family: Family, operation: Operation, schemas: Schemas, error: dict[str, Any]) -> dict[str, Any]:
    lifecycle = family.lifecycle_of(operation)
    described: dict[str, Any] = {
        "operationId": operation.name,
        "x-operation": operation.id,
        "summary": operation.summary,
        "tags": [family.name],
        "parameters": [_parameter(family, parameter) for parameter in operation.parameters],
        "responses": _responses(operation, schemas, error),
    }
    words = []
    if operation.extension:
        words.append(f"Extension, not an operation of the specification: {operation.extension}.")
        described["x-extension"] = True
    if operation.scopes:
        words.append(f"Scope: {' or '.join(operation.scopes)}.")
        described["x-scopes-any-of"] = [str(scope) for scope in operation.scopes]
    if words:
        described["description"] = " ".join(words)
    if lifecycle.deprecated_since is not None:
        described["deprecated"] = True
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": schemas.json_of(operation.body)}
    return described


def _parameter(family: Family, parameter: Parameter) -> dict[str, Any]:
    is_id = parameter.role != "reference"
    schema = {"type": "string", "pattern": family.ids.pattern} if is_id else {"type": "string", "minLength": 1}
    return {"name": parameter.name, "in": "path", "required": True, "schema": schema}


def errors_of(operation: Operation) -> frozenset[int]:
    """Return the statuses of all refusals that the OpenAPI document lists for the operation."""
    return operation.errors | {401, 404, 429, 500, 503} | ({413} if operation.body is not None else set())


def _responses(operation: Operation, schemas: Schemas, error: dict[str, Any]) -> dict[str, Any]:
    success: dict[str, Any] = {"description": PHRASES[operation.status]}
    if operation.answer is bytes:
        success["content"] = {"application/xml": {"schema": {"type": "string"}}}
    elif operation.answer is not None:
        success["content"] = schemas.json_of(operation.answer)
    responses: dict[str, Any] = {str(operation.status): success}
    if operation.may_be_empty:
        responses["204"] = {"description": PHRASES[204]}
    if operation.has_etag:
        responses["304"] = {"description": PHRASES[304]}
    for status in sorted(errors_of(operation)):
        responses[str(status)] = {"description": PHRASES[status], "content": error}
    return responses
