"""The ASGI app of everything under /auth. It receives complete paths, for example /auth/jwks."""

from collections.abc import Callable, Coroutine
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.answers import HANDLERS, answer_errors, answer_http, public_json, serve
from domogate.auth.authorize import AuthorizeEndpoint
from domogate.auth.discovery import Discovery
from domogate.auth.logout import LogoutEndpoint
from domogate.auth.pages import Pages
from domogate.auth.routing import route_by_method
from domogate.auth.token import TokenEndpoints
from domogate.common import http_messages
from domogate.common.browsers import asks_for_html
from domogate.ports import Signer
from domogate.services.authorization import Authorization
from domogate.services.people import Sessions

PREFIX = "/auth"


class AuthApp(Starlette):
    """The app of everything under /auth."""

    answer_token: Callable[[http_messages.Request], Coroutine[Any, Any, http_messages.Answer]]
    """Answers a direct request for tokens, in the same way as the app."""


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
    """Build the app. `issuer` is {auth_url}, as in tokens. The implicit flow is off by default (Decision 0026)."""

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
    app = AuthApp(
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
    app.router.redirect_slashes = False
    app.answer_token = answer_token
    return app
