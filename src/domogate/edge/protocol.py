"""What uvicorn's HTTP parser lets through and we do not, without a timer or a second look at the bytes per request.

A connection keeps one deadline; the server sweeps all connections now and then (`Guards.sweep`). Bytes are counted per read,
headers only when a read was large enough to matter. Whatever is refused here never reached a family and answers in plain
text, in its turn behind earlier pipelined requests, and the connection is closed.
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
"""How long input is read and dropped after a refusal: closing at once would reset the connection under the answer."""

STREAM = "domogate.stream"
"""Scope key by which an inner app says that its answer has no end of its own; it ends it when the server drains."""
TAKEN = "domogate.taken"
"""Scope key of what waits until the client has taken enough of what was written: ASGI's own `send` writes after it waited."""
_FAREWELL = 1.0
"""How long such an answer's last words may take to reach a client that perhaps does not read at all."""

_IDLE, _HEAD, _BODY = range(3)
_CHECKED_HEADERS = frozenset((b"host", b"expect", b"transfer-encoding"))

# RFC 9112 §3.2: uri-host [ ":" port ], never empty for http (RFC 9110 §4.2.1)
_find_host = re.compile(
    rb"(?:(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2}){1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{0,5})?"
).fullmatch
# RFC 9110 §9.1: a method is a token. llhttp knows a fixed list; others are parsed under a name it knows.
_find_method = re.compile(rb"(?:\r\n)*([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,40}) ").match
_STAND_IN_METHOD = b"SEARCH"
_ALLOW = b"allow: GET, HEAD, POST, OPTIONS\r\n"


class GuardedConfig(uvicorn.Config):
    """uvicorn's configuration, and the guards its connections obey."""

    def __init__(self, app: Any, guards: Guards, **options: Any) -> None:
        super().__init__(app, http=GuardedProtocol, ws="none", interface="asgi3", **options)
        self.guards = guards


class _Flow(FlowControl):
    """uvicorn's, and says when it is read again: what a client could not send meanwhile is not held against it."""

    def __init__(self, transport: Any, on_read_again: Callable[[], None]) -> None:
        super().__init__(transport)
        self._on_read_again = on_read_again

    def resume_reading(self) -> None:
        if self.read_paused:
            self._on_read_again()
        super().resume_reading()


class GuardedProtocol(HttpToolsProtocol, Guarded):
    """One connection: uvicorn's, plus Host, size, framing and time."""

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
        self._hanging_up = False
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
                    at_the_start = self._seen == len(data)  # and yet no method: this is not HTTP at all
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
            self.deadline = self.loop.time() + self._patience()

    def _read_again(self) -> None:
        if self._watching:
            self.deadline = self.loop.time() + self._patience()

    def _patience(self) -> float:
        return self.limits.body_deadline if self._watching == _BODY else self.limits.header_deadline

    def _too_large(self) -> Refusal:
        return Refusal(431, f"The request line and header section may have {self.limits.max_header} bytes together.")

    def _new_parser(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)

    def _restart_without_upgrade(self) -> bytes:
        """The head again, as if no Upgrade were asked (RFC 9110 §7.8): llhttp would take the body for the new protocol."""
        version = self.parser.get_http_version().encode()
        head = [b"%b %b HTTP/%b\r\n" % (self.parser.get_method(), self.url, version)]
        head += [b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        self._upgrade_asked = False
        self._new_parser()
        return b"".join([*head, b"\r\n"])

    def _restart_with_known_method(self, data: bytes) -> bytes | None:
        """So that a method nobody knows is answered by the family whose URL it is: 405, its shape, its Allow."""
        match = _find_method(data) if self._seen == len(data) and self._unknown_method is None else None
        if match is None:
            return None
        self._unknown_method = match[1]
        self._new_parser()
        return _STAND_IN_METHOD + data[match.end(1) :]

    # --- what the parser says -----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._phase = _HEAD
        self._host = None
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._phase == _BODY:
            return  # a trailer: never a header of the request that is already being served (RFC 9110 §6.5.1)
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
            raise Refusal(501, "The only transfer coding known here is chunked (RFC 9112, section 6.1).")
        elif self.parser.get_http_version() != "1.1":
            raise Refusal(400, "Transfer-Encoding needs HTTP/1.1 (RFC 9112, section 6.1).")

    def on_headers_complete(self) -> None:
        parser, limit = self.parser, self.limits.max_header
        if (self._seen > limit or self._chunk > limit) and self._head_size() > limit:
            raise self._too_large()
        version = parser.get_http_version()
        if version != "1.1" and version != "1.0":
            raise Refusal(400, "HTTP/1.1 is spoken here.")
        if self._host is None and version == "1.1":
            # HTTP/1.0 knew no Host, and health probes still speak it: only 1.1 must have one (RFC 9112 §3.2)
            raise Refusal(400, "A request needs a Host header (RFC 9112, section 3.2).")
        if b"#" in self.url:
            raise Refusal(400, "A request target has no fragment (RFC 9112, section 3.2).")
        if parser.should_upgrade():
            if parser.get_method() == b"CONNECT":
                raise Refusal(405, "This is not a proxy.")
            self._upgrade_asked = True
            return
        super().on_headers_complete()
        scope: Any = self.scope  # ASGI's typed dict knows only its own keys
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
        """As uvicorn's, with the deadline in the place of its timer."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._refusal is not None:
            self._send_refusal(self._refusal)
        elif self._phase == _BODY:
            # Answered before its body was there: what still comes is read and dropped, but not for long.
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
        if self._hanging_up or self.write_deadline <= self.deadline:
            self.transport.abort()
        elif self._watching and self.flow.read_paused:
            self.deadline = now + self._patience()  # it is we who do not read
        elif self._watching == _HEAD:
            self._refuse(Refusal(408, "The header section did not arrive in time."))
        elif self._watching == _BODY:
            self._refuse(Refusal(408, "The body did not arrive in time."))
        else:
            # Nobody asked anything, so nobody is told 408: some clients would take it for the answer to their next request.
            self._hang_up(now)

    def shutdown(self) -> None:
        if self._hanging_up:
            self.transport.abort()
            return
        super().shutdown()
        scope: Any = self.scope  # None before the first request
        if scope and scope.get(STREAM):
            self.loop.call_later(_FAREWELL, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        self._refuse(Refusal(400, msg))

    def _refuse(self, refusal: Refusal) -> None:
        """Take no more input; answer now, or once what came before is answered."""
        self._refusal = refusal
        self.deadline = inf
        if self.guards.on_refused is not None:
            self.guards.on_refused(refusal.status)
        cycle: Any = self.cycle  # None before the first request, whatever uvicorn's annotation says
        if self._phase == _BODY:
            self._refuse_running(refusal)
        elif cycle is None or cycle.response_complete:
            self._send_refusal(refusal)

    def _refuse_running(self, refusal: Refusal) -> None:
        """The request is already with its family, which must learn that its body will not come."""
        cycle = self.cycle
        if self.pipeline:
            self.pipeline.popleft()  # it waits behind others and now never runs; they are answered first
            return
        answered = cycle.response_started
        cycle.disconnected = True
        cycle.message_event.set()
        if answered:
            self._hang_up(self.loop.time())
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
        self._hang_up(self.loop.time())

    def _hang_up(self, now: float) -> None:
        """Close, but not so abruptly that the last answer is lost; `expire` does the rest."""
        self._hanging_up = True
        self.deadline = now + _LINGER
        if self._refusal is not None and self.transport.can_write_eof():
            self.flow.resume_reading()
            self.transport.write_eof()
        else:
            self.transport.close()
