"""Registers the metrics of a gateway, and builds the counters for the overview that operators see."""

import platform
from collections.abc import Callable, Iterator, Mapping
from math import nan
from typing import TYPE_CHECKING

from domogate import __version__
from domogate.app.cluster_metrics import register_cluster_metrics
from domogate.app.maintenance import register_backup_metrics
from domogate.app.snapshot import Snapshot
from domogate.domain.figures import StoreFigures
from domogate.edge.metrics import BOUNDS, Labelled, Metrics
from domogate.families import FAMILIES
from domogate.services.driving.supervisor import DriverCondition, DriverHealth
from domogate.services.monitoring.counters import Counters, RequestCounts
from domogate.services.monitoring.monitor import Monitor

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway


_VERSIONS: Labelled = {(__version__, platform.python_version()): 1}


def _label(counts: Mapping[str, int]) -> Labelled:
    return {(name or "none",): count for name, count in counts.items()}


def register_metrics(gateway: "Gateway") -> None:
    metrics = gateway.metrics
    snapshot = Snapshot(gateway)
    metrics.prepare = snapshot.renew
    _register_state(gateway, metrics)
    _register_figures(snapshot, metrics)
    _register_drivers(snapshot, metrics)
    _register_counters(gateway, metrics)
    if (backups := gateway.maintenance.backups) is not None:
        register_backup_metrics(metrics, backups)
    if gateway.settings.cluster is not None:
        register_cluster_metrics(metrics, gateway.placement.read_status)


def _register_state(gateway: "Gateway", metrics: Metrics) -> None:
    gauge = metrics.gauge
    gauge(
        "domogate_build_info",
        "always 1",
        "Always 1. The labels have the versions of Domogate and Python.",
        lambda: _VERSIONS,
        ("version", "python_version"),
    )
    gauge("domogate_ready", "0 or 1", "1 while the gateway accepts requests, as /readyz shows.", lambda: gateway.is_ready)
    gauge("domogate_database_reachable", "0 or 1", "1 while the database answers.", lambda: gateway.store.is_reachable)
    gauge(
        "domogate_world_modules",
        "modules",
        "Modules that the read model has in memory.",
        lambda: gateway.read_model.held_modules,
    )
    gauge("domogate_event_streams", "streams", "Open event streams.", lambda: gateway.hub.open_streams)
    gauge(
        "domogate_webhooks",
        "webhooks",
        "Webhooks that this gateway delivers. Ended webhooks are not counted.",
        lambda: gateway.dispatcher.webhooks,
    )
    gauge(
        "domogate_pruning_stopped",
        "0 or 1",
        "1 while old data is not deleted, because the clock may be wrong.",
        lambda: not gateway.clock_check.is_right,
    )


def _register_counters(gateway: "Gateway", metrics: Metrics) -> None:
    counter = metrics.counter
    counter(
        "domogate_orders",
        "orders",
        "Orders (commands to devices) that this gateway ended, by result.",
        lambda: _label(gateway.driving.count_orders()),
        ("result",),
    )
    counter("domogate_events_streamed", "events", "Events that were sent to event streams.", lambda: gateway.hub.sent)
    counter(
        "domogate_webhook_deliveries",
        "attempts",
        "Attempts to deliver an event, by outcome. The outcome `dead` counts events whose delivery was given up.",
        lambda: gateway.dispatcher.counters.by_outcome(),
        ("outcome",),
    )
    counter("domogate_commits", "commits", "Commits to the database.", lambda: gateway.store.commits)
    counter(
        "domogate_tickets",
        "requests",
        "Requests to redeem tickets and to fetch pictures, by outcome.",
        lambda: gateway.redemption.outcomes,
        ("what", "outcome"),
    )


def _register_figures(snapshot: Snapshot, metrics: Metrics) -> None:
    def gauge(name: str, unit: str, about: str, value: Callable[[StoreFigures], float]) -> None:
        metrics.gauge(name, unit, about, lambda: nan if snapshot.figures is None else value(snapshot.figures))

    gauge("domogate_plants", "plants", "Plants in the database, without removed plants.", lambda figures: figures.plants)
    gauge(
        "domogate_modules",
        "modules",
        "Modules in the database, without modules of removed plants.",
        lambda figures: figures.modules,
    )
    metrics.gauge(
        "domogate_modules_offline",
        "modules",
        "Modules in the database that are offline, by reason.",
        lambda: {} if snapshot.figures is None else _label(snapshot.figures.absent),
        ("reason",),
    )
    gauge("domogate_orders_open", "orders", "Orders in the database that have not ended.", lambda figures: figures.open_orders)
    gauge(
        "domogate_webhooks_failing",
        "webhooks",
        "Webhooks in the database whose receiver is unavailable (no answer, 429, 502, 503 or 504). A webhook that only waits"
        " until the user renews the password or accepts the terms is not counted.",
        lambda figures: figures.failing_webhooks,
    )
    gauge(
        "domogate_webhook_events_pending",
        "events",
        "Pending deliveries in the database: events that a receiver has refused, and later events of the same module that wait"
        " for them.",
        lambda figures: figures.pending,
    )
    gauge(
        "domogate_webhook_oldest_pending_seconds",
        "seconds",
        "The longer of two times in the database: the age of the oldest pending delivery, and the longest time for which a"
        " receiver has been unavailable. 0 if there is neither.",
        lambda figures: 0.0 if figures.oldest_pending is None else max(0.0, figures.at - figures.oldest_pending),
    )
    gauge(
        "domogate_webhook_dead_letters",
        "events",
        "Events in the database whose delivery was given up.",
        lambda figures: figures.dead_letters,
    )
    gauge("domogate_database_size_bytes", "bytes", "Size of the database.", lambda figures: figures.size)
    metrics.gauge("domogate_disk_size_bytes", "bytes", "Size of the disk of the data folder.", lambda: snapshot.disk_size)
    metrics.gauge("domogate_disk_free_bytes", "bytes", "Free space on the disk of the data folder.", lambda: snapshot.disk_free)


def _register_drivers(snapshot: Snapshot, metrics: Metrics) -> None:
    def of_each(value: Callable[[DriverHealth], float]) -> Callable[[], Labelled]:
        return lambda: {(driver.name,): value(driver) for driver in snapshot.drivers}

    label = ("driver",)
    metrics.gauge(
        "domogate_driver_running",
        "0 or 1",
        "1 while the driver runs.",
        of_each(lambda driver: driver.condition is DriverCondition.RUNNING),
        label,
    )
    metrics.counter(
        "domogate_driver_restarts",
        "restarts",
        "Restarts of the driver after a failure.",
        of_each(lambda driver: driver.restarts),
        label,
    )
    metrics.gauge(
        "domogate_driver_plants", "plants", "Plants that the driver drives.", of_each(lambda driver: driver.plants), label
    )
    metrics.gauge(
        "domogate_driver_waiting_reports",
        "reports",
        "Reports of devices that this gateway has not stored yet.",
        of_each(lambda driver: driver.waiting_reports),
        label,
    )
    metrics.gauge(
        "domogate_driver_stuck_calls",
        "calls",
        "Stuck calls: calls that the driver did not end when they were cancelled.",
        of_each(lambda driver: driver.stuck_calls),
        label,
    )
    metrics.gauge(
        "domogate_driver_connections",
        "connections",
        "Connections of the driver to brokers or OpenWebNet gateways, by state: connected, connecting, lost or unused.",
        lambda: snapshot.connections,
        ("driver", "state"),
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
        return found.setdefault(name_api(operation), RequestCounts({}, [0] * (len(BOUNDS) + 1)))

    for (operation, status), count in metrics.counts.items():
        statuses = counts_of(operation).statuses
        statuses[status] = statuses.get(status, 0) + count
    for operation, durations in metrics.durations.items():
        counts = counts_of(operation)
        counts.durations = [before + more for before, more in zip(counts.durations, durations.buckets, strict=True)]
    return found


def name_api(operation: str) -> str:
    """Return the API of an operation in the metrics: the name of its family or of its surface.

    For a request that matches no operation, `operation` is the name of a part of the gateway, for example `pages` or
    `.well-known`. If this part is no API, return its name.
    """
    return _API_OF.get(operation) or operation.partition(".")[0] or operation


def _name_operations() -> Iterator[tuple[str, str]]:
    """Yield pairs: a name of an operation in the metrics, and the name of its family.

    The name of an operation is its id. For a request that matches no operation, the name is the first path segment.
    """
    for family in FAMILIES:
        yield family.root, family.slug
        yield from ((operation.id, family.slug) for operation in family.operations)


_API_OF = {**dict(_name_operations()), "manage": "management"}
