"""Spans of webhook deliveries. The delivery of an event belongs to the trace of the command that caused the event."""

from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Tracer,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from domogate.domain.events import Change, StateChanged
from domogate.domain.states import Report
from domogate.ports import Delivered, WebhookSender
from domogate.tracing.spans import make_span

_MOST = 10_000
"""The largest number of changes whose traces are remembered. If there are more, the trace of the oldest one is forgotten."""

K = TypeVar("K")

_propagator = TraceContextTextMapPropagator()


class ChangeContexts:
    """Remembers the trace of each state that a device confirmed.

    Until the report with this state is stored, the trace is found by the report. Later it is found by the cursor of the event.
    """

    def __init__(self) -> None:
        self._of_report: dict[tuple[str, float], SpanContext] = {}
        self._of_cursor: dict[int, SpanContext] = {}

    def remember(self, report: Report) -> None:
        """Remember that the report belongs to the present trace."""
        context = get_current_span().get_span_context()
        if context.trace_flags.sampled:
            _put(self._of_report, (report.module_id, report.at), context)

    def apply(self, changes: Sequence[Change]) -> None:
        """Remember the traces of stored reports by the cursors of their changes. This method is a listener of the store."""
        for change in changes:
            event = change.event
            if isinstance(event, StateChanged) and (event.module_id, event.at) in self._of_report:
                _put(self._of_cursor, change.cursor, self._of_report.pop((event.module_id, event.at)))

    def find(self, message_id: str) -> Context:
        """Return the trace context for the delivery with this `webhook-id` (it ends with the cursor of the event).

        If no trace is remembered for this cursor, the context is empty.
        """
        cursor = message_id.rpartition("_")[2]
        found = self._of_cursor.get(int(cursor)) if cursor.isdecimal() else None
        return Context() if found is None else set_span_in_context(NonRecordingSpan(found), Context())


def _put(contexts: dict[K, SpanContext], key: K, context: SpanContext) -> None:
    contexts[key] = context
    if len(contexts) > _MOST:
        del contexts[next(iter(contexts))]


class TracedSender:
    """Makes a span for each delivery. The id of the span is sent in the header `traceparent`. Implements WebhookSender."""

    def __init__(self, sender: WebhookSender, tracer: Tracer, contexts: ChangeContexts) -> None:
        self._sender = sender
        self._tracer = tracer
        self._contexts = contexts

    async def check_url(self, url: str) -> None:
        await self._sender.check_url(url)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Delivered:
        # Only the host: the path and the query of a receiver can contain secrets.
        attributes = {"http.request.method": "POST", "server.address": urlsplit(url).hostname or ""}
        parent = self._contexts.find(headers.get("webhook-id", ""))
        with make_span(self._tracer, "webhook delivery", SpanKind.CLIENT, attributes, parent) as span:
            carrier = dict(headers)
            _propagator.inject(carrier)
            delivered = await self._sender.post(url, body, carrier)
            span.set_attribute("http.response.status_code", delivered.status)
            return delivered
