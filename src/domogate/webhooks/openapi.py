"""The OpenAPI 3.1 document of /webhooks, from the same table that serves it; deliveries are described as webhooks are there."""

from collections.abc import Sequence
from typing import Any

import msgspec

from domogate.domain.ids import DASHED_UUID
from domogate.http_api.problems import MEDIA_TYPE, ProblemDetails
from domogate.services.events.cloud_events import MEDIA_TYPE as CLOUD_EVENT
from domogate.webhooks.wire import ID, WebhookOperation

_DESCRIPTION = (
    "Applications register where they want to be told of a plant's events. A subscription key and a token of either kind are "
    "asked for; what is told is decided by the application's grant, at every delivery."
)
_SUCCESS = {200: "Success", 201: "Registered", 204: "Done"}
_REFUSALS = {
    400: "The body or a parameter is not as described",
    401: "No subscription key or token, one that is not valid, or none of the scopes that show anything",
    403: "The plant is not the user's, or the token is another issuer's",
    404: "There is no such webhook or plant",
    405: "Not a method of this URL",
    409: "There is one already, there are too many, or it has ended",
    413: "The body is too large",
    415: "The body is not application/json",
    422: "The URL must not or cannot be called",
    429: "The key's rate or daily quota is used up",
    469: "The user must renew their password",
    470: "The user must accept the terms and conditions",
    500: "The gateway failed",
}
_SIGNED = {
    "webhook-id": "Names the delivery; the same at every attempt",
    "webhook-timestamp": "When this attempt was made, in seconds since 1970",
    "webhook-signature": "`v1,` and the Base64 of HMAC-SHA256 over id, timestamp and body (Standard Webhooks)",
}


def openapi_document(operations: Sequence[WebhookOperation], *, path: str, base_url: str, version: str) -> dict[str, Any]:
    """Valid OpenAPI 3.1; every schema is one of the wire's own models."""
    told = [one for operation in operations for one in (operation.answer, operation.body) if one is not None]
    types = list({repr(one): one for one in [*told, ProblemDetails]}.values())
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    # Defaults of the models are tuples; a document is made of JSON's own types.
    schemas, components = msgspec.json.decode(msgspec.json.encode([schemas, components]))
    schema_of = dict(zip(map(repr, types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        place = "/".join((path, *operation.path))
        paths.setdefault(place, {})[operation.method.lower()] = _describe(operation, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Domogate: webhooks",
            "version": version,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "security": [{"key": [], "token": []}],
        "paths": paths,
        "webhooks": {"event": {"post": _delivery()}},
        "components": {
            "schemas": components,
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "Ocp-Apim-Subscription-Key"},
                "token": {"type": "http", "scheme": "bearer", "description": "An access token or an id token"},
            },
        },
    }


def _describe(operation: WebhookOperation, schema_of: dict[str, Any]) -> dict[str, Any]:
    success: dict[str, Any] = {"description": _SUCCESS[operation.status]}
    if operation.answer is not None:
        success["content"] = {"application/json": {"schema": schema_of[repr(operation.answer)]}}
    problem = {MEDIA_TYPE: {"schema": schema_of[repr(ProblemDetails)]}}
    described: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": [*_path_parameters(operation), *_query_parameters(operation.query)],
        "responses": {
            str(operation.status): success,
            **{str(status): {"description": _REFUSALS[status], "content": problem} for status in sorted(operation.every_error)},
        },
    }
    if operation.body is not None:
        content = {"application/json": {"schema": schema_of[repr(operation.body)]}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _path_parameters(operation: WebhookOperation) -> list[dict[str, Any]]:
    if ID not in operation.path:
        return []
    schema = {"type": "string", "pattern": DASHED_UUID.pattern}
    return [{"name": ID.strip("{}"), "in": "path", "required": True, "schema": schema}]


def _query_parameters(query: Any) -> list[dict[str, Any]]:
    if query is None:
        return []
    _, components = msgspec.json.schema_components([query], ref_template="{name}")
    found = []
    for name, schema in components[query.__name__]["properties"].items():
        words = schema.pop("description", "")
        found.append({"name": name, "in": "query", "required": False, "schema": schema, "description": words})
    return found


def _delivery() -> dict[str, Any]:
    headers = [
        {"name": name, "in": "header", "required": True, "schema": {"type": "string"}, "description": words}
        for name, words in _SIGNED.items()
    ]
    return {
        "operationId": "receiveEvent",
        "summary": "What a receiver gets: one event, as in the stream of /events",
        "parameters": headers,
        "requestBody": {"required": True, "content": {CLOUD_EVENT: {"schema": {"type": "object"}}}},
        "responses": {"2XX": {"description": "It was taken"}, "410": {"description": "The webhook ends"}},
    }
