"""The base classes of the generated operations. They pass each operation to their client."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Protocol, TypeVar

from domogate_client._operation import Operation, Query
from domogate_client._stream import AsyncEventStream, EventStream
from domogate_client.errors import UnexpectedAnswer

T = TypeVar("T")


class SyncSender(Protocol):
    """A client that blocks."""

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
        """Send an operation and return its answer."""
        ...

    def open_stream(
        self,
        operation: Operation[Any],
        path: tuple[str, ...],
        query: Query | None,
        cursor: str | None,
        deadline: float | None = None,
    ) -> EventStream:
        """Return the event stream of an operation."""
        ...


class AsyncSender(Protocol):
    """A client that awaits."""

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
        """Send an operation and return its answer."""
        ...

    def open_stream(
        self,
        operation: Operation[Any],
        path: tuple[str, ...],
        query: Query | None,
        cursor: str | None,
        deadline: float | None = None,
    ) -> AsyncEventStream:
        """Return the event stream of an operation."""
        ...


class SyncGroup:
    """Operations of a client that blocks."""

    def __init__(self, client: SyncSender) -> None:
        self._client = client
        self._send = client.send

    def _listen(
        self,
        operation: Operation[Any],
        path: tuple[str, ...],
        *,
        query: Query | None = None,
        cursor: str | None,
        deadline: float | None,
    ) -> EventStream:
        return self._client.open_stream(operation, path, query, cursor, deadline)

    def _pages(self, operation: Operation[Any], path: tuple[str, ...], *, query: dict[str, Any]) -> Iterator[Any]:
        after: str | None = ""
        while after is not None:
            page = self._send(operation, path, query={**query, "after": after or None})
            yield from page.items
            after = _next_page(operation, page, after)


class AsyncGroup:
    """Operations of a client that awaits."""

    def __init__(self, client: AsyncSender) -> None:
        self._client = client
        self._send = client.send

    def _listen(
        self,
        operation: Operation[Any],
        path: tuple[str, ...],
        *,
        query: Query | None = None,
        cursor: str | None,
        deadline: float | None,
    ) -> AsyncEventStream:
        return self._client.open_stream(operation, path, query, cursor, deadline)

    async def _pages(self, operation: Operation[Any], path: tuple[str, ...], *, query: dict[str, Any]) -> AsyncIterator[Any]:
        after: str | None = ""
        while after is not None:
            page = await self._send(operation, path, query={**query, "after": after or None})
            for item in page.items:
                yield item
            after = _next_page(operation, page, after)


def _next_page(operation: Operation[Any], page: Any, present: str | None) -> str | None:
    following: str | None = page.next
    if following is not None and following == present:
        raise UnexpectedAnswer(f"{operation.name}: a page names itself as the next page")
    return following
