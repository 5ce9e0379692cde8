"""A collector of traces: an HTTP server that decodes what the gateway sends (OTLP over HTTP)."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from support.gateway import eventually


class ReceivedSpan(msgspec.Struct, frozen=True):
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    instance: str
    attributes: dict[str, str]
    events: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    """The ids of the traces and spans to which it has links."""


class Collector:
    """Keeps the spans that arrive. Use it as a context manager."""

    def __init__(self) -> None:
        self.spans: list[ReceivedSpan] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.spans += _decode(body) if self.path == "/v1/traces" else []
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/traces"

    def __enter__(self) -> "Collector":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def of_trace(self, trace_id: str) -> dict[str, list[ReceivedSpan]]:
        """Return the spans of a trace by their names."""
        found: dict[str, list[ReceivedSpan]] = {}
        for span in tuple(self.spans):
            if span.trace_id == trace_id:
                found.setdefault(span.name, []).append(span)
        return found

    def wait_for(self, trace_id: str, *names: str) -> dict[str, list[ReceivedSpan]]:
        """Wait until the trace has spans with these names."""
        eventually(lambda: self.of_trace(trace_id).keys() >= set(names), f"the trace has {names}")
        return self.of_trace(trace_id)


def ids_of(spans: list[ReceivedSpan]) -> set[str]:
    return {span.span_id for span in spans}


def parents_of(spans: list[ReceivedSpan]) -> set[str]:
    return {span.parent_id for span in spans}


def _decode(body: bytes) -> list[ReceivedSpan]:
    request = ExportTraceServiceRequest.FromString(body)
    spans = []
    for resource in request.resource_spans:
        of_resource = {one.key: one.value.string_value for one in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                attributes = {one.key: one.value.string_value or str(one.value.int_value) for one in span.attributes}
                spans.append(
                    ReceivedSpan(
                        span.name,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        of_resource["service.instance.id"],
                        attributes,
                        tuple(event.name for event in span.events),
                        tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
                    )
                )
    return spans
