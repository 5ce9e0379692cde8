"""Makes spans that never contain the text of an error, which can contain personal data or an address."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer


@contextmanager
def make_span(
    tracer: Tracer, name: str, kind: SpanKind, attributes: Mapping[str, str], parent: Context | None = None
) -> Iterator[Span]:
    """Make a span for a block of code. If `parent` is None, the present span is its parent."""
    with tracer.start_as_current_span(
        name, parent, kind, attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield span
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(Status(StatusCode.ERROR))
            raise
