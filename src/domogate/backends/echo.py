"""Sends the documents of E20 to an HTTP service."""

import asyncio
from typing import TYPE_CHECKING, Final

from domogate.common.http_client import open_session, read_limited
from domogate.common.late_imports import load_module
from domogate.domain.faults import EchoTimeout, EchoUnreachable

if TYPE_CHECKING:
    import aiohttp

    from domogate.backends.embedded_echo import EmbeddedEcho

_XML = "application/xml"
_MAX_ANSWER: Final = 1 << 20


class HttpEchoBackend:
    """Posts the document to a service and returns the response.

    The response must come within `deadline` seconds and have at most `max_answer` bytes.

    If `url` is None, the service is an echo server inside this gateway. This server starts when the first document is sent. If
    `stall` is given, certain documents make this server fail or answer `stall` seconds late (see EmbeddedEcho).
    """

    def __init__(self, url: str | None, deadline: float, max_answer: int = _MAX_ANSWER, *, stall: float | None = None) -> None:
        self._url = url
        self._deadline = deadline
        self._max_answer = max_answer
        self._stall = stall
        self._opening = asyncio.Lock()
        self._session: aiohttp.ClientSession | None = None
        self._embedded: EmbeddedEcho | None = None
        self._is_stopped = False

    async def stop(self) -> None:
        self._is_stopped = True
        async with self._opening:
            session, self._session = self._session, None
            if session is not None:
                await session.close()
            if self._embedded is not None:
                await self._embedded.stop()

    async def send(self, document: bytes) -> tuple[bytes, str]:
        session, url = await self._open()
        import aiohttp

        try:
            async with session.post(url, data=document, headers={"Content-Type": _XML}, allow_redirects=False) as answer:
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

    async def _open(self) -> "tuple[aiohttp.ClientSession, str]":
        """Return the session and the URL of the service. The first call opens the session."""
        async with self._opening:
            if self._is_stopped:
                raise EchoUnreachable("The gateway is stopping.")
            if self._session is None or self._url is None:
                await load_module("aiohttp")
                import aiohttp

                if self._url is None:
                    server = await load_module("domogate.backends.embedded_echo")
                    self._embedded = server.EmbeddedEcho(stall=self._stall)
                    self._url = await self._embedded.start()
                self._session = open_session(self._deadline, {"Accept": _XML}, aiohttp.TCPConnector(limit=64))
            return self._session, self._url
