"""The metrics of a member of a cluster."""

from collections.abc import Callable
from math import nan

from domogate.edge.metrics import Metrics
from domogate.services.cluster import ClusterStatus


def register_cluster_metrics(metrics: Metrics, read_status: Callable[[], ClusterStatus | None]) -> None:
    def gauge(name: str, unit: str, about: str, value: Callable[[ClusterStatus], float]) -> None:
        metrics.gauge(
            f"domogate_cluster_{name}", unit, about, lambda: nan if (status := read_status()) is None else value(status)
        )

    gauge(
        "members",
        "gateways",
        "Gateways of the cluster whose lease has not ended.",
        # A gateway that cannot read the database keeps the members of its last renewal.
        lambda status: sum(live.lease_left > 0 for live in status.members),
    )
    gauge("held_shards", "shards", "Shards that this gateway holds.", lambda status: status.held_shards)
    gauge(
        "knowledge_age_seconds",
        "seconds",
        "Time since this gateway last knew all changes of the other gateways.",
        lambda status: status.knowledge_age,
    )
    gauge("nats_connected", "0 or 1", "1 while the gateway has a connection to NATS.", lambda status: not status.nats_problem)
    metrics.counter(
        "domogate_cluster_fenced_writes",
        "writes",
        "Writes that the database refused, because another gateway had taken the shard.",
        lambda: 0 if (status := read_status()) is None else status.fenced_writes,
    )
