"""Turns the JSON answers of `answers.py` into responses of Starlette, also for errors."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request as StarletteRequest
from starlette.responses import Response

from domogate.auth.answers import WORDS, answer_error, error_answer, json_answer
from domogate.common.http_messages import Answer, BodyTooLong, Request, request_of
from domogate.domain.faults import Internal
from domogate.ports import StoreUnavailable
from domogate.services.authorization import ClientThrottled, OAuthError, OAuthFault

_CACHED = {"cache-control": "public, max-age=300"}


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

    This is also right for the list of signing keys, although a new key is missing in an old copy of the list: a client that
    gets a token with an unknown key id (`kid`) fetches the list again at once.
    """
    return to_response(json_answer(200, body, _CACHED))


async def _handle_error(_request: StarletteRequest, error: Exception) -> Response:
    return to_response(answer_error(error))


async def answer_http(request: StarletteRequest, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    description = {
        404: "There is nothing at this URL.",
        405: f"{request.method} is not allowed for this URL.",
    }.get(error.status_code, error.detail)
    word = WORDS.get(error.status_code, OAuthError.INVALID_REQUEST)
    return to_response(error_answer(error.status_code, word, description, error.headers))


HANDLERS: dict[Any, Any] = {
    **dict.fromkeys((OAuthFault, ClientThrottled, BodyTooLong, StoreUnavailable, Internal, Exception), _handle_error),
    HTTPException: answer_http,
}
