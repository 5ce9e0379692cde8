"""The two clients. They have the same attributes and methods; the methods of AsyncClient are coroutines."""

import math
from types import TracebackType
from typing import Any, TypedDict, TypeVar, Unpack

import httpx

from domogate_client._cache import ETagCache
from domogate_client._core import Core
from domogate_client._drivers import AsyncDriver, SyncDriver
from domogate_client._groups import AsyncGroups, Groups
from domogate_client._operation import Operation, Query
from domogate_client._stream import AsyncEventStream, EventStream, StreamLogic
from domogate_client._version import __version__
from domogate_client.errors import DomogateError
from domogate_client.retries import Retries
from domogate_client.tokens import Session, Tokens

T = TypeVar("T")

DEADLINE = 30.0
MAX_ANSWER = 64_000_000


class Settings(TypedDict, total=False):
    """The settings of a client, as named arguments."""

    session: Session
    """Tokens that are refreshed."""
    tokens: Tokens
    """Tokens that are not refreshed. Give either `session` or `tokens`."""
    deadline: float
    """The seconds that a call may take, with all its attempts. Default: 30."""
    retries: Retries
    cache: ETagCache
    reconnect_for: float
    """The seconds after which an event stream without a connection gives up. Default: it never gives up."""
    user_agent: str
    """The name of the application, for the log of the gateway."""
    max_answer: int
    """The largest body of an answer in bytes. Default: 64 MB."""


class _Base:
    """The data that both clients have."""

    def __init__(self, base_url: str, subscription_key: str | None, settings: Settings) -> None:
        url = httpx.URL(base_url)
        if url.scheme not in ("http", "https") or not url.host:
            raise DomogateError(f"base_url must begin with https:// or http:// and name a host, but it is {base_url!r}")
        if url.userinfo or url.query or url.fragment:
            raise DomogateError("base_url must be only the address of the gateway, without a user, a query and a fragment")
        if "session" in settings and "tokens" in settings:
            raise DomogateError("give either `session` or `tokens`, not both")
        own = f"domogate-client/{__version__}"
        name = settings.get("user_agent")
        self.core = Core(
            base_url,
            subscription_key,
            settings.get("session") or Session(tokens=settings.get("tokens")),
            deadline=settings.get("deadline", DEADLINE),
            retries=settings.get("retries", Retries()),
            cache=settings.get("cache", ETagCache()),
            reconnect_for=settings.get("reconnect_for", math.inf),
            user_agent=f"{name} {own}" if name else own,
        )
        self._max_answer = settings.get("max_answer", MAX_ANSWER)

    @property
    def session(self) -> Session:
        return self.core.session

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.core.base_url!r})"


class Client(_Base, Groups):
    """A client whose methods block. It can be used by several threads."""

    def __init__(
        self,
        base_url: str,
        subscription_key: str | None = None,
        *,
        http: httpx.Client | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Make a client of the gateway at `base_url`. `http` has your own certificates, proxies and limits."""
        super().__init__(base_url, subscription_key, settings)
        self._http = httpx.Client() if http is None else http
        self.driver = SyncDriver(self._http, self._max_answer)

    def send(
        self,
        operation: Operation[T],
        path: tuple[str, ...],
        *,
        query: Query | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
        token: str | None = None,
        deadline: float | None = None,
    ) -> T:
        """Send an operation and return its answer. The attributes of the client have a method for each operation."""
        return self.driver.run(self.core.call(operation, path, query, body, idempotency_key, token, deadline))

    def open_stream(
        self,
        operation: Operation[Any],
        path: tuple[str, ...],
        query: Query | None,
        cursor: str | None,
        deadline: float | None = None,
    ) -> EventStream:
        """Return the event stream of an operation. It connects when the first event is read."""
        return EventStream(StreamLogic(self.core, operation, path, query, cursor, deadline), self.driver)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncClient(_Base, AsyncGroups):
    """A client whose methods are coroutines of asyncio."""

    def __init__(
        self,
        base_url: str,
        subscription_key: str | None = None,
        *,
        http: httpx.AsyncClient | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Make a client of the gateway at `base_url`. `http` has your own certificates, proxies and limits."""
        super().__init__(base_url, subscription_key, settings)
        self._http = httpx.AsyncClient() if http is None else http
        self.driver = AsyncDriver(self._http, self._max_answer)

    async def send(
        self,
        operation: Operation[T],
        path: tuple[str, ...],
        *,
        query: Query | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
        token: str | None = None,
        deadline: float | None = None,
    ) -> T:
        """Send an operation and return its answer. The attributes of the client have a method for each operation."""
        return await self.driver.run(self.core.call(operation, path, query, body, idempotency_key, token, deadline))

    def open_stream(
        self,
        operation: Operation[Any],
        path: tuple[str, ...],
        query: Query | None,
        cursor: str | None,
        deadline: float | None = None,
    ) -> AsyncEventStream:
        """Return the event stream of an operation. It connects when the first event is read."""
        return AsyncEventStream(StreamLogic(self.core, operation, path, query, cursor, deadline), self.driver)

    async def close(self) -> None:
        await self.driver.close()
        await self._http.aclose()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
