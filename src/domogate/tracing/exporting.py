"""Sends spans to the collector, on a separate thread. If the collector fails, spans are dropped, but no request fails."""

import logging
from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from domogate.common.log import get_logger

MOST_WAITING = 2_048
"""The largest number of spans that wait for the collector. Further spans replace the oldest spans."""
_BATCH = 512
_SEND_EVERY = 1.0
SEND_SECONDS = 5.0
"""The longest time in seconds for sending one batch, with all attempts."""

_log = get_logger(__name__)


class QuietExporter(SpanExporter):
    """Passes spans to another exporter. It logs one line when the collector fails, and one when it works again."""

    def __init__(self, exporter: SpanExporter, endpoint: str) -> None:
        self._exporter = exporter
        self._endpoint = endpoint
        self._lost = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is not SpanExportResult.SUCCESS:
            if not self._lost:
                _log.warning("the collector of traces does not accept spans; they are dropped", endpoint=self._endpoint)
            self._lost += len(spans)
        elif self._lost:
            _log.info("the collector of traces accepts spans again", dropped=self._lost)
            self._lost = 0
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


def build_processor(exporter: SpanExporter, endpoint: str) -> BatchSpanProcessor:
    """Return a processor that sends spans every second from its own thread. Also switch off log lines of OpenTelemetry."""
    # The library logs each failed attempt with a traceback. `QuietExporter` says the same in one line.
    library = logging.getLogger("opentelemetry")
    library.addHandler(logging.NullHandler())
    library.propagate = False
    return BatchSpanProcessor(
        QuietExporter(exporter, endpoint),
        max_queue_size=MOST_WAITING,
        schedule_delay_millis=1_000 * _SEND_EVERY,
        max_export_batch_size=_BATCH,
    )
