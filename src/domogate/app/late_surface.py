"""A surface that is built when its first request arrives (Decision 0142)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from domogate.edge.stack import ASGIApp


class LateSurface:
    """Passes each request to the app that `build` returns. `build` is called when the first request arrives.

    If `build` raises an error, it is called again for the next request.
    """

    def __init__(self, build: Callable[[], Awaitable[ASGIApp]]) -> None:
        self._build = build
        self._app: ASGIApp | None = None
        self._building = asyncio.Lock()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        app = self._app or await self._find()
        await app(scope, receive, send)

    async def _find(self) -> ASGIApp:
        async with self._building:  # Requests that arrive at the same time get the same app.
            if self._app is None:
                self._app = await self._build()
            return self._app
