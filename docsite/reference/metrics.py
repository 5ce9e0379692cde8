"""The table of docs/metrics.md: each metric with its type, unit, labels and meaning."""

import tempfile
from pathlib import Path

from docsite.reference.markdown import escape, write_table
from domogate.app.cluster_metrics import register_cluster_metrics
from domogate.app.gateway import Gateway
from domogate.app.server_metrics import register_certificate, register_server_metrics
from domogate.edge.loop_lag import LoopLag
from domogate.edge.metrics import Metrics
from domogate.edge.server import Connections
from domogate.settings import Settings


def register_all() -> Metrics:
    """Return all metrics that a gateway can have: with backups, in a cluster, and with TLS."""
    with tempfile.TemporaryDirectory(prefix="domogate-metrics-") as folder:
        metrics = Gateway(Settings(data=Path(folder), backup_every=86_400.0)).metrics
    register_cluster_metrics(metrics, lambda: None)
    register_server_metrics(metrics, Connections(1, 1, ()), LoopLag())
    register_certificate(metrics, lambda: 0.0)
    return metrics


def write_metrics(_: str) -> str:
    rows = [
        (f"`{one.name}`", one.kind, one.unit, ", ".join(f"`{label}`" for label in one.labels), escape(one.text))
        for one in register_all().describe()
    ]
    return write_table(("metric", "type", "unit", "labels", "meaning"), rows)
