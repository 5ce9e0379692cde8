"""An HTTP/1.1 connection that sends POST requests, one at a time (Decision 0108).

The gateway does not trust a receiver: it limits the bytes and the time of an answer. An answer that is not plain HTTP/1.1 ends
the connection.
"""

import asyncio
from collections.abc import Callable
from typing import cast

import msgspec
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

_MAX_ANSWER = 32_768
"""In bytes. The rest of a longer answer is not read. An answer whose head is longer is not valid."""
_IDLE = 15.0
"""In seconds. A connection without a request is closed after this time."""


class Answer(msgspec.Struct, frozen=True):
    """The status of an answer, and its header Retry-After."""

    status: int
    retry_after: str | None


class InvalidAnswer(Exception):
    """The receiver did not send a valid HTTP response."""


class NoAnswer(Exception):
    """The connection was closed before the first byte of an answer."""


class PostConnection(asyncio.Protocol):
    """A connection to one receiver. `on_lost` is called when the connection is closed."""

    def __init__(self, on_lost: Callable[["PostConnection"], None]) -> None:
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._parser = HttpResponseParser(self)
        self._waiting: asyncio.Future[Answer] | None = None
        """The caller that waits for an answer. None if no request waits for an answer."""
        self._received = 0
        self._status: int | None = None
        self._retry_after: str | None = None
        self._has_length = False
        self._keep_alive = False
        self._ends_at = 0.0
        """The deadline of the present request. Without a request, the time at which the connection is closed."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_usable(self) -> bool:
        """Whether another request can be sent."""
        return self._keep_alive and self._waiting is None and not self._transport.is_closing()

    async def post(self, request: bytes, ends_at: float) -> Answer:
        """Send the request, and return the answer.

        Raises TimeoutError if the answer is not complete at `ends_at`, which is a time of the event loop. Raises InvalidAnswer
        or NoAnswer if the receiver sends no valid answer.
        """
        self._received, self._status, self._retry_after = 0, None, None
        self._has_length = self._keep_alive = False
        self._limit_time(ends_at)
        waiting: asyncio.Future[Answer] = self._loop.create_future()
        self._waiting = waiting
        self._transport.write(request)
        try:
            return await waiting
        finally:
            if self._waiting is not None:  # the caller was cancelled
                self._waiting = None
                self.abort()

    def abort(self) -> None:
        self._keep_alive = False
        self._transport.abort()

    # called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._keep_alive = False
        if self._timer is not None:
            self._timer.cancel()
        if self._waiting is not None:
            if not self._received:
                self._fail(NoAnswer())
            elif self._status is not None and not self._has_length and error is None:
                self._succeed()  # the end of the connection is the end of the body
            else:
                self._fail(InvalidAnswer())
        self._on_lost(self)

    def data_received(self, data: bytes) -> None:
        if self._waiting is None:  # no request waits for an answer
            self.abort()
            return
        room = _MAX_ANSWER - self._received
        self._received += len(data)
        try:
            self._parser.feed_data(data if len(data) <= room else data[:room])
        except (HttpParserError, HttpParserUpgrade):
            self._fail(InvalidAnswer())
            self.abort()
            return
        if self._received > _MAX_ANSWER:
            if self._status is None:
                self._fail(InvalidAnswer())
            else:
                self._succeed()
            self.abort()

    # called by the parser

    def on_message_begin(self) -> None:
        if self._waiting is None:  # a second answer to one request
            self.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"retry-after":
            self._retry_after = value.decode("latin-1")
        elif name in (b"content-length", b"transfer-encoding"):
            self._has_length = True

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:  # an interim answer (1xx) comes before the answer
            self._status = status
            self._keep_alive = self._parser.should_keep_alive()
        else:
            self._retry_after, self._has_length = None, False

    def on_message_complete(self) -> None:
        if self._status is not None:
            self._succeed()

    # the end of a request

    def _succeed(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            assert self._status is not None, "an answer has a status"
            self._limit_time(self._loop.time() + _IDLE)
            waiting.set_result(Answer(self._status, self._retry_after))

    def _fail(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)

    def _limit_time(self, ends_at: float) -> None:
        """Set the deadline. A timer that is already set for an earlier time is kept, because a new timer costs CPU time.

        When this earlier timer fires, it is set again for the deadline.
        """
        self._ends_at = ends_at
        if self._timer is None or self._timer.when() > ends_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(ends_at, self._check_time)

    def _check_time(self) -> None:
        self._timer = None
        if self._loop.time() < self._ends_at:
            self._limit_time(self._ends_at)
            return
        self._fail(TimeoutError())
        self.abort()
