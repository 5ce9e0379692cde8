"""The metrics of the HTTP server and of its process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from domogate.edge.certificates import Tls
from domogate.edge.loop_lag import LoopLag
from domogate.edge.metrics import Metrics
from domogate.edge.server import Connections
from domogate.settings import Settings


@contextmanager
def measure_server(settings: Settings, metrics: Metrics, connections: Connections, tls: Tls | None) -> Iterator[None]:
    """Register the metrics. If a port for metrics is set, also measure the event loop until the `with` block ends."""
    lag = LoopLag()
    register_server_metrics(metrics, connections, lag)
    if tls is not None:
        register_certificate(metrics, lambda: tls.end)
    if settings.metrics_port is not None:
        lag.start()
    try:
        yield
    finally:
        lag.stop()


def register_server_metrics(metrics: Metrics, connections: Connections, lag: LoopLag) -> None:
    metrics.gauge("domogate_connections", "connections", "Open connections.", lambda: len(connections))
    metrics.counter(
        "domogate_refused_connections",
        "connections",
        "Connections that were refused because of a limit. The label `limit` has the name of the setting with this limit, "
        "or the value `system` if the operating system did not accept the connection.",
        lambda: connections.refused,
        ("limit",),
    )
    metrics.gauge(
        "domogate_event_loop_lag_seconds",
        "seconds",
        "Longest delay of a timer of the event loop in the last minute.",
        lag.longest,
    )


def register_certificate(metrics: Metrics, read_end: Callable[[], float]) -> None:
    metrics.gauge(
        "domogate_tls_certificate_end_timestamp_seconds",
        "seconds",
        "End of the certificate that new connections get, as seconds since 1970. Only with TLS.",
        read_end,
    )
