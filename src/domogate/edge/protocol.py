"""HTTP checks in addition to those of uvicorn's parser: Host, size, framing and time limits.

For speed there is no timer per request. A connection has one deadline, and the server sweeps all connections regularly
(`Guards.sweep`). Bytes are counted per read, and headers only after a large read. A request that is refused here does not
reach a family. The answer is plain text, after the answers to earlier pipelined requests, and the connection is closed.
"""

import re
from collections.abc import Callable
from http import HTTPStatus
from math import inf
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from domogate.edge.guards import Guarded, Guards, Refusal
from domogate.edge.request_ids import next_request_id

STATUS_LINE.update(
    {
        442: b"HTTP/1.1 442 Unexpected Parameter Value\r\n",
        469: b"HTTP/1.1 469 Password Renewal Required\r\n",
        470: b"HTTP/1.1 470 Terms Acceptance Required\r\n",
    }
)

_LINGER = 2.0
"""Seconds for which input is read and dropped after a refusal. Closing at once could lose the answer."""

STREAM = "domogate.stream"
"""Scope key that an inner app sets for an answer without an end. The app ends it when the server drains."""
TAKEN = "domogate.taken"
"""Scope key of a function that waits until the client has read enough. ASGI's `send` would first wait and then write."""
_STREAM_END = 1.0
"""Seconds that the end of a stream may take to reach a client that perhaps does not read."""

_IDLE, _HEAD, _BODY = range(3)
_CHECKED_HEADERS = frozenset((b"host", b"expect", b"transfer-encoding"))

# RFC 9112 §3.2: uri-host [ ":" port ], never empty for http (RFC 9110 §4.2.1)
_find_host = re.compile(
    rb"(?:(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2}){1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{0,5})?"
).fullmatch
# RFC 9110 §9.1: a method is a token. llhttp accepts a fixed list; other methods are parsed under a name that it accepts.
_find_method = re.compile(rb"(?:\r\n)*([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,40}) ").match
_STAND_IN_METHOD = b"SEARCH"
_ALLOW = b"allow: GET, HEAD, POST, OPTIONS\r\n"


class GuardedConfig(uvicorn.Config):
    """uvicorn's configuration with the guards of its connections."""

    def __init__(self, app: Any, guards: Guards, **options: Any) -> None:
        super().__init__(app, http=GuardedProtocol, ws="none", interface="asgi3", **options)
        self.guards = guards


class _Flow(FlowControl):
    """uvicorn's flow control with a callback when reading resumes: time without reading does not count against the client."""

    def __init__(self, transport: Any, on_read_again: Callable[[], None]) -> None:
        super().__init__(transport)
        self._on_read_again = on_read_again

    def resume_reading(self) -> None:
        if self.read_paused:
            self._on_read_again()
        super().resume_reading()


class GuardedProtocol(HttpToolsProtocol, Guarded):
    """One connection: uvicorn's protocol plus checks of Host, size, framing and time."""

    def __init__(self, config: GuardedConfig, *args: Any, **options: Any) -> None:
        super().__init__(config, *args, **options)
        self.guards = config.guards
        self.limits = config.guards.limits
        self.deadline = inf
        self.write_deadline = inf
        self._phase = _IDLE
        self._watching = _IDLE
        self._seen = 0
        self._chunk = 0
        self._refusal: Refusal | None = None
        self._closing = False
        self._upgrade_asked = False
        self._unknown_method: bytes | None = None
        self._host: bytes | None = None
        self._good_host: bytes | None = None

    # --- bytes in -----------------------------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.flow = _Flow(transport, self._read_again)
        self.deadline = self.loop.time() + self.limits.keep_alive

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            return
        self._chunk = len(data)
        self._seen += self._chunk
        pending: list[bytes | memoryview] = [data]
        while pending:
            piece = pending.pop()
            try:
                self.parser.feed_data(piece)
            except httptools.HttpParserUpgrade as upgrade:
                pending += (memoryview(piece)[upgrade.args[0] :], self._restart_without_upgrade())
            except httptools.HttpParserInvalidMethodError:
                renamed = self._restart_with_known_method(data)
                if renamed is None:
                    at_the_start = self._seen == len(data)  # without a method: this is not HTTP
                    self._refuse(
                        Refusal(400, "This is not HTTP.") if at_the_start else Refusal(405, "This method is not known.")
                    )
                    return
                pending.append(renamed)
            except httptools.HttpParserError as error:
                cause = error.__context__
                self._refuse(cause if isinstance(cause, Refusal) else Refusal(400, f"This is not valid HTTP/1.1: {error}."))
                return
        if self._phase or self._seen:
            self._watch_unfinished()

    def _watch_unfinished(self) -> None:
        if self._seen > self.limits.max_header:
            self._refuse(self._too_large())
            return
        phase = self._phase or _HEAD
        if self._watching != phase:
            self._watching = phase
            self.deadline = self.loop.time() + self._time_limit()

    def _read_again(self) -> None:
        if self._watching:
            self.deadline = self.loop.time() + self._time_limit()

    def _time_limit(self) -> float:
        return self.limits.body_deadline if self._watching == _BODY else self.limits.header_deadline

    def _too_large(self) -> Refusal:
        return Refusal(431, f"The request line and header section may have {self.limits.max_header} bytes together.")

    def _new_parser(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)

    def _restart_without_upgrade(self) -> bytes:
        """The head again without Upgrade (RFC 9110 §7.8). Otherwise llhttp would treat the body as the new protocol."""
        version = self.parser.get_http_version().encode()
        head = [b"%b %b HTTP/%b\r\n" % (self.parser.get_method(), self.url, version)]
        head += [b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        self._upgrade_asked = False
        self._new_parser()
        return b"".join([*head, b"\r\n"])

    def _restart_with_known_method(self, data: bytes) -> bytes | None:
        """Parse again with a known method, so that the family of the URL answers 405 in its shape with its Allow."""
        match = _find_method(data) if self._seen == len(data) and self._unknown_method is None else None
        if match is None:
            return None
        self._unknown_method = match[1]
        self._new_parser()
        return _STAND_IN_METHOD + data[match.end(1) :]

    # --- callbacks of the parser --------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._phase = _HEAD
        self._host = None
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._phase == _BODY:
            return  # a trailer is not a header of the running request (RFC 9110 §6.5.1)
        name = name.lower()
        if name in _CHECKED_HEADERS:
            self._check_header(name, value)
        self.headers.append((name, value))

    def _check_header(self, name: bytes, value: bytes) -> None:
        if name == b"host":
            if self._host is not None:
                raise Refusal(400, "A request has one Host header (RFC 9112, section 3.2).")
            if value != self._good_host:
                if _find_host(value) is None:
                    raise Refusal(400, "The Host header is not a host with an optional port (RFC 9112, section 3.2).")
                self._good_host = value
            self._host = value
        elif name == b"expect":
            self.expect_100_continue = value.lower() == b"100-continue"
        elif value.lower() != b"chunked":
            raise Refusal(501, "The only supported transfer coding is chunked (RFC 9112, section 6.1).")
        elif self.parser.get_http_version() != "1.1":
            raise Refusal(400, "Transfer-Encoding needs HTTP/1.1 (RFC 9112, section 6.1).")

    def on_headers_complete(self) -> None:
        parser, limit = self.parser, self.limits.max_header
        if (self._seen > limit or self._chunk > limit) and self._head_size() > limit:
            raise self._too_large()
        version = parser.get_http_version()
        if version != "1.1" and version != "1.0":
            raise Refusal(400, "Only HTTP/1.1 is supported.")
        if self._host is None and version == "1.1":
            # HTTP/1.0 has no Host, and some health probes still use it: only 1.1 must have one (RFC 9112 §3.2)
            raise Refusal(400, "A request needs a Host header (RFC 9112, section 3.2).")
        if b"#" in self.url:
            raise Refusal(400, "A request target has no fragment (RFC 9112, section 3.2).")
        if parser.should_upgrade():
            if parser.get_method() == b"CONNECT":
                raise Refusal(405, "This is not a proxy.")
            self._upgrade_asked = True
            return
        super().on_headers_complete()
        scope: Any = self.scope  # ASGI's typed dict has only its own keys
        scope[TAKEN] = self.flow.drain
        if self._unknown_method is not None:
            self.scope["method"] = self._unknown_method.decode()
            self._unknown_method = None
        self._phase = _BODY
        self._seen = 0

    def _head_size(self) -> int:
        return len(self.url) + len("GET  HTTP/1.1\r\n\r\n") + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def on_body(self, body: bytes) -> None:
        self._seen = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._upgrade_asked:
            return
        super().on_message_complete()
        self._phase = self._watching = _IDLE
        self._seen = 0
        self.deadline = inf

    # --- answers out --------------------------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        """As uvicorn's method, with a deadline instead of a timer."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._refusal is not None:
            self._send_refusal(self._refusal)
        elif self._phase == _BODY:
            # Answered before the body was complete: the rest is read and dropped, but not for long.
            self.deadline = min(self.deadline, self.loop.time() + _LINGER)
            self._watching = _BODY
        elif not self._watching:
            self.deadline = self.guards.now + self.limits.keep_alive

    def pause_writing(self) -> None:
        super().pause_writing()
        self.write_deadline = self.loop.time() + self.limits.body_deadline

    def resume_writing(self) -> None:
        super().resume_writing()
        self.write_deadline = inf

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
            self.deadline = now + self._time_limit()  # the gateway itself has paused reading
        elif self._watching == _HEAD:
            self._refuse(Refusal(408, "The header section did not arrive in time."))
        elif self._watching == _BODY:
            self._refuse(Refusal(408, "The body did not arrive in time."))
        else:
            # An idle connection gets no 408: some clients would take it as the answer to their next request.
            self._close_slowly(now)

    def shutdown(self) -> None:
        if self._closing:
            self.transport.abort()
            return
        super().shutdown()
        scope: Any = self.scope  # None before the first request
        if scope and scope.get(STREAM):
            self.loop.call_later(_STREAM_END, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        self._refuse(Refusal(400, msg))

    def _refuse(self, refusal: Refusal) -> None:
        """Read no more input. Answer now, or after the earlier requests are answered."""
        self._refusal = refusal
        self.deadline = inf
        if self.guards.on_refused is not None:
            self.guards.on_refused(refusal.status)
        cycle: Any = self.cycle  # None before the first request, unlike uvicorn's annotation
        if self._phase == _BODY:
            self._refuse_running(refusal)
        elif cycle is None or cycle.response_complete:
            self._send_refusal(refusal)

    def _refuse_running(self, refusal: Refusal) -> None:
        """The family already handles the request. Tell it that the body will not come."""
        cycle = self.cycle
        if self.pipeline:
            self.pipeline.popleft()  # it waits for earlier requests and now never runs
            return
        answered = cycle.response_started
        cycle.disconnected = True
        cycle.message_event.set()
        if answered:
            self._close_slowly(self.loop.time())
        else:
            self._send_refusal(refusal)

    def _send_refusal(self, refusal: Refusal) -> None:
        body = refusal.message.encode("ascii", "replace") + b"\n"
        content = [STATUS_LINE[refusal.status]]
        content += [b"%b: %b\r\n" % header for header in self.server_state.default_headers]
        content.append(b"x-request-id: %b\r\ncontent-type: text/plain; charset=utf-8\r\n" % next_request_id())
        if refusal.status == HTTPStatus.METHOD_NOT_ALLOWED:
            content.append(_ALLOW)
        content.append(b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body))
        self.transport.write(b"".join([*content, body]))
        self._close_slowly(self.loop.time())

    def _close_slowly(self, now: float) -> None:
        """Close so that the last answer is not lost; `expire` does the rest."""
        self._closing = True
        self.deadline = now + _LINGER
        if self._refusal is not None and self.transport.can_write_eof():
            self.flow.resume_reading()
            self.transport.write_eof()
        else:
            self.transport.close()
