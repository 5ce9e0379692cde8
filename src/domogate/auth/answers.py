"""JSON answers of the endpoints for applications. Errors have the form of RFC 6749 §5.2 and must not be cached."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

import msgspec

from domogate.common.http_messages import Answer, BodyTooLong, Request, make_answer
from domogate.common.log import get_logger
from domogate.domain.faults import Internal, sentence
from domogate.ports import StoreUnavailable
from domogate.services.authorization import ClientThrottled, OAuthError, OAuthFault

NO_STORE = {"cache-control": "no-store", "pragma": "no-cache"}
_REALM = "domogate"

_BEARER_STATUSES = {OAuthError.INVALID_TOKEN: 401, OAuthError.INSUFFICIENT_SCOPE: 403}

# Error codes of our own, for statuses that RFC 6749 §5.2 does not cover.
WORDS = {
    404: "not_found",
    405: "method_not_allowed",
    429: "too_many_requests",
    500: "server_error",
    503: "temporarily_unavailable",
}
"""The error code for each status."""

_log = get_logger(__name__)


def json_answer(status: int, body: Any, headers: Mapping[str, str] = NO_STORE) -> Answer:
    return make_answer(status, msgspec.json.encode(body), headers, "application/json")


def error_answer(status: int, error: str, description: str, headers: Mapping[str, str] | None = None) -> Answer:
    body = {"error": error, "error_description": description}
    return json_answer(status, body, {**(headers or {}), **NO_STORE})


def _answer_fault(fault: OAuthFault) -> Answer:
    """Return the answer for a fault.

    A 401 always names a way to authenticate (RFC 9110 §15.5.2), even if the client sent its secret in form fields.
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
        return error_answer(429, WORDS[429], description, {"retry-after": str(error.seconds)})
    if isinstance(error, BodyTooLong):
        return error_answer(413, OAuthError.INVALID_REQUEST, "The body is too long.")
    if isinstance(error, StoreUnavailable) or (isinstance(error, Internal) and error.is_temporary):
        description = sentence(error.public_message if isinstance(error, StoreUnavailable) else error.message)
        return error_answer(503, WORDS[503], description, {"retry-after": "1"})
    return error_answer(500, WORDS[500], "The gateway failed. The reason is in its log.")


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
