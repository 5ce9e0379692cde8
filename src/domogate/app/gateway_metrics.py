"""The metrics of a gateway that come from its parts, and the counters for the overview of operators."""

from collections.abc import Callable, Iterator
from math import nan
from typing import TYPE_CHECKING

from domogate.edge.metrics import BOUNDS, Metrics
from domogate.families import FAMILIES
from domogate.services.cluster import ClusterStatus
from domogate.services.monitoring.counters import Counters, RequestCounts
from domogate.services.monitoring.monitor import Monitor

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway


def register_metrics(gateway: "Gateway") -> None:
    metrics = gateway.metrics
    metrics.gauge(
        "domogate_world_modules", "Modules that the read model holds in memory", lambda: gateway.read_model.held_modules
    )
    metrics.gauge("domogate_event_streams", "Event streams that are open", lambda: gateway.hub.open_streams)
    metrics.counter("domogate_events_streamed", "Events that were passed to streams", lambda: gateway.hub.sent)
    metrics.gauge("domogate_webhooks", "Webhooks that this gateway delivers", lambda: gateway.dispatcher.webhooks)
    metrics.counter(
        "domogate_webhook_deliveries",
        "Attempts to deliver by result; dead counts events that were given up",
        lambda: gateway.dispatcher.counters.by_outcome(),
        ("outcome",),
    )
    metrics.gauge(
        "domogate_pruning_stopped",
        "1 while nothing is pruned because the clock may be wrong",
        lambda: not gateway.clock_check.is_right,
    )
    metrics.counter("domogate_commits", "Commits to the store", lambda: gateway.store.commits)
    metrics.counter(
        "domogate_tickets",
        "Requests to redeem tickets and to fetch pictures, by result",
        lambda: gateway.redemption.outcomes,
        ("what", "outcome"),
    )
    if gateway.settings.cluster is not None:
        register_cluster_metrics(metrics, gateway.placement.read_status)


def register_cluster_metrics(metrics: Metrics, read_status: Callable[[], ClusterStatus | None]) -> None:
    def gauge(name: str, about: str, value: Callable[[ClusterStatus], float]) -> None:
        metrics.gauge(f"domogate_cluster_{name}", about, lambda: nan if (status := read_status()) is None else value(status))

    gauge("members", "Members of the cluster whose lease has not ended", lambda status: len(status.members))
    gauge("held_shards", "Shards that this gateway holds", lambda status: status.held_shards)
    gauge(
        "knowledge_age_seconds",
        "Seconds since this gateway last knew all changes of the other gateways",
        lambda status: status.knowledge_age,
    )
    gauge("nats_connected", "1 while there is a connection to NATS", lambda status: not status.nats_problem)
    metrics.counter(
        "domogate_cluster_fenced_writes",
        "Writes that were refused, because another gateway had taken the shard",
        lambda: 0 if (status := read_status()) is None else status.fenced_writes,
    )


def build_monitor(gateway: "Gateway") -> Monitor:
    def read_counters() -> Counters:
        return Counters(
            count_requests(gateway.metrics),
            gateway.hub.sent,
            {outcome: int(count) for (outcome,), count in gateway.dispatcher.counters.by_outcome().items()},
            gateway.sessions.refused_logins,
        )

    return Monitor(gateway.store, gateway.clock, read_counters=read_counters, count_streams=lambda: gateway.hub.open_streams)


def count_requests(metrics: Metrics) -> dict[str, RequestCounts]:
    """Return the counts of requests of each API. A count of an API is the sum of the counts of its operations."""
    found: dict[str, RequestCounts] = {}

    def counts_of(operation: str) -> RequestCounts:
        api = _API_OF.get(operation) or operation.partition(".")[0]
        return found.setdefault(api, RequestCounts({}, [0] * (len(BOUNDS) + 1)))

    for (operation, status), count in metrics.counts.items():
        statuses = counts_of(operation).statuses
        statuses[status] = statuses.get(status, 0) + count
    for operation, durations in metrics.durations.items():
        counts = counts_of(operation)
        counts.durations = [before + more for before, more in zip(counts.durations, durations.buckets, strict=True)]
    return found


def _name_operations() -> Iterator[tuple[str, str]]:
    """Yield pairs: a name in the metrics, and the name of its family.

    The names in the metrics are the ids of the family's operations, and the first path segment that these operations share.
    """
    for family in FAMILIES:
        yield family.root, family.slug
        yield from ((operation.id, family.slug) for operation in family.operations)


_API_OF = {**dict(_name_operations()), "manage": "management"}
