"""The ASGI app of everything under /auth. It is given whole paths: /auth/jwks, not /jwks."""

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.answers import HANDLERS, public_json
from domogate.auth.authorize import AuthorizeEndpoint
from domogate.auth.discovery import Discovery
from domogate.auth.logout import LogoutEndpoint
from domogate.auth.pages import Pages
from domogate.auth.token import TokenEndpoints
from domogate.ports import Signer
from domogate.services.authorization import Authorization
from domogate.services.people.sessions import Sessions

PREFIX = "/auth"

Endpoint = Callable[[Request], Awaitable[Response]]


def build(
    *,
    signer: Signer,
    authorization: Authorization,
    sessions: Sessions,
    pages: Pages,
    issuer: str,
    implicit_enabled: bool = False,
    max_body: int = 65_536,
) -> Starlette:
    """`issuer` is {auth_url}, as tokens name it. Implicit is what Decision 0026 says it costs: off unless enabled."""

    async def serve_jwks(_request: Request) -> Response:
        # application/json, not application/jwk-set+json (RFC 7517 §8.5): it is what providers send and clients expect.
        return public_json(await signer.jwks())

    discovery = Discovery(signer, issuer, implicit_enabled=implicit_enabled)
    authorize = AuthorizeEndpoint(
        authorization,
        sessions,
        pages,
        issuer=issuer,
        path=f"{PREFIX}/authorize",
        implicit_enabled=implicit_enabled,
        max_body=max_body,
    )
    tokens = TokenEndpoints(authorization, max_body=max_body)
    logout = LogoutEndpoint(authorization, sessions, pages, issuer=issuer, max_body=max_body)
    app = Starlette(
        routes=[
            Route(f"{PREFIX}/jwks", serve_jwks, methods=["GET"]),
            *discovery.routes(PREFIX),
            _by_method(f"{PREFIX}/authorize", authorize.get, authorize.post),
            # Some clients put a slash at the end.
            Route(f"{PREFIX}/token", tokens.token, methods=["POST"]),
            Route(f"{PREFIX}/token/", tokens.token, methods=["POST"]),
            Route(f"{PREFIX}/userinfo", tokens.userinfo, methods=["GET", "POST"]),
            Route(f"{PREFIX}/revoke", tokens.revoke, methods=["POST"]),
            Route(f"{PREFIX}/introspect", tokens.introspect, methods=["POST"]),
            _by_method(f"{PREFIX}/logout", logout.get, logout.post),
            *pages.routes(),
        ],
        exception_handlers=HANDLERS,
    )
    app.router.redirect_slashes = False
    return app


def _by_method(path: str, get: Endpoint, post: Endpoint) -> Route:
    """One route for both, so that 405 names all methods of the path."""

    async def serve(request: Request) -> Response:
        return await (post if request.method == "POST" else get)(request)

    return Route(path, serve, methods=["GET", "POST"])
