"""JSON responses of the endpoints for applications. Errors have the form of RFC 6749 §5.2 and must not be cached."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request as StarletteRequest
from starlette.responses import Response

from domogate.common.http_messages import Answer, BodyTooLong, Request, make_answer, request_of
from domogate.common.log import get_logger
from domogate.domain.faults import Internal
from domogate.ports import StoreUnavailable
from domogate.services.authorization import ClientThrottled, OAuthError, OAuthFault

NO_STORE = {"cache-control": "no-store", "pragma": "no-cache"}
_CACHED = {"cache-control": "public, max-age=300"}
_REALM = "domogate"

_BEARER_STATUSES = {OAuthError.INVALID_TOKEN: 401, OAuthError.INSUFFICIENT_SCOPE: 403}

# Error codes of our own, for statuses that RFC 6749 §5.2 does not cover.
_WORDS = {
    404: "not_found",
    405: "method_not_allowed",
    429: "too_many_requests",
    500: "server_error",
    503: "temporarily_unavailable",
}

_log = get_logger(__name__)


def json_answer(status: int, body: Any, headers: Mapping[str, str] = NO_STORE) -> Answer:
    return make_answer(status, msgspec.json.encode(body), headers, "application/json")


def to_response(answer: Answer) -> Response:
    """Return the answer as a response of Starlette."""
    response = Response(answer.body, answer.status)
    response.raw_headers = answer.headers
    return response


def serve(answer: Callable[[Request], Awaitable[Answer]]) -> Callable[[StarletteRequest], Awaitable[Response]]:
    """Return an endpoint of Starlette that calls `answer` and sends the result."""

    async def endpoint(request: StarletteRequest) -> Response:
        return to_response(await answer(request_of(request.scope, request.receive)))

    return endpoint


def public_json(body: Any) -> Response:
    """Return a JSON response that is the same for all callers. Clients may cache it for five minutes.

    This is possible for the list of signing keys too: a client that gets a token with an unknown key id (`kid`) fetches the
    list again before the five minutes have passed.
    """
    return to_response(json_answer(200, body, _CACHED))


def error_answer(status: int, error: str, description: str, headers: Mapping[str, str] | None = None) -> Answer:
    body = {"error": error, "error_description": description}
    return json_answer(status, body, {**(headers or {}), **NO_STORE})


def _answer_fault(fault: OAuthFault) -> Answer:
    """Return the answer for a fault.

    A 401 always names a way to authenticate (RFC 9110 §15.5.2), even if the client sent its secret in form
    fields.
    """
    refused = fault.error is OAuthError.INVALID_CLIENT
    challenge = {"www-authenticate": f'Basic realm="{_REALM}", charset="UTF-8"'} if refused else None
    return error_answer(401 if refused else 400, fault.error, fault.description, challenge)


def bearer_fault_answer(fault: OAuthFault) -> Answer:
    """Return the answer to a refused token. Its header WWW-Authenticate names the error (RFC 6750 §3)."""
    missing = fault.error is OAuthError.INSUFFICIENT_SCOPE
    challenge = f'Bearer realm="{_REALM}", error="{fault.error}"' + (', scope="openid"' if missing else "")
    status = _BEARER_STATUSES.get(fault.error, 400)
    return error_answer(status, fault.error, fault.description, {"www-authenticate": challenge})


def no_token_answer() -> Answer:
    """Return a 401 for a request without a token. Its header WWW-Authenticate names no error (RFC 6750 §3.1)."""
    challenge = {"www-authenticate": f'Bearer realm="{_REALM}"'}
    return error_answer(401, OAuthError.INVALID_TOKEN, "An access token is needed: Authorization: Bearer TOKEN.", challenge)


def answer_error(error: Exception) -> Answer:
    """Return the answer for an error of an endpoint."""
    if isinstance(error, OAuthFault):
        return _answer_fault(error)
    if isinstance(error, ClientThrottled):
        description = f"There were too many wrong client secrets. Try again in {error.seconds} seconds."
        return error_answer(429, _WORDS[429], description, {"retry-after": str(error.seconds)})
    if isinstance(error, BodyTooLong):
        return error_answer(413, OAuthError.INVALID_REQUEST, "The body is too long.")
    if isinstance(error, StoreUnavailable) or (isinstance(error, Internal) and error.is_temporary):
        description = "The gateway cannot reach its database. Send the request again later."
        return error_answer(503, _WORDS[503], description, {"retry-after": "1"})
    return error_answer(500, _WORDS[500], "The gateway failed. The reason is in its log.")


def answer_errors(answer: Callable[[Request], Awaitable[Answer]]) -> Callable[[Request], Coroutine[Any, Any, Answer]]:
    """Return a function that calls `answer`. If `answer` raises an error, the function returns the answer for this error."""

    async def answer_always(request: Request) -> Answer:
        try:
            return await answer(request)
        except Exception as error:
            refused = answer_error(error)
            if refused.status == 500:
                _log.exception("an endpoint failed")
            return refused

    return answer_always


async def _handle_error(_request: StarletteRequest, error: Exception) -> Response:
    return to_response(answer_error(error))


async def answer_http(request: StarletteRequest, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    description = {
        404: "There is nothing at this URL.",
        405: f"{request.method} is not allowed for this URL.",
    }.get(error.status_code, error.detail)
    word = _WORDS.get(error.status_code, OAuthError.INVALID_REQUEST)
    return to_response(error_answer(error.status_code, word, description, error.headers))


HANDLERS: dict[Any, Any] = {
    **dict.fromkeys((OAuthFault, ClientThrottled, BodyTooLong, StoreUnavailable, Internal, Exception), _handle_error),
    HTTPException: answer_http,
}
