"""Fetches small JSON documents of external issuers, with limits."""

import json
from typing import TYPE_CHECKING, Any, Protocol

from domogate.common.http_client import open_session, read_limited
from domogate.identity.profiles import find_problem_of_url

if TYPE_CHECKING:
    import aiohttp

MAX_DOCUMENT = 256 * 1024
_MAX_CONNECTIONS = 8


class FetchFailed(Exception):
    """The document could not be fetched.

    If the caller has cached data, it uses these data. The message is for the operator's log.
    """


class JsonSource(Protocol):
    """Fetches the discovery documents and key sets of external issuers."""

    async def get_json(self, url: str) -> Any:
        """Return the JSON document at the URL. Raises FetchFailed if it cannot be fetched."""
        ...


class JsonFetcher:
    """Fetches JSON with GET requests, within `deadline` seconds and `max_document` bytes.

    It follows no redirects. It accepts URLs with http instead of https only for servers on this machine.
    """

    def __init__(self, *, deadline: float = 5.0, max_document: int = MAX_DOCUMENT) -> None:
        self._deadline = deadline
        self._max_document = max_document
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        import aiohttp  # large; only a gateway with external issuers starts a fetcher

        connector = aiohttp.TCPConnector(limit=_MAX_CONNECTIONS)
        self._session = open_session(self._deadline, {"Accept": "application/json"}, connector)

    async def stop(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get_json(self, url: str) -> Any:
        if problem := find_problem_of_url(url):
            raise FetchFailed(f"{url} was not fetched: {problem}")
        if self._session is None:
            raise FetchFailed("not started")
        import aiohttp

        try:
            async with self._session.get(url, allow_redirects=False) as answer:
                if answer.status != 200:
                    raise FetchFailed(f"{url} answered with status {answer.status}; redirects are not followed")
                document = await read_limited(answer, self._max_document)
        except TimeoutError:
            raise FetchFailed(f"{url} did not answer within {self._deadline:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise FetchFailed(f"{url} cannot be reached: {type(error).__name__}") from error
        if document is None:
            raise FetchFailed(f"{url} answered with more than {self._max_document} bytes")
        try:
            return json.loads(document)
        except (ValueError, RecursionError):
            raise FetchFailed(f"{url} did not answer with JSON") from None
