"""The HTTP service behind E20: a client, and a small embedded server for the demo."""

import asyncio
from typing import Final

import aiohttp
from aiohttp import web

from domogate.common.http_client import open_session, read_limited
from domogate.domain.faults import EchoTimeout, EchoUnreachable

_XML = "application/xml"
_MAX_ANSWER: Final = 1 << 20
FAILING: Final = b"<vehicleType>echo-fails</vehicleType>"
SLEEPING: Final = b"<vehicleType>echo-sleeps</vehicleType>"
"""FAILING and SLEEPING are pieces of XML.

A developer sends a document with one of them to cause an error of the embedded echo in the demo.
"""


class HttpEchoBackend:
    """Posts the document to `url` and returns the response, which must come within `deadline` seconds and have at most
    `max_answer` bytes.
    """

    def __init__(self, url: str, deadline: float, max_answer: int = _MAX_ANSWER) -> None:
        self._url = url
        self._deadline = deadline
        self._max_answer = max_answer
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        self._session = open_session(self._deadline, {"Accept": _XML}, aiohttp.TCPConnector(limit=64))

    async def stop(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, document: bytes) -> tuple[bytes, str]:
        if self._session is None:
            raise EchoUnreachable("The echo backend is not connected.")
        try:
            async with self._session.post(
                self._url, data=document, headers={"Content-Type": _XML}, allow_redirects=False
            ) as answer:
                if answer.status != 200:
                    raise EchoUnreachable(f"The echo backend answered with status {answer.status}.")
                body = await read_limited(answer, self._max_answer)
                if body is None:
                    raise EchoUnreachable(f"The echo backend's answer is longer than {self._max_answer} bytes.")
                return body, answer.content_type
        except TimeoutError:
            raise EchoTimeout(f"The echo backend did not answer within {self._deadline:g} s.") from None
        except (aiohttp.ClientError, OSError, ValueError):
            # The reason may contain the backend's address, which clients must not see.
            raise EchoUnreachable("The echo backend cannot be reached.") from None


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
        app = web.Application(client_max_size=_MAX_ANSWER)
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
