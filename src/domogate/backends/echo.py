"""The HTTP service behind E20: a client for any, and a small embedded one so that the demonstration needs nothing else."""

import asyncio
from typing import Final

import aiohttp
from aiohttp import web

from domogate.domain.faults import EchoTimeout, EchoUnreachable

_XML = "application/xml"
_MAX_ANSWER: Final = 1 << 20


class HttpEchoBackend:
    """Posts the document to `url` and hands back what it answers, within `deadline` seconds and `max_answer` bytes."""

    def __init__(self, url: str, deadline: float, max_answer: int = _MAX_ANSWER) -> None:
        self._url = url
        self._deadline = deadline
        self._max_answer = max_answer
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        # The environment's proxies and netrc are not ours to use: the operator set a URL, and nothing else.
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self._deadline),
            connector=aiohttp.TCPConnector(limit=64),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,  # a small answer must not grow beyond its bound after it was counted
            headers={"Accept": _XML, "Accept-Encoding": "identity", "User-Agent": "domogate"},
        )

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
                return await self._read_bounded(answer), answer.content_type
        except TimeoutError:
            raise EchoTimeout(f"The echo backend did not answer within {self._deadline:g} s.") from None
        except (aiohttp.ClientError, OSError, ValueError):
            # The reason may hold the backend's address, which is nothing for a client to know.
            raise EchoUnreachable("The echo backend cannot be reached.") from None

    async def _read_bounded(self, answer: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for piece in answer.content.iter_any():
            body += piece
            if len(body) > self._max_answer:
                raise EchoUnreachable(f"The echo backend's answer is longer than {self._max_answer} bytes.")
        return bytes(body)


class EmbeddedEcho:
    """A real HTTP server on loopback that answers a POST with the very document it got."""

    def __init__(self, max_body: int = _MAX_ANSWER) -> None:
        self._max_body = max_body
        self._runner: web.AppRunner | None = None

    async def start(self) -> str:
        """Its URL, on a free port."""
        app = web.Application(client_max_size=self._max_body)
        app.router.add_post("/", _echo)
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


async def _echo(request: web.Request) -> web.Response:
    return web.Response(body=await request.read(), content_type=_XML, charset="utf-8")
