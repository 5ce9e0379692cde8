"""/auth/token, /tickets and /home for `two_ways`. The words in a request say what happens to it."""

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from domogate import auth, homes, tickets
from domogate.auth.surface import AuthApp
from domogate.domain.people import Client
from domogate.domain.states import LockState, Report
from domogate.http_api.app import SurfaceApp
from domogate.http_api.credentials import HomeToken
from domogate.services.authorization import ClientThrottled, OAuthError, OAuthFault
from domogate.services.authorization.tokens import TokenSet
from domogate.services.homes.commands import HomeCommands
from domogate.services.homes.homes import Homes
from domogate.services.tickets import NotRedeemed, Reason, Redeemed
from domogate.services.tickets.permits import Permit, TicketAction
from support.clocks import NOW
from support.stores import an_id

MAX_BODY = 1_000
"""The most bytes of a body that the surfaces accept."""
_PERMIT = Permit(an_id(1), an_id(2), "app", an_id(3), an_id(10), an_id(20), TicketAction.OPEN, int(NOW), int(NOW) + 60)
_REFUSALS = {
    "used": NotRedeemed(Reason.USED, "the ticket was used before"),
    "forged": NotRedeemed(Reason.INVALID, "the ticket is not valid"),
    "throttled": NotRedeemed(Reason.SLOW_DOWN, "too many tickets were refused", retry_after=3),
}


class _Clients:
    async def authenticate(self, client_id: str, secret: str | None, _address: str) -> Client:
        if secret == "throttled":
            await asyncio.sleep(0)
            raise ClientThrottled(3)
        if (client_id, secret) != ("app", "secret"):
            raise OAuthFault(OAuthError.INVALID_CLIENT, "The client is not known.")
        return Client("app", "The app")


class _Exchange:
    async def refresh(self, _client: Client, token: str, scope: str | None, _address: str) -> TokenSet:
        if token == "broken":
            raise ZeroDivisionError
        async with asyncio.timeout(60):  # This needs a task.
            await asyncio.sleep(0.001)
        if token != "good":
            raise OAuthFault(OAuthError.INVALID_GRANT, "The refresh token is not valid.")
        return TokenSet("access", "bearer", 3600, int(NOW) + 3600, scope or "light.read", "next")


class _Redemption:
    def admit(self, _address: str) -> None: ...

    async def redeem(self, ticket: str, _address: str) -> Redeemed:
        if ticket == "broken":
            raise ZeroDivisionError
        if ticket in _REFUSALS:
            raise _REFUSALS[ticket]
        await asyncio.sleep(0.001)
        return Redeemed(_PERMIT, Report(_PERMIT.plant_id, _PERMIT.module_id, NOW, LockState(False)))


def build_auth() -> AuthApp:
    def render_not_found(_: Request) -> Response:
        return PlainTextResponse("nothing is here", 404)

    unused: Any = None
    pages: Any = SimpleNamespace(routes=list, render_not_found=render_not_found)
    authorization: Any = SimpleNamespace(clients=_Clients(), exchange=_Exchange())
    issuer = "https://gateway.example/auth"
    return auth.build(
        signer=unused, authorization=authorization, sessions=unused, pages=pages, issuer=issuer, max_body=MAX_BODY
    )


def build_tickets() -> SurfaceApp[Any, Any]:
    redemption: Any = _Redemption()
    base_url = "https://gateway.example"
    services = tickets.TicketServices(redemption, base_url)
    return SurfaceApp(tickets.SURFACE, services, tickets.PictureToken(), base_url=base_url, version="1", max_body=MAX_BODY)


def build_home(services: Any, verifier: Any) -> SurfaceApp[Any, Any]:
    """`services` has the read model, the control, the clock and the audit of the family, so the modules are the same."""
    unused: Any = None
    limits: Any = SimpleNamespace(admit=lambda _: None, hold=lambda _: nullcontext())
    used = homes.HomeServices(
        Homes(services.read_model, services.clock),
        HomeCommands(services.read_model, services.control, unused, unused, limits, services.clock, services.audit),
        people=unused,
        applications=unused,
        favourites=unused,
        recent=unused,
        history=unused,
        limits=limits,
        identities=unused,
        clock=services.clock,
        mails_links=False,
    )
    credentials = HomeToken(verifier, limits, services.audit)
    base_url = "https://gateway.example"
    return SurfaceApp(homes.SURFACE, used, credentials, base_url=base_url, version="1", max_body=MAX_BODY)
