"""How the endpoints that applications call answer: JSON, errors by RFC 6749 §5.2, nothing that a cache may keep."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from domogate.auth.forms import TooLong
from domogate.services.authorization import OAuthError, OAuthFault

NO_STORE = {"cache-control": "no-store", "pragma": "no-cache"}
_CACHED = {"cache-control": "public, max-age=300"}
_REALM = "domogate"

_BEARER_STATUSES = {OAuthError.INVALID_TOKEN: 401, OAuthError.INSUFFICIENT_SCOPE: 403}

# The words of OAuth errors (RFC 6749 §5.2), and some of our own where it has none.
_WORDS = {404: "not_found", 405: "method_not_allowed", 500: "server_error"}


def json_answer(status: int, body: Any, headers: Mapping[str, str] = NO_STORE) -> Response:
    return Response(msgspec.json.encode(body), status, dict(headers), media_type="application/json")


def public_json(body: Any) -> Response:
    """What is the same for everyone. Five minutes spare a request each; who meets an unknown kid asks again by itself."""
    return json_answer(200, body, _CACHED)


def error_answer(status: int, error: str, description: str, headers: Mapping[str, str] | None = None) -> Response:
    body = {"error": error, "error_description": description}
    return json_answer(status, body, {**(headers or {}), **NO_STORE})


async def answer_fault(_request: Request, fault: Exception) -> Response:
    """A 401 always says how to authenticate (RFC 9110 §15.5.2), also to a client that used form fields."""
    assert isinstance(fault, OAuthFault)
    refused = fault.error is OAuthError.INVALID_CLIENT
    challenge = {"www-authenticate": f'Basic realm="{_REALM}", charset="UTF-8"'} if refused else None
    return error_answer(401 if refused else 400, fault.error, fault.description, challenge)


def bearer_fault_answer(fault: OAuthFault) -> Response:
    """RFC 6750 §3: the challenge says what is wrong with the token."""
    missing = fault.error is OAuthError.INSUFFICIENT_SCOPE
    challenge = f'Bearer realm="{_REALM}", error="{fault.error}"' + (', scope="openid"' if missing else "")
    status = _BEARER_STATUSES.get(fault.error, 400)
    return error_answer(status, fault.error, fault.description, {"www-authenticate": challenge})


def no_token_answer() -> Response:
    """Nothing was presented, so nothing is said to be wrong with it (RFC 6750 §3.1)."""
    challenge = {"www-authenticate": f'Bearer realm="{_REALM}"'}
    return error_answer(401, OAuthError.INVALID_TOKEN, "An access token is needed: Authorization: Bearer TOKEN.", challenge)


async def answer_too_long(_request: Request, _fault: Exception) -> Response:
    return error_answer(413, OAuthError.INVALID_REQUEST, "The body is too long.", {"connection": "close"})


async def answer_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    description = {
        404: "There is nothing at this URL.",
        405: f"{request.method} is not a method of this URL.",
    }.get(error.status_code, error.detail)
    word = _WORDS.get(error.status_code, OAuthError.INVALID_REQUEST)
    return error_answer(error.status_code, word, description, error.headers)


async def answer_failure(_request: Request, _failure: Exception) -> Response:
    return error_answer(500, _WORDS[500], "The gateway failed to answer; its log says why.")


HANDLERS: dict[Any, Any] = {
    OAuthFault: answer_fault,
    TooLong: answer_too_long,
    HTTPException: answer_http,
    Exception: answer_failure,
}
