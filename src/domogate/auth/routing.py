"""Makes the routes of endpoints that answer GET and POST."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Endpoint = Callable[[Request], Awaitable[Response]]


def route_by_method(path: str, *, get: Endpoint, post: Endpoint) -> Route:
    """Return one route for GET and POST, so that a 405 response names both methods."""

    async def serve(request: Request) -> Response:
        return await (post if request.method == "POST" else get)(request)

    return Route(path, serve, methods=["GET", "POST"])
