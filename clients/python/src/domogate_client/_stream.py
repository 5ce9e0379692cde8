"""Event streams that continue after a lost connection with the first missed event."""

import math
import time
from collections.abc import AsyncIterator, Iterator
from random import SystemRandom
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx
import msgspec

from domogate_client._effects import CloseStream, Emit, Flow, Locked, Opened, OpenStream, Pause, ReadChunk
from domogate_client._operation import Operation, Query
from domogate_client._refusals import refusal_of
from domogate_client.errors import DeadlineExceeded, NoAnswer, Refused, StreamEnded, UnexpectedAnswer
from domogate_client.events import EventParser, Message, StreamItem, decode_as, decode_event
from domogate_client.faults import TokenRefused
from domogate_client.models.events import End, Ready, Reset
from domogate_client.retries import UNAVAILABLE
from domogate_client.tokens import Tokens

if TYPE_CHECKING:
    from domogate_client._core import Core
    from domogate_client._drivers import AsyncDriver, SyncDriver

SILENCE = 45.0
"""The gateway sends something at least every 15 seconds. A stream that is silent for this time is lost."""
_CONNECT = 10.0
_CONTINUE = frozenset({"draining", "slow", "interrupted"})
_MOST_OF_AN_ERROR = 65_536
_LONGEST_PAUSE = 30.0
_LONGEST_WANTED = 3600.0
"""The longest pause that the gateway can ask for."""
_MOST_DOUBLINGS = 10
_random = SystemRandom()
_decode_end = msgspec.json.Decoder(End).decode
_decode_ready = msgspec.json.Decoder(Ready).decode
_decode_reset = msgspec.json.Decoder(Reset).decode


class _Ended(Exception):
    """The gateway ended the stream with this reason."""

    def __init__(self, end: End) -> None:
        self.end = end


def pause_after(failures: int, first: float, least: float) -> float:
    """Return the seconds before the next connection. They grow with each failure and differ between clients."""
    longest: float = max(first, min(_LONGEST_PAUSE, first * 2 ** min(failures, _MOST_DOUBLINGS)))
    return min(_LONGEST_WANTED, max(least, longest * _random.uniform(0.5, 1.0)))


class StreamLogic:
    """The position of a stream, and the flow that connects, reads and connects again."""

    def __init__(
        self,
        core: "Core",
        operation: Operation[Any],
        path: tuple[str, ...],
        query: Query | None,
        cursor: str | None,
        deadline: float | None,
    ) -> None:
        self.cursor = cursor
        self._deadline = math.inf if deadline is None else deadline
        self._ends = math.inf
        self.opened: Opened | None = None
        self._core = core
        self._operation = operation
        self._url = core.base_url + operation.url(path, query)
        self._retry = 2.0
        self._failures = 0
        self._lost_at: float | None = None
        self._refused: Tokens | None = None
        """Tokens that the gateway did not accept since the last event."""

    def flow(self) -> Flow[None]:
        """Emit events until the stream cannot continue."""
        self._ends = time.monotonic() + self._deadline
        while True:
            least = 0.0
            try:
                yield from self._connect()
                problem = "the stream ended without a reason"
            except (httpx.TransportError, NoAnswer) as error:
                problem = f"{type(error).__name__}: {error}"
            except _Ended as ended:
                self._after_end(ended.end)
                problem = ended.end.code
            except Refused as refused:
                if isinstance(refused, TokenRefused) and self._may_refresh():
                    continue
                if refused.status not in UNAVAILABLE:
                    raise
                problem = str(refused)
                least = refused.retry_after or 0.0
            yield from self._close()
            self._check_deadline()
            self._give_up_after(problem, least)
            pause = pause_after(self._failures, self._retry, least)
            self._failures += 1
            yield Pause(min(pause, max(0.0, self._ends - time.monotonic())))
            self._check_deadline()

    def _connect(self) -> Flow[None]:
        yield from self._close()
        headers = self._core.headers_for(self._operation)
        headers["Accept"] = "text/event-stream"
        if self.cursor is not None:
            headers["Last-Event-ID"] = self.cursor
        session = self._core.session
        if self._refused is not None and self._refused == session.tokens:
            ends = time.monotonic() + _CONNECT
            yield Locked(session, session.refresh(self._core.base_url, self._refused, ends), ends)
        yield from self._core.authorize(self._operation, headers, None, time.monotonic() + _CONNECT)
        timeout = {"connect": _CONNECT, "read": SILENCE, "write": _CONNECT, "pool": _CONNECT}
        request = httpx.Request("GET", self._url, headers=headers, extensions={"timeout": timeout})
        opened: Opened = yield OpenStream(request, self._ends)
        self.opened = opened
        if opened.response.status_code != 200:
            yield from self._refuse(opened)
        parser = EventParser()
        while chunk := (yield ReadChunk(opened, self._ends)):
            for message in parser.feed(chunk):
                yield from self._take(message)
            self._check_deadline()
            self._retry = parser.retry or self._retry

    def _close(self) -> Flow[None]:
        opened, self.opened = self.opened, None
        if opened is not None:
            yield CloseStream(opened)

    def _refuse(self, opened: Opened) -> Flow[None]:
        body = b""
        while len(body) < _MOST_OF_AN_ERROR and (chunk := (yield ReadChunk(opened, self._ends))):
            body += chunk
        response = opened.response
        if response.is_redirect:
            raise UnexpectedAnswer("the answer is a redirect; check the base URL of the client")
        raise refusal_of(response.status_code, response.headers, body, self._operation.name)

    def _take(self, message: Message) -> Flow[None]:
        item: StreamItem
        match message.event:
            case "end":
                raise _Ended(decode_as(_decode_end, message.data))
            case "ready":
                item = decode_as(_decode_ready, message.data)
            case "reset":
                item = decode_as(_decode_reset, message.data)
            case _:
                item = decode_event(message.data)
        self._failures, self._lost_at, self._refused = 0, None, None
        if message.id is not None:
            self.cursor = message.id
        yield Emit(item)

    def _after_end(self, end: End) -> None:
        if end.code not in _CONTINUE and not (end.code == "token" and self._may_refresh()):
            raise StreamEnded(end.code, end.detail)

    def _may_refresh(self) -> bool:
        """Whether new tokens can help. The next connection gets them."""
        if self._refused is not None or not self._core.session.can_refresh:
            return False
        self._refused = self._core.session.tokens
        return True

    def _check_deadline(self) -> None:
        if time.monotonic() >= self._ends:
            raise DeadlineExceeded(
                f"{self._operation.name}: the deadline of {self._deadline:g} s for listening passed", may_be_done=False
            )

    def _give_up_after(self, problem: str, least: float) -> None:
        now = time.monotonic()
        self._lost_at = self._lost_at or now
        if now - self._lost_at + least > self._core.reconnect_for:
            raise NoAnswer(f"{self._operation.name}: no stream for {now - self._lost_at:.0f} s: {problem}", may_be_done=False)


class EventStream:
    """Events as they happen. Iterate over it in a `with` statement."""

    def __init__(self, logic: StreamLogic, driver: "SyncDriver") -> None:
        self._logic = logic
        self._items = driver.emit(logic.flow())

    @property
    def cursor(self) -> str | None:
        """The id of the last event. Store it to continue after a restart: `listen(cursor=…)`."""
        return self._logic.cursor

    def __iter__(self) -> Iterator[StreamItem]:
        return self

    def __next__(self) -> StreamItem:
        item: StreamItem = next(self._items)
        return item

    def close(self) -> None:
        opened, self._logic.opened = self._logic.opened, None
        if opened is not None:
            opened.response.close()

    def __enter__(self) -> "EventStream":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncEventStream:
    """Events as they happen. Iterate over it in an `async with` statement."""

    def __init__(self, logic: StreamLogic, driver: "AsyncDriver") -> None:
        self._logic = logic
        self._items = driver.emit(logic.flow())

    @property
    def cursor(self) -> str | None:
        """The id of the last event. Store it to continue after a restart: `listen(cursor=…)`."""
        return self._logic.cursor

    def __aiter__(self) -> AsyncIterator[StreamItem]:
        return self

    async def __anext__(self) -> StreamItem:
        item: StreamItem = await anext(self._items)
        return item

    async def close(self) -> None:
        opened, self._logic.opened = self._logic.opened, None
        if opened is not None:
            await opened.response.aclose()

    async def __aenter__(self) -> "AsyncEventStream":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
