"""A small echo server inside the gateway, for gateways without another service behind E20."""

import asyncio
from typing import Final

from aiohttp import web

_XML = "application/xml"
_MAX_BODY: Final = 1 << 20
FAILING: Final = b"<vehicleType>echo-fails</vehicleType>"
SLEEPING: Final = b"<vehicleType>echo-sleeps</vehicleType>"
"""FAILING and SLEEPING are pieces of XML.

In the demo, the embedded echo returns an error for a document with FAILING, and answers a document with SLEEPING late.
"""


class EmbeddedEcho:
    """An HTTP server on loopback that responds to a POST with the same document.

    If `stall` is given, a developer can cause errors: a document with FAILING gets an error, and a document with SLEEPING gets
    its answer after `stall` seconds.
    """

    def __init__(self, stall: float | None = None) -> None:
        self._stall = stall
        self._runner: web.AppRunner | None = None

    async def start(self) -> str:
        """Start the server on a free port. Returns its URL."""
        app = web.Application(client_max_size=_MAX_BODY)
        app.router.add_post("/", self._echo)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}/"

    async def stop(self) -> None:
        if self._runner is not None:
            await asyncio.shield(self._runner.cleanup())
            self._runner = None

    async def _echo(self, request: web.Request) -> web.Response:
        document = await request.read()
        if self._stall is not None and FAILING in document:
            return web.Response(status=503)
        if self._stall is not None and SLEEPING in document:
            await asyncio.sleep(self._stall)
        return web.Response(body=document, content_type=_XML, charset="utf-8")
