"""The OpenAPI 3.1 document of GET /events. What a stream holds is text to OpenAPI; its events' data are described beside it."""

from typing import Any

import msgspec

from domogate.domain.ids import DASHED_UUID
from domogate.domain.notices import NoticeKind
from domogate.http_api.problems import MEDIA_TYPE, ProblemDetails
from domogate.services.events.cloud_events import ModuleData, PlantData
from domogate.services.events.endings import End
from domogate.services.events.filters import scopes_for
from domogate.services.events.frames import Ready, Reset

_DESCRIPTION = (
    "Every committed change of states, reachability, safety, plants and people, as server-sent events. "
    "A subscription key and a token of either kind are asked for; what is told is what that token may read at that moment."
)
_STREAM = """Server-sent events. `data` is one line of JSON.

| `event` | `id` | `data` |
|---|---|---|
| `ready` | cursor | Ready: what follows is new |
| `state`, `reachability`, `safety` | cursor | CloudEvent about a module |
| `plant`, `people` | cursor | CloudEvent about a plant |
| `present` | none | CloudEvent about a module: what it is in now |
| `reset` | none | Reset: what was missed cannot be told; the present follows |
| `end` | none | End: why the stream ends |
"""
_REFUSALS = {
    400: "A parameter is not known or cannot be read",
    401: "No subscription key or token, one that is not valid, or none of the scopes that show any of this",
    403: "A plant is not the user's",
    404: "There is no such plant",
    405: "Another method than GET or HEAD",
    429: "The key's rate or daily quota is used up",
    469: "The user must renew their password",
    470: "The user must accept the terms and conditions",
    500: "The gateway failed",
    503: "Too many streams are open, or the gateway stops; see Retry-After",
}
_REF = "#/components/schemas/{name}"


def openapi_document(*, path: str, base_url: str, version: str) -> dict[str, Any]:
    """Valid OpenAPI 3.1; the schemas are those of what is sent."""
    types = (ModuleData, PlantData, Ready, Reset, End, ProblemDetails)
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    module, plant, *_, problem = schemas
    components["CloudEvent"] = _cloud_event(module, plant)
    listening = {
        "operationId": "listen",
        "summary": "Listen to what changes",
        "parameters": _parameters(),
        "responses": {
            "200": {"description": _STREAM, "content": {"text/event-stream": {"schema": {"type": "string"}}}},
            **{
                str(status): {"description": words, "content": {MEDIA_TYPE: {"schema": problem}}}
                for status, words in _REFUSALS.items()
            },
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Domogate: events",
            "version": version,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "security": [{"key": [], "token": []}],
        "paths": {path: {"get": listening}},
        "components": {"schemas": components, "securitySchemes": _security()},
    }


def _parameters() -> list[dict[str, Any]]:
    plant = {"type": "string", "pattern": DASHED_UUID.pattern}
    kind = {"type": "string", "enum": list(NoticeKind)}
    return [
        _parameter("plant", {"type": "array", "items": plant}, "Only these plants; left out: all of the user's"),
        _parameter("kind", {"type": "array", "items": kind}, "Only these kinds; left out: every kind"),
        _parameter("present", {"type": "boolean", "default": False}, "Begin with what every module is in now"),
        {
            "name": "Last-Event-ID",
            "in": "header",
            "schema": {"type": "string"},
            "description": "The id of the last event that was heard: what came after it is told first",
        },
    ]


def _parameter(name: str, schema: dict[str, Any], words: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, "description": words}


def _cloud_event(module: dict[str, Any], plant: dict[str, Any]) -> dict[str, Any]:
    """CloudEvents 1.0 in JSON, with what `type` can be here."""
    text = {"type": "string"}
    types = [f"domogate.{kind}" for kind in (*NoticeKind, "present")]
    properties = {
        "specversion": {"const": "1.0"},
        "id": text,
        "source": {"type": "string", "format": "uri"},
        "type": {"enum": types},
        "subject": text,
        "time": {"type": "string", "format": "date-time"},
        "datacontenttype": {"const": "application/json"},
        "data": {"anyOf": [module, plant]},
    }
    return {"type": "object", "properties": properties, "required": list(properties)}


def _security() -> dict[str, Any]:
    scopes = ", ".join(sorted(scopes_for(())))
    return {
        "key": {"type": "apiKey", "in": "header", "name": "Ocp-Apim-Subscription-Key"},
        "token": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": f"An access token or an id token, with any of the scopes that show something: {scopes}",
        },
    }
