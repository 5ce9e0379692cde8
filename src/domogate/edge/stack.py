"""The outermost ASGI app, around all surfaces: request id, CORS, HEAD, health, metrics, answer to unexpected errors.

Every request passes through this app. For speed it reads the headers once and wraps `send` once; rare cases have separate
functions.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from time import perf_counter
from types import MappingProxyType
from typing import Any

import msgspec

from domogate.common.browsers import asks_for_html
from domogate.common.http_messages import Answer, Header, Request, make_answer, send_answer
from domogate.common.log import get_logger
from domogate.domain.faults import Internal
from domogate.edge.direct import Handler, print_headers
from domogate.edge.direct import Send as SendReply
from domogate.edge.metrics import Metrics
from domogate.edge.protocol import STREAM
from domogate.edge.request_ids import current_request_id, find_safe, next_request_id
from domogate.edge.slow_requests import SlowRequests
from domogate.ports import StoreUnavailable

Scope = Any
Receive = Any
Send = Any
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
FailureAnswer = Callable[[Internal], Answer]
"""Returns the answer to a failure: 503 if the failure is temporary, otherwise 500."""

OPERATION = "domogate.operation"
"""A key in the ASGI scope. Under it, an inner app stores the name of its operation ('E8') for the metrics."""
REQUEST_ID = "domogate.request_id"

_READ_HEADERS = frozenset((b"origin", b"x-request-id", b"access-control-request-method"))
_HEALTH = frozenset(("/healthz", "/readyz"))
GATEWAY_ID = b"x-gateway-id"
"""The header of /readyz with the id of this gateway. The database has this id in the list of running gateways."""
_LOGGED_PATH = 500
"""Number of bytes of a path that a log line shows."""
_CLIENT_GONE = 499
"""This status is counted but never sent: the client disconnected before the inner app had an answer."""

_VARY_ORIGIN: Header = (b"vary", b"Origin")
_EXPOSED: Header = (
    b"access-control-expose-headers",
    b"ETag, X-Request-Id, Retry-After, Deprecation, Sunset, Link, WWW-Authenticate, X-Fault, "
    b"RateLimit, RateLimit-Policy, X-RateLimit-Remaining, X-Quota-Remaining",
)
_PREFLIGHT: tuple[Header, ...] = (
    (b"vary", b"Access-Control-Request-Method, Access-Control-Request-Headers"),
    (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, PATCH, DELETE"),
    (
        b"access-control-allow-headers",
        b"Authorization, Ocp-Apim-Subscription-Key, Content-Type, Accept, Idempotency-Key, If-None-Match, "
        b"Last-Event-ID, X-Request-Id",
    ),
    (b"access-control-max-age", b"600"),
)
_JSON: Header = (b"content-type", b"application/json")
_NO_STORE: Header = (b"cache-control", b"no-store")
_FAILED = "the gateway failed on this request; its log has the reason under the X-Request-Id of this answer"

log = get_logger("domogate.edge")
access = get_logger("domogate.access")


class Edge:
    """The outermost ASGI app: it gets each request first, and calls `app` for everything that it does not answer itself."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        is_allowed_origin: Callable[[bytes], Awaitable[bool]],
        is_ready: Callable[[], bool],
        metrics: Metrics,
        access_log: bool,
        surfaces: frozenset[str] = frozenset(),
        handlers: Mapping[tuple[str, bytes], Handler] = MappingProxyType({}),
        failure_answers: Mapping[bytes, FailureAnswer] = MappingProxyType({}),
        find_warnings: Callable[[], Iterable[str]] = tuple,
        gateway_id: str = "",
        slow: SlowRequests | None = None,
    ) -> None:
        """`surfaces`: the first path segments that the metrics may use as names of requests.

        Some requests reach no operation. In the metrics, the name of such a request is its first path segment, if this segment
        is in `surfaces`. Otherwise its name is "other". The keys of `handlers`, which answer direct requests, are a method and
        a first path segment, or a method and a whole path. `failure_answers` maps a first path segment to the function that
        answers a failure in the error shape of this surface. Failures on other paths have shape B (Decision 0013).
        `find_warnings` returns short codes for /readyz, which everybody can read. /readyz has `gateway_id` in a header, so that
        `domogate doctor` knows which gateway answers.
        """
        self._app = app
        self._is_allowed_origin = is_allowed_origin
        self._is_ready = is_ready
        self._metrics = metrics
        self._access_log = access_log
        self._surfaces = surfaces
        self._handlers = dict(handlers)
        self._failure_answers = dict(failure_answers)
        self._find_warnings = find_warnings
        self._identity = (_JSON, _NO_STORE, *([(GATEWAY_ID, gateway_id.encode())] if gateway_id else []))
        self._slow = slow

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        self._metrics.in_flight += 1
        given_id, origin, wanted_method = _read_headers(scope["headers"])
        request_id = given_id or next_request_id()
        scope[REQUEST_ID] = text_id = request_id.decode()
        current_request_id.set(text_id)
        allowed, added, status = False, _added_headers(request_id), 0

        def tagged_send(message: Any) -> Any:
            # Not a coroutine function: it returns the server's awaitable, which is faster.
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if scope.get(STREAM):
                    self._metrics.in_flight -= 1  # A stream has its answer now, and can stay open for hours.
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            return send(message)

        try:
            if origin is not None and await self._is_allowed_origin(origin):
                allowed, added = True, _added_headers(request_id, origin)
            method = scope["method"]
            if wanted_method is not None and origin is not None and method == "OPTIONS":
                # An unknown origin gets 204 too, but without permission. The browser then refuses the request.
                await _answer(tagged_send, 204, _PREFLIGHT if allowed else _PREFLIGHT[:1])
            elif scope["path"] in _HEALTH:
                await self._answer_health(scope, tagged_send)
            elif method == "HEAD":
                # A copy, because the server needs the original method.
                inner = {**scope, "method": "GET"}
                await self._app(inner, receive, _bodiless(tagged_send))
                scope[OPERATION] = inner.get(OPERATION)
            else:
                await self._app(scope, receive, tagged_send)
        except Exception as error:
            if status:
                raise  # A part of the answer was already sent: the server logs the error and closes the connection.
            log.exception("request failed", method=scope["method"], path=_printable_path(scope.get("raw_path") or b""))
            await self._send_failure(scope, tagged_send, error)
        finally:
            client = scope.get("client")
            asked = scope["method"], scope.get("raw_path") or b"", client[0] if client else None
            operation = scope.get(OPERATION) or self._surface_of(scope["path"])
            self._end(started, operation, status, asked, is_stream=scope.get(STREAM, False))
        if not status:
            scope.pop(STREAM, None)  # The request is counted already.
            # The server drops this answer if the client has disconnected.
            await self._send_failure(scope, tagged_send)

    # --- direct requests ----------------------------------------------------------------------------------------------

    def find_handler(self, method: str, url: bytes) -> Handler | None:
        # Another form of URL (absolute, or with bytes that are not ASCII) goes through ASGI.
        segments = url.split(b"/", 2)
        if len(segments) != 3 or segments[0] or not url.isascii():
            return None
        return self._handlers.get((method, segments[1])) or self._handlers.get((method, url))

    async def answer(self, request: Request, handler: Handler, send: SendReply) -> None:
        """Answer a direct request with this handler. Requests through ASGI are answered by `__call__`."""
        started, status = perf_counter(), 0
        self._metrics.in_flight += 1
        read = request.notes.get("edge")
        if read is None:
            read = request.notes["edge"] = _read_headers(request.headers)
        given_id, origin, _ = read
        request_id: bytes = given_id or next_request_id()
        current_request_id.set(request_id.decode())
        added = b"x-request-id: " + request_id + b"\r\nvary: Origin\r\n"
        try:
            if origin is not None and await self._is_allowed_origin(origin):
                added = print_headers(_added_headers(request_id, origin))
            answer = await handler(request)
            printed = answer.printed_headers
            if not printed:
                printed = answer.printed_headers = print_headers(answer.headers)
            status, body = answer.status, answer.body
        except Exception as error:
            log.exception("request failed", method=request.method, path=_printable_path(request.raw_path))
            failed = self._build_failure(request.raw_path, error)
            status, printed, body = failed.status, print_headers(failed.headers), failed.body
        finally:
            operation = request.operation or self._surface_of(request.raw_path.decode("ascii", "replace"))
            self._end(started, operation, status, (request.method, request.raw_path, request.address))
        send((status, printed + added, body))

    # --- failures -----------------------------------------------------------------------------------------------------

    async def _send_failure(self, scope: Scope, send: Send, error: Exception | None = None) -> None:
        failed = self._build_failure(scope.get("raw_path") or b"", error)
        await send_answer(_bodiless(send) if scope["method"] == "HEAD" else send, failed)

    def _build_failure(self, raw_path: bytes, error: Exception | None) -> Answer:
        said = error.public_message if isinstance(error, StoreUnavailable) else _FAILED
        fault = Internal(said, is_temporary=isinstance(error, StoreUnavailable))
        return self._failure_answers.get(_first_segment(raw_path), _build_shape_b)(fault)

    # --- health -------------------------------------------------------------------------------------------------------

    async def _answer_health(self, scope: Scope, send: Send) -> None:
        scope[OPERATION] = scope["path"][1:]
        if scope["method"] not in ("GET", "HEAD"):
            await _answer(send, 405, ((b"allow", b"GET, HEAD"),))
        elif scope["path"] == "/healthz":
            await _answer(send, 200, (_JSON, _NO_STORE), b'{"status":"alive"}')
        elif self._is_ready():
            warnings = list(self._find_warnings())
            body = {"status": "ready", "warnings": warnings} if warnings else {"status": "ready"}
            await _answer(send, 200, self._identity, msgspec.json.encode(body))
        else:
            await _answer(send, 503, (*self._identity, (b"retry-after", b"1")), b'{"status":"not ready"}')

    # --- after the answer ---------------------------------------------------------------------------------------------

    def _surface_of(self, path: str) -> str:
        segment = path[1:].split("/", 1)[0]
        return segment if segment in self._surfaces else "other"

    def _end(
        self, started: float, operation: str, status: int, asked: tuple[str, bytes, str | None], *, is_stream: bool = False
    ) -> None:
        """Count and log a request. `asked` is its method, its path and the address that it came from."""
        seconds = perf_counter() - started
        if not (is_stream and status):
            self._metrics.in_flight -= 1
        status = status or _CLIENT_GONE
        # The duration of a stream does not measure the speed of the gateway.
        self._metrics.count_request(operation, status, None if is_stream else seconds)
        if (slow := self._slow) is not None:
            if seconds > slow.limit and not is_stream:
                slow.log(asked[0], operation, status, seconds)
            elif slow.waits.of_requests:
                slow.forget()
        if self._access_log:
            # Without the query string and the headers, because these can contain keys and tokens.
            method, path, address = asked
            access.info(
                "request",
                method=method,
                path=_printable_path(path),
                status=status,
                ms=round(seconds * 1000, 2),
                client=address or None,
                operation=operation,
            )


def _read_headers(headers: Sequence[Header]) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Return the request id of the client, the header Origin, and the method that a preflight request asks for.

    The request id is returned only if it is short and has only letters, digits, dots, dashes and underscores.
    """
    origin = wanted_method = given_id = None
    for name, value in headers:
        if name in _READ_HEADERS:
            if name == b"origin":
                origin = value
            elif name == b"x-request-id":
                given_id = value
            else:
                wanted_method = value
    return given_id if given_id is not None and find_safe(given_id) else None, origin, wanted_method


def _added_headers(request_id: bytes, allowed_origin: bytes | None = None) -> tuple[Header, ...]:
    """Return the headers that every answer gets. They allow pages of `allowed_origin`, if it is given, to read the answer."""
    # Vary is also needed for requests without Origin: a cache must not use that answer for a request with an Origin.
    added: tuple[Header, ...] = ((b"x-request-id", request_id), _VARY_ORIGIN)
    if allowed_origin is None:
        return added
    # No wildcard and no credentials: tokens and keys are in headers, not in cookies.
    return (*added, (b"access-control-allow-origin", allowed_origin), _EXPOSED)


class Surfaces:
    """Passes a request to the surface that its first path segment names."""

    def __init__(self, surfaces: Mapping[bytes, ASGIApp], not_found_page: ASGIApp) -> None:
        """`not_found_page` answers a browser if no surface has the path. Other clients get JSON."""
        self._surfaces = dict(surfaces)
        self._not_found_page = not_found_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._surfaces.get(_first_segment(scope["raw_path"]))
        if app is None:
            app = self._not_found_page if asks_for_html(scope) else nothing_here
        await app(scope, receive, send)


async def nothing_here(_scope: Scope, _receive: Receive, send: Send) -> None:
    await _answer(send, 404, (_JSON,), b'{"statusCode":404,"message":"nothing has this URL; /openapi lists all operations"}')


def _first_segment(raw_path: bytes) -> bytes:
    first = raw_path.split(b"/", 2)[1:2]
    return first[0] if first else b""


def _build_shape_b(fault: Internal) -> Answer:
    status, wait = (503, {"retry-after": "1"}) if fault.is_temporary else (500, {})
    body = msgspec.json.encode({"statusCode": status, "message": fault.message})
    return make_answer(status, body, {"cache-control": "no-store", **wait}, "application/json")


def _printable_path(raw_path: bytes) -> str:
    """Return the path for a log line: shortened, and still percent-encoded. So it has no line ends or control characters."""
    return raw_path[:_LOGGED_PATH].decode("ascii", "replace")


def _bodiless(send: Send) -> Send:
    """Wrap `send` for HEAD.

    The client gets the same headers as for GET, and no body. The answer ends, even if the answer to GET is a stream.
    """
    complete = False

    async def send_head(message: Any) -> None:
        nonlocal complete
        if message["type"] == "http.response.start":
            await send(message)
        elif not complete:
            complete = True
            await send({"type": "http.response.body", "body": b""})

    return send_head


async def _answer(send: Send, status: int, headers: tuple[Header, ...], body: bytes = b"") -> None:
    length: tuple[Header, ...] = () if status == 204 else ((b"content-length", b"%d" % len(body)),)
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *length]})
    await send({"type": "http.response.body", "body": body})
