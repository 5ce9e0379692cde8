"""The ASGI app of everything under /tickets. It is given whole paths: /tickets/redeem, not /redeem."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import Response

from domogate.domain.faults import Fault, sentence
from domogate.http_api.problems import Problem
from domogate.http_api.requests import read_body
from domogate.services.tickets import NotRedeemed, Redemption
from domogate.tickets.openapi import openapi_document
from domogate.tickets.problems import TicketProblem
from domogate.tickets.wire import Shows, show_redemption

REDEEM, PICTURE, DOCUMENT = "/tickets/redeem", "/tickets/picture", "/tickets/openapi.json"

_log = structlog.get_logger(__name__)

_Answering = Callable[[Request], Awaitable[Response]]


def build(redemption: Redemption, *, base_url: str, version: str, max_body: int = 65_536) -> "TicketsApp":
    """The app of both operations, and of the document that describes them."""
    document = openapi_document(redeem=REDEEM, picture=PICTURE, base_url=base_url, version=version)
    return TicketsApp(redemption, f"{base_url}{PICTURE}", document, max_body=max_body)


class TicketsApp:
    """Redeems tickets and hands out pictures."""

    def __init__(self, redemption: Redemption, picture_url: str, document: dict[str, Any], *, max_body: int) -> None:
        self._redemption = redemption
        self._picture_url = picture_url
        self._document = msgspec.json.encode(document)
        self._max_body = max_body
        self._routes: dict[bytes, tuple[str, str, _Answering]] = {
            REDEEM.encode(): ("POST", "redeem", self._redeem),
            PICTURE.encode(): ("GET", "picture", self._take_picture),
            DOCUMENT.encode(): ("GET", "document", self._describe),
        }

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except Problem as problem:
            response = problem.to_response()
        except Fault as fault:
            response = Problem(500, sentence(fault.message)).to_response()
        except Exception:
            _log.exception("a ticket's operation failed", operation=scope.get("domogate.operation"))
            response = Problem(500, "The gateway failed to answer; its log says why.").to_response()
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
        route = self._routes.get(path)
        if route is None:
            raise Problem(404, f"There is nothing at this URL; {DOCUMENT} lists what there is.")
        method, operation, answer = route
        request.scope["domogate.operation"] = operation
        if request.method != method:
            raise Problem(405, f"{request.method} is not a method of this URL.", {"allow": method})
        return await answer(request)

    async def _redeem(self, request: Request) -> Response:
        shown = await read_body(request, Shows, self._max_body)
        try:
            redeemed = await self._redemption.redeem(shown.ticket, _address(request))
        except NotRedeemed as refused:
            raise TicketProblem(refused, "Ticket") from None
        answer = msgspec.json.encode(show_redemption(redeemed, self._picture_url))
        return Response(answer, 200, {"cache-control": "no-store"}, "application/json")

    async def _take_picture(self, request: Request) -> Response:
        token = _bearer(request)
        try:
            picture = await self._redemption.take_picture(token, _address(request))
        except NotRedeemed as refused:
            raise TicketProblem(refused, "Bearer") from None
        headers = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
        return Response(picture.content, 200, headers, picture.media_type)

    async def _describe(self, _request: Request) -> Response:
        return Response(self._document, media_type="application/json")


def _bearer(request: Request) -> str:
    """RFC 6750 §2.1, and nothing else: URLs are logged, and a token in one would be."""
    sent = request.headers.getlist("authorization")
    challenge = {"www-authenticate": 'Bearer realm="domogate"'}
    if len(sent) > 1:
        raise Problem(401, "The header Authorization is there more than once.", challenge)
    scheme, _, token = (sent[0] if sent else "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Problem(401, "The header Authorization with `Bearer` and the token of the redemption is missing.", challenge)
    return token.strip(" ")


def _address(request: Request) -> str:
    return request.client.host if request.client is not None else ""
