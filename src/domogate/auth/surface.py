"""The ASGI app of everything under /auth. It receives complete paths, for example /auth/jwks."""

from collections.abc import Callable, Coroutine, Sequence
from functools import cached_property
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from domogate.auth.answers import answer_errors
from domogate.auth.authorize import AuthorizeEndpoint
from domogate.auth.discovery import Discovery
from domogate.auth.logout import LogoutEndpoint
from domogate.auth.pages import Pages
from domogate.auth.responses import HANDLERS, answer_http, public_json, serve
from domogate.auth.routing import route_by_method
from domogate.auth.token import TokenEndpoints
from domogate.common import http_messages
from domogate.common.browsers import asks_for_html
from domogate.ports import Signer
from domogate.services.authorization import Authorization
from domogate.services.people import Sessions

PREFIX = "/auth"


AnswerToken = Callable[[http_messages.Request], Coroutine[Any, Any, http_messages.Answer]]


class AuthApp:
    """The app of everything under /auth.

    Its routes are made at the first request: making them takes long, and would delay the start.
    """

    def __init__(self, answer_token: AnswerToken, make: Callable[[], Starlette]) -> None:
        self.answer = answer_token
        """Answers a direct request for tokens (it does not come through ASGI) in the same way as the ASGI app."""
        self._make = make

    @cached_property
    def _routed(self) -> Starlette:
        app = self._make()
        app.router.redirect_slashes = False
        return app

    @property
    def routes(self) -> Sequence[BaseRoute]:
        return self._routed.routes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._routed(scope, receive, send)


def build(
    *,
    signer: Signer,
    authorization: Authorization,
    sessions: Sessions,
    pages: Pages,
    issuer: str,
    implicit_enabled: bool = False,
    max_body: int = 65_536,
) -> AuthApp:
    """Build the app. `issuer` is the URL of /auth, which is also the claim `iss` of tokens.

    The implicit flow is off by default (Decision 0026).
    """

    async def serve_jwks(_request: Request) -> Response:
        # Not application/jwk-set+json (RFC 7517 §8.5): other providers send application/json, and clients expect that.
        return public_json(await signer.jwks())

    async def answer_missing(request: Request, error: Exception) -> Response:
        return pages.render_not_found(request) if asks_for_html(request.scope) else await answer_http(request, error)

    discovery = Discovery(signer, issuer, implicit_enabled=implicit_enabled)
    authorize = AuthorizeEndpoint(
        authorization=authorization,
        sessions=sessions,
        pages=pages,
        issuer=issuer,
        path=f"{PREFIX}/authorize",
        implicit_enabled=implicit_enabled,
        max_body=max_body,
    )
    tokens = TokenEndpoints(authorization, max_body=max_body)
    logout = LogoutEndpoint(authorization=authorization, sessions=sessions, pages=pages, issuer=issuer, max_body=max_body)
    answer_token = answer_errors(tokens.token)

    def make() -> Starlette:
        return Starlette(
            routes=[
                # The most frequent requests come first. Some clients add a slash at the end.
                Route(f"{PREFIX}/token", serve(answer_token), methods=["POST"]),
                Route(f"{PREFIX}/token/", serve(answer_token), methods=["POST"]),
                Route(f"{PREFIX}/jwks", serve_jwks, methods=["GET"]),
                *discovery.routes(PREFIX),
                route_by_method(f"{PREFIX}/authorize", get=authorize.get, post=authorize.post),
                Route(f"{PREFIX}/userinfo", serve(tokens.userinfo), methods=["GET", "POST"]),
                Route(f"{PREFIX}/revoke", serve(tokens.revoke), methods=["POST"]),
                Route(f"{PREFIX}/introspect", serve(tokens.introspect), methods=["POST"]),
                route_by_method(f"{PREFIX}/logout", get=logout.get, post=logout.post),
                *pages.routes(),
            ],
            exception_handlers={**HANDLERS, 404: answer_missing},
        )

    return AuthApp(answer_token, make)
