"""The ASGI app of everything under /auth. It is given whole paths: /auth/jwks, not /jwks."""

from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.ports import Signer

PREFIX = "/auth"

# A verifier that meets an unknown kid asks again by itself; for all others five minutes spare a request each.
_JWKS_CACHE = "public, max-age=300"

# The words of OAuth errors (RFC 6749 §5.2), and one of our own where it has none.
_ERRORS = {404: "not_found", 405: "method_not_allowed", 500: "server_error"}


def build(signer: Signer) -> Starlette:
    """The app; `signer` says which keys to publish."""

    async def serve_jwks(_request: Request) -> Response:
        # application/json, not application/jwk-set+json (RFC 7517 §8.5): it is what providers send and clients expect.
        return _json(200, await signer.jwks(), {"cache-control": _JWKS_CACHE})

    app = Starlette(
        routes=[Route(f"{PREFIX}/jwks", serve_jwks, methods=["GET"])],
        exception_handlers={HTTPException: _refuse, Exception: _fail},
    )
    app.router.redirect_slashes = False
    return app


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    description = {
        404: "There is nothing at this URL.",
        405: f"{request.method} is not a method of this URL.",
    }.get(error.status_code, error.detail)
    return _error(error.status_code, description, dict(error.headers or {}))


async def _fail(_request: Request, _failure: Exception) -> Response:
    return _error(500, "The gateway failed to answer; its log says why.", {})


def _error(status: int, description: str, headers: dict[str, str]) -> Response:
    body = {"error": _ERRORS.get(status, "invalid_request"), "error_description": description}
    return _json(status, body, headers | {"cache-control": "no-store"})


def _json(status: int, body: dict[str, Any], headers: dict[str, str]) -> Response:
    return Response(msgspec.json.encode(body), status, headers, media_type="application/json")
