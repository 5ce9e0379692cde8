"""Small JSON documents from elsewhere, fetched with every bound there is."""

import json
from typing import Any, Protocol

import aiohttp

from domogate.identity.profiles import find_problem_of_url

MAX_DOCUMENT = 256 * 1024
_MAX_CONNECTIONS = 8


class FetchFailed(Exception):
    """The document could not be had; the message says why, for the operator's log."""


class JsonSource(Protocol):
    """Where discovery and key sets come from."""

    async def get_json(self, url: str) -> Any:
        """Raises FetchFailed."""
        ...


class JsonFetcher:
    """GETs JSON: https only except on this machine, no redirects, within `deadline` seconds and `max_document` bytes."""

    def __init__(self, *, deadline: float = 5.0, max_document: int = MAX_DOCUMENT) -> None:
        self._deadline = deadline
        self._max_document = max_document
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        # The environment's proxies and netrc are not ours to use: the operator set a URL, and nothing else.
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self._deadline),
            connector=aiohttp.TCPConnector(limit=_MAX_CONNECTIONS),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,  # a small answer must not grow beyond its bound after it was counted
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "domogate"},
        )

    async def stop(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get_json(self, url: str) -> Any:
        if problem := find_problem_of_url(url):
            raise FetchFailed(f"{url} was not fetched: {problem}")
        if self._session is None:
            raise FetchFailed("not started")
        try:
            async with self._session.get(url, allow_redirects=False) as answer:
                if answer.status != 200:
                    raise FetchFailed(f"{url} answered with status {answer.status}; redirects are not followed")
                document = await self._read_bounded(url, answer)
        except TimeoutError:
            raise FetchFailed(f"{url} did not answer within {self._deadline:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise FetchFailed(f"{url} cannot be reached: {type(error).__name__}") from error
        try:
            return json.loads(document)
        except (ValueError, RecursionError):
            raise FetchFailed(f"{url} did not answer with JSON") from None

    async def _read_bounded(self, url: str, answer: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for piece in answer.content.iter_any():
            body += piece
            if len(body) > self._max_document:
                raise FetchFailed(f"{url} answered with more than {self._max_document} bytes")
        return bytes(body)
