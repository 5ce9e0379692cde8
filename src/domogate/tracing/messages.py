"""Spans of orders and questions between gateways. The context of a trace travels in the headers of NATS messages."""

from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager

from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from domogate.tracing.spans import make_span

_propagator = TraceContextTextMapPropagator()


class MessageTraces:
    """Makes a span for each order and question to another gateway, and for each message that this gateway answers.

    Implements MessageTrace.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    @contextmanager
    def ask(self, subject: str) -> Iterator[dict[str, str]]:
        with make_span(self._tracer, "nats request", SpanKind.CLIENT, _describe(subject)):
            headers: dict[str, str] = {}
            _propagator.inject(headers)
            yield headers

    async def answer(self, subject: str, headers: Mapping[str, str] | None, work: Awaitable[None]) -> None:
        carrier = {name: value for name, value in (headers or {}).items() if name == "traceparent"}
        parent = _propagator.extract(carrier, Context())
        with make_span(self._tracer, "nats answer", SpanKind.SERVER, _describe(subject), parent):
            await work


def _describe(subject: str) -> dict[str, str]:
    return {"messaging.system": "nats", "messaging.destination.name": subject}
