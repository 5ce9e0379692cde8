"""The OpenAPI 3.1 document of /tickets: its schemas are the wire's own models, its refusals those of the table."""

from typing import Any

import msgspec

from domogate.http_api.problems import MEDIA_TYPE, ProblemDetails
from domogate.services.tickets import Reason
from domogate.tickets.problems import KINDS, TYPE_PREFIX
from domogate.tickets.wire import ShownRedemption, Shows

_ABOUT_PICTURES_ONLY = frozenset({Reason.CAMERA_OFF})
_ABOUT_TICKETS_ONLY = frozenset({Reason.USED})
_OF_REQUESTS = {
    400: "The body is not one ticket",
    405: "Another method than the one that this URL has",
    413: "The body is too large",
    415: "The body is not application/json",
    500: "The gateway failed",
}
_DESCRIPTION = (
    "For SDKs and door stations: a ticket (E11, E15) is redeemed once, and opens a lock or switches a camera on. "
    "The ticket is the credential: no subscription key and no token is asked for. Refusals are told apart by `type`."
)


def openapi_document(*, redeem: str, picture: str, base_url: str, version: str) -> dict[str, Any]:
    """`redeem` and `picture` are the paths of the two operations."""
    types = (Shows, ShownRedemption, ProblemDetails)
    (shows, answer, problem), components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    redeeming = {
        "operationId": "redeem",
        "summary": "Redeem a ticket",
        "requestBody": {"required": True, "content": {"application/json": {"schema": shows}}},
        "responses": {
            "200": {"description": "The device has confirmed it", "content": {"application/json": {"schema": answer}}},
            **_refusals(problem, frozenset(Reason) - _ABOUT_PICTURES_ONLY, (400, 405, 413, 415, 500)),
        },
    }
    looking = {
        "operationId": "picture",
        "summary": "What the camera sees now",
        "security": [{"picture": []}],
        "responses": {
            "200": {
                "description": "A picture, not to be stored",
                # What is no JSON needs no schema: its media type says all (OpenAPI 3.1 §4.8.14.2).
                "content": {"image/png": {}, "image/jpeg": {}},
            },
            **_refusals(problem, frozenset(Reason) - _ABOUT_TICKETS_ONLY, (405, 500)),
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Domogate: tickets",
            "version": version,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "paths": {redeem: {"post": redeeming}, picture: {"get": looking}},
        "components": {
            "schemas": components,
            "securitySchemes": {
                "picture": {"type": "http", "scheme": "bearer", "description": "`picture.token` of a redemption's answer"}
            },
        },
    }


def _refusals(problem: Any, reasons: frozenset[Reason], of_requests: tuple[int, ...]) -> dict[str, Any]:
    words: dict[int, list[str]] = {status: [_OF_REQUESTS[status]] for status in of_requests}
    for reason, kind in KINDS.items():
        if reason in reasons:
            words.setdefault(kind.status, []).append(f"{kind.title} (`{TYPE_PREFIX}{reason}`)")
    content = {MEDIA_TYPE: {"schema": problem}}
    return {str(status): {"description": "; ".join(told), "content": content} for status, told in sorted(words.items())}
