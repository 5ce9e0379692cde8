"""Hands a request to the surface its first path segment names."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

ASGIApp = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]


class Surfaces:
    """Hands a request to the surface its first path segment names."""

    def __init__(self, surfaces: Mapping[bytes, ASGIApp]) -> None:
        self._surfaces = dict(surfaces)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        first = scope["raw_path"].split(b"/", 2)[1:2]
        await self._surfaces.get(first[0] if first else b"", _nothing_here)(scope, receive, send)


async def _nothing_here(_scope: MutableMapping[str, Any], _receive: Any, send: Any) -> None:
    body = b'{"statusCode":404,"message":"nothing has this URL; /openapi lists what there is"}'
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 404, "headers": headers})
    await send({"type": "http.response.body", "body": body})
