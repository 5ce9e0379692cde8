"""One connection: one request at a time, with time limits.

For speed there is no timer per request. Each connection has one deadline, and the server checks the deadlines of all
connections regularly (`Guards.sweep`).

The answer to a request that the connection refuses is plain text, not the error body of a family. It is sent after the answers
to earlier requests. Then the connection is closed.

A client may send its next request early. The gateway pauses reading, and does not parse this request yet. It waits until the
client has received the whole answer to the previous request (Decision 0051).
"""

import weakref
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from domogate.common.http_messages import Receive
from domogate.edge.connections import Place
from domogate.edge.direct import DirectRequests, RequestPacer
from domogate.edge.guards import Guards, Refusal
from domogate.edge.reading import BODY, HEAD, IDLE
from domogate.edge.writing import WRITER, PartWriter

STATUS_LINE.update(
    {
        442: b"HTTP/1.1 442 Unexpected Parameter Value\r\n",
        469: b"HTTP/1.1 469 Password Renewal Required\r\n",
        470: b"HTTP/1.1 470 Terms Acceptance Required\r\n",
    }
)

_LINGER = 2.0
"""Seconds for which input is read and dropped after a refusal. If the connection closed at once, the answer could get lost."""

STREAM = "domogate.stream"
"""A key in the ASGI scope. An app sets this key to True if its answer is an event stream, which has no end of its own."""
_STREAM_END = 1.0
"""In seconds. In a drain, a connection with an event stream is aborted after this time, even if its client reads slowly."""
_QUIET = 0.3
"""In seconds. During a drain, a new connection has this time to send the first byte of its request."""
_LAST_HEADER_DEADLINE = 2.0
"""In seconds. During a drain, a header section must arrive within this time."""
_RESERVE_DEADLINE = 2.0
"""In seconds. A connection of the reserve (a connection beyond the limits, see `connections.py`) must send something within
this time.
"""
_HEALTH = frozenset((b"/healthz", b"/readyz"))


class Shared:
    """The objects that all connections of a server share."""

    def __init__(self, guards: Guards, requests: DirectRequests) -> None:
        self.guards, self.requests, self.pacer = guards, requests, RequestPacer()


def _do_nothing() -> None:
    pass


class _Flow(FlowControl):
    """Extends uvicorn's flow control: it calls a function when reading resumes.

    The function sets a new deadline, because the client could not send during the pause.
    """

    def __init__(self, transport: Any, on_read_again: Callable[[], None]) -> None:
        super().__init__(transport)
        self.on_read_again = on_read_again
        self.blocked = False
        """If true, reading stays paused, even when an app waits for the body of its request."""

    def resume_reading(self) -> None:
        if self.read_paused and not self.blocked:
            self.on_read_again()
            super().resume_reading()


class GuardedProtocol(PartWriter):
    """One connection. It ends if the client does not send or read in time, and it counts against the limits on connections."""

    flow: _Flow

    def __init__(self, shared: Shared, place: Place, *args: Any) -> None:
        """`args` are the arguments of uvicorn's protocol."""
        super().__init__(shared.requests, shared.pacer.start, shared.guards, *args)
        self._place = place
        self._pacer = shared.pacer
        self.deadline = inf
        self.write_deadline = inf
        self._opened_at = self.loop.time()
        self._watching = IDLE
        self._ahead, self._ahead_at = b"", 0
        self._refusal: Refusal | None = None
        self._closing = False

    # --- bytes in -----------------------------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.flow = _Flow(transport, self._read_again)
        # A new connection that sends nothing has the time limit of a header section. An idle connection that was used before
        # has a longer limit.
        silent = self.limits.header_deadline
        self.deadline = self._opened_at + (min(silent, _RESERVE_DEADLINE) if self._place.limit else silent)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._place.leave()
        # The protocol and its flow refer to each other. Without this reference, their memory is freed at once.
        self.flow.on_read_again = _do_nothing

    def data_received(self, data: bytes) -> None:
        if self._refusal is None:
            self._parse(self._ahead[self._ahead_at :] + data if self._ahead else data, 0)

    def _parse(self, data: bytes, at: int) -> None:
        """Parse one request. The bytes after this request wait until `_proceed` is called."""
        size, self._ahead = len(data), b""
        while at < size:
            is_whole = False
            if self.phase == IDLE:
                if self._is_answering() or self.flow.write_paused:
                    self._ahead, self._ahead_at = data, at
                    self.flow.blocked = True
                    self.flow.pause_reading()
                    return
                is_whole = not self.seen and not self._place.limit
            at = (is_whole and self.start_kept(data, at)) or self.parse_piece(data, at, is_whole=is_whole)
            if self._refusal is not None or self.transport.is_closing():
                return
        if self.phase or self.seen:
            self._watch_unfinished()

    def _is_answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request through ASGI, unlike in uvicorn's annotation
        return self.direct is not None or (cycle is not None and not cycle.response_complete)

    def _watch_unfinished(self) -> None:
        if self.seen > self.limits.max_header:
            self.refuse(self.too_large())
            return
        phase = self.phase or HEAD
        # Some clients send empty lines after a request (RFC 9112 §2.2). They do not begin a request.
        if self._watching != phase and (self.phase or self.begun):
            self._watching = phase
            self.deadline = self.loop.time() + self._time_limit()

    def _read_again(self) -> None:
        if self._watching:
            self.deadline = self.loop.time() + self._time_limit()

    def _time_limit(self) -> float:
        head = min(self.limits.header_deadline, _LAST_HEADER_DEADLINE if self.guards.is_draining else inf)
        return self.limits.body_deadline if self._watching == BODY else head

    def on_headers_complete(self) -> None:
        limit = self._place.limit
        if limit and self.url.partition(b"?")[0] not in _HEALTH:
            raise Refusal(503, f"The gateway has too many connections: the limit {limit} is reached. Try again later.")
        super().on_headers_complete()
        if self.phase == BODY:
            scope: Any = self.scope  # ASGI's typed dict does not allow other keys.
            scope[WRITER] = weakref.proxy(self)  # A connection and its scope must not keep each other in memory.
            self.cycle.keep_alive = self.cycle.keep_alive and not limit and not self.guards.is_draining

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        cycle.receive = partial(_receive, cycle, cycle.receive)
        start = super()._start_asgi_task
        if self.url in _HEALTH:
            start(cycle, app)
        else:
            self._pacer.start(lambda: start(cycle, app))

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if self.phase == IDLE:
            self._watching = IDLE
            # The answer may have been complete before the body was.
            self.deadline = inf if self._is_answering() else self.loop.time() + self.limits.keep_alive
            if self.direct is not None:
                self.start_direct(self.direct)

    # --- answers out --------------------------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        """Continue with the next request after an answer is complete.

        This replaces uvicorn's method, which would start a timer for an idle connection. Our idle connections have a deadline.
        """
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            # The connection is closed when the client has read this last answer, or at this deadline.
            self._closing = True
            self.deadline = min(self.deadline, self.loop.time() + self.limits.body_deadline)
        # While the client does not read this answer, its next request waits.
        elif not self.flow.write_paused:
            self._proceed()

    def _proceed(self) -> None:
        """Continue after the client has received the last answer completely.

        Parse the bytes that the client sent before it had this answer. If there are no such bytes, continue to read.
        """
        self.flow.blocked = False
        if self._ahead:
            self._parse(self._ahead, self._ahead_at)
            if self.transport.is_closing():
                return
        if self.flow.read_paused:
            self.flow.resume_reading()
        if self._refusal is not None or self._is_answering():
            return
        if self.phase == BODY:
            # The answer was complete before the whole body arrived: the rest is read and dropped for a short time.
            self.deadline = min(self.deadline, self.loop.time() + _LINGER)
            self._watching = BODY
        elif not self._watching:
            self.deadline = self.guards.now + self.limits.keep_alive

    def pause_writing(self) -> None:
        super().pause_writing()
        self.write_deadline = self.loop.time() + self.limits.body_deadline

    def resume_writing(self) -> None:
        super().resume_writing()
        self.write_deadline = inf
        if not self._is_answering() and self._refusal is None and not self.transport.is_closing():
            self._proceed()

    # --- the end ------------------------------------------------------------------------------------------------------

    def extend(self, seconds: float) -> None:
        self.deadline += seconds
        self.write_deadline += seconds

    def is_due(self, moment: float) -> bool:
        return self.deadline <= moment or self.write_deadline <= moment

    def expire(self, now: float) -> None:
        if self._closing or self.write_deadline <= self.deadline:
            self.transport.abort()
        elif self._watching and self.flow.read_paused:
            self.deadline = now + self._time_limit()  # The gateway itself has paused reading.
        elif self._watching == HEAD:
            self.refuse(Refusal(408, "The header section did not arrive in time."))
        elif self._watching == BODY:
            self.refuse(Refusal(408, "The body did not arrive in time."))
        else:
            # An idle connection gets no 408: some clients would take it as the answer to their next request.
            self._close_slowly(now)

    def begin_drain(self) -> None:
        """Make the running request the last request of this connection.

        If only a part of a header section has arrived, the rest must arrive soon.
        """
        if self._watching == HEAD:
            self.deadline = min(self.deadline, self.loop.time() + self._time_limit())
        cycle: Any = self.cycle  # None before the first request through ASGI
        if cycle is None or cycle.response_complete:
            return
        if is_stream := cycle.scope.get(STREAM):
            self.loop.call_later(_STREAM_END, self.transport.abort)
        # If the header section of an answer was sent already, it has told the client that the connection stays open.
        cycle.keep_alive = cycle.keep_alive and cycle.response_started and not is_stream

    def close_if_quiet(self) -> None:
        """In a drain, close the connection if no request is running or arriving.

        A connection that was opened less than `_QUIET` seconds ago stays open.
        """
        is_busy = self._is_answering() or self.phase or self.begun or self._ahead or self._closing
        is_new = self.loop.time() < self._opened_at + _QUIET
        if not is_busy and not is_new and not self._place.has_unread_bytes():
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self.refuse(Refusal(400, msg))

    def refuse(self, refusal: Refusal) -> None:
        """Ignore further input, answer with the refusal unless an answer has begun, and close the connection."""
        self._refusal = refusal
        self.deadline = inf
        self.flow.blocked = False
        if self.guards.on_refused is not None:
            self.guards.on_refused(refusal.status)
        if self.phase == BODY:
            self._refuse_running(refusal)
        else:
            self._send_refusal(refusal)

    def _refuse_running(self, refusal: Refusal) -> None:
        """Refuse a request that a surface is already handling: tell the surface that the rest of the body will not come."""
        cycle = self.cycle
        cycle.disconnected = True
        cycle.message_event.set()
        if cycle.response_started:
            self._close_slowly(self.loop.time())
        else:
            self._send_refusal(refusal)

    def _send_refusal(self, refusal: Refusal) -> None:
        self.transport.write(STATUS_LINE[refusal.status] + refusal.to_bytes(self.server_state.default_headers))
        self._close_slowly(self.loop.time())

    def _close_slowly(self, now: float) -> None:
        """Close the connection in a way that does not lose the last answer.

        `expire` later aborts a connection that is still open.
        """
        self._closing = True
        self.deadline = now + _LINGER
        if self._refusal is not None and self.transport.can_write_eof():
            self.flow.resume_reading()
            self.transport.write_eof()
        else:
            self.transport.close()


async def _receive(cycle: Any, receive: Receive) -> Any:
    """Return the next message of ASGI. A body that has arrived completely is returned even if the client has left since.

    uvicorn drops the body if the client has left. But a direct request is carried out even if its client has left, and the
    same rule must hold for requests through ASGI (Decision 0106).
    """
    message = await receive()
    if message["type"] == "http.disconnect" and cycle.body and not cycle.more_body and not cycle.response_complete:
        message, cycle.body = {"type": "http.request", "body": bytes(cycle.body), "more_body": False}, bytearray()
    return message
