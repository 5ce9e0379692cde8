"""Spans of HTTP requests. A span has the path of the operation, and neither parameters nor headers of the request."""

from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any

from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer, get_current_span, use_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from domogate.common.http_messages import Answer, Header, Receive, Request, Scope, Send

Handler = Callable[[Request], Coroutine[Any, Any, Answer]]
ASGIApp = Callable[[Any, Any, Any], Awaitable[None]]

_OPERATION, _STREAM = "domogate.operation", "domogate.stream"
"""Keys of the ASGI scope that the surfaces set."""
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_PARENT = b"traceparent"
"""The header with the trace of the client.

The header `tracestate` is not passed on: a client could send 8 KB in it to the receivers of webhooks.
"""
_propagator = TraceContextTextMapPropagator()


class RequestTraces:
    """Makes a span for each request.

    If clients are trusted, the span continues the trace in the header `traceparent`. Otherwise it has a link to that trace.
    """

    def __init__(
        self,
        tracer: Tracer,
        routes: Mapping[str, str],
        roots: Collection[str],
        find_request_id: Callable[[], str | None],
        *,
        trusts_clients: bool,
    ) -> None:
        """`routes` has the path of each operation. `roots` has the first path segments of all surfaces.

        If `trusts_clients` is true, a request continues the trace of its client. So the client chooses the id of the trace: it
        can mix its spans with the spans of others, or choose what is recorded. If `trusts_clients` is false, each request has a
        new trace (Decision 0137).
        """
        self._tracer = tracer
        self._routes = routes
        self._roots = frozenset(roots)
        self._find_request_id = find_request_id
        self._trusts_clients = trusts_clients

    def wrap_handler(self, handler: Handler) -> Handler:
        """Return a handler of direct requests that makes a span for each request, and calls `handler` inside the span."""

        async def answer(request: Request) -> Answer:
            span, status = self._begin(request.method, request.headers), 500
            try:
                with use_span(span, record_exception=False, set_status_on_exception=False):
                    found = await handler(request)
                    status = found.status
                    return found
            finally:
                self._end(span, request.method, request.operation, request.raw_path, status)

        return answer

    def wrap(self, app: ASGIApp) -> ASGIApp:
        """Return an ASGI application that makes a span for each request, and calls `app` inside the span.

        The span of an event stream ends when the stream begins, because a stream can stay open for hours.
        """

        async def traced(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            method, raw_path = scope["method"], scope.get("raw_path") or b""
            span, status = self._begin(method, scope["headers"]), 0

            def send_noting(message: Any) -> Awaitable[None]:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                    if scope.get(_STREAM):
                        self._end(span, method, scope.get(_OPERATION), raw_path, status)
                return send(message)

            try:
                with use_span(span, record_exception=False, set_status_on_exception=False):
                    await app(scope, receive, send_noting)
            finally:
                if span.is_recording():
                    self._end(span, method, scope.get(_OPERATION), raw_path, status or 500)

        return traced

    def _begin(self, method: str, headers: Sequence[Header]) -> Span:
        parent = next((value for name, value in headers if name == _PARENT), None)
        context = None if parent is None else _propagator.extract({"traceparent": parent.decode("latin-1")})
        if context is None or self._trusts_clients:
            return self._tracer.start_span(_known(method), context, SpanKind.SERVER)
        of_client = get_current_span(context).get_span_context()
        links = [Link(of_client)] if of_client.is_valid else None
        return self._tracer.start_span(_known(method), None, SpanKind.SERVER, links=links)

    def _end(self, span: Span, method: str, operation: str | None, raw_path: bytes, status: int) -> None:
        if span.is_recording():
            route = self._routes.get(operation or "") or self._find_root(raw_path)
            span.update_name(f"{_known(method)} {route}")
            span.set_attributes(
                {
                    "http.request.method": _known(method),
                    "http.route": route,
                    "http.response.status_code": status,
                    "domogate.operation": operation or "",
                    "domogate.request_id": self._find_request_id() or "",
                }
            )
            if status >= 500:
                span.set_status(Status(StatusCode.ERROR))
        span.end()

    def _find_root(self, raw_path: bytes) -> str:
        root = raw_path.split(b"/", 2)[1:2]
        name = root[0].decode("latin-1") if root else ""
        return f"/{name}" if name in self._roots else "/"


def _known(method: str) -> str:
    return method if method in _METHODS else "_OTHER"
