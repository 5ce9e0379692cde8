"""Surfaces that are imported and built when their first request arrives (Decision 0142).

Only the families, the pages and the health checks are imported at the start. So a gateway is ready sooner. A gateway that only
serves the families does not need the memory of the other surfaces.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from domogate.common.http_messages import Answer, Request

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway

NOT_FOUND = b"not found"
"""The name under which `_SURFACES_OF` lists the page for paths that do not exist."""
OWN_APIS = (b"events", b"webhooks", b"tickets", b"home", b"developer", b"manage")
"""The first path segments of our own APIs. Their error bodies are problems (RFC 9457)."""

_SURFACES_OF = {
    "domogate.app.identity_surface": (b"auth", b".well-known", NOT_FOUND),
    "domogate.app.own_apis": (b"events", b"webhooks", b"tickets", b"home", b"developer", b"openapi"),
    "domogate.app.management_api": (b"manage",),
}
"""For each module: the surfaces that its function `build_surfaces` builds. The name of a surface is its first path segment."""


class LateSurfaces:
    """Surfaces that are built together: `build` is called when one of them gets its first request.

    If `build` raises an error, it is called again for the next request.
    """

    def __init__(self, build: Callable[[], Awaitable[Mapping[bytes, Any]]]) -> None:
        self._build = build
        self._built: Mapping[bytes, Any] | None = None
        self._building = asyncio.Lock()

    async def find(self, name: bytes) -> Any:
        async with self._building:  # Requests that arrive at the same time get the same app.
            if self._built is None:
                self._built = await self._build()
            return self._built[name]


class LateSurface:
    """Passes each request to the surface `name`. If this surface is not built yet, `surfaces` builds it first."""

    def __init__(self, surfaces: LateSurfaces, name: bytes) -> None:
        self._surfaces = surfaces
        self._name = name
        self._app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        app = self._app or await self._load()
        await app(scope, receive, send)

    async def answer(self, request: Request) -> Answer:
        """Answer a direct request, which comes without the ASGI interface (Decision 0106)."""
        app = self._app or await self._load()
        answer: Answer = await app.answer(request)
        return answer

    async def _load(self) -> Any:
        self._app = await self._surfaces.find(self._name)
        return self._app


def build_late_surfaces(gateway: "Gateway") -> dict[bytes, LateSurface]:
    late: dict[bytes, LateSurface] = {}
    for module, names in _SURFACES_OF.items():
        surfaces = LateSurfaces(partial(_build, module, gateway))
        late |= {name: LateSurface(surfaces, name) for name in names}
    return late


async def _build(module: str, gateway: "Gateway") -> Mapping[bytes, Any]:
    """Import the module and build its surfaces on a thread, so that other requests do not wait.

    More modules are imported while the surfaces are built: some packages import a module only when a name of this module is
    first used. So the surfaces are also built on the thread.
    """

    def build() -> Mapping[bytes, Any]:
        built: Mapping[bytes, Any] = import_module(module).build_surfaces(gateway)
        return built

    return await asyncio.to_thread(build)
