"""The ASGI app of everything under /tickets. It is given whole paths: /tickets/redeem, not /redeem."""

from collections.abc import Awaitable, Callable, MutableMapping
from datetime import datetime
from typing import Any, Literal

import msgspec
import structlog
from msgspec import UNSET, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from domogate.domain.faults import Fault
from domogate.sdk.problems import TicketProblem
from domogate.services.redemption import NotRedeemed, Redeemed, Redemption
from domogate.services.tickets import TicketAction
from domogate.shown import Shown, moment
from domogate.shown.problems import Problem, sentence
from domogate.shown.requests import read_body
from domogate.shown.states import ShownState, show_state

REDEEM, PICTURE = "/tickets/redeem", "/tickets/picture"

_log = structlog.get_logger(__name__)

_Answering = Callable[[Request], Awaitable[Response]]


class Shows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is sent to be redeemed."""

    ticket: str


class ShownPicture(Shown, frozen=True):
    """Where the camera's pictures are, and by what token."""

    url: str
    token: str
    expires_at: datetime


class ShownRedemption(Shown, frozen=True):
    """What the ticket did; `state` is what the device confirmed that it is in now."""

    plant_id: str
    module_id: str
    action: TicketAction
    outcome: Literal["confirmed"]
    at: datetime
    state: ShownState | None
    picture: ShownPicture | UnsetType = UNSET


def build(redemption: Redemption, *, base_url: str, max_body: int = 65_536) -> "TicketsApp":
    """The app of both operations."""
    return TicketsApp(redemption, base_url, max_body)


class TicketsApp:
    """Redeems tickets and hands out pictures."""

    def __init__(self, redemption: Redemption, base_url: str, max_body: int) -> None:
        self._redemption = redemption
        self._base_url = base_url
        self._max_body = max_body
        self._routes: dict[bytes, tuple[str, str, _Answering]] = {
            REDEEM.encode(): ("POST", "redeem", self._redeem),
            PICTURE.encode(): ("GET", "picture", self._take_picture),
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
            raise Problem(404, f"There is nothing at this URL; tickets are redeemed at {REDEEM}.")
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
        return Response(msgspec.json.encode(self._show(redeemed)), 200, {"cache-control": "no-store"}, "application/json")

    def _show(self, redeemed: Redeemed) -> ShownRedemption:
        permit, report, picture = redeemed.permit, redeemed.report, redeemed.picture
        return ShownRedemption(
            plant_id=permit.plant_id,
            module_id=permit.module_id,
            action=permit.action,
            outcome="confirmed",
            at=moment(report.at),
            state=None if report.state is None else show_state(report.state),
            picture=UNSET
            if picture is None
            else ShownPicture(f"{self._base_url}{PICTURE}", picture.token, moment(picture.expires_at)),
        )

    async def _take_picture(self, request: Request) -> Response:
        token = _bearer(request)
        try:
            picture = await self._redemption.take_picture(token, _address(request))
        except NotRedeemed as refused:
            raise TicketProblem(refused, "Bearer") from None
        headers = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
        return Response(picture.content, 200, headers, picture.media_type)


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
