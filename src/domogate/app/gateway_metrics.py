"""The metrics of a gateway that come from its parts."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway


def register_metrics(gateway: "Gateway") -> None:
    metrics = gateway.metrics
    metrics.gauge(
        "domogate_world_modules", "Modules that the read model holds in memory", lambda: gateway.read_model.held_modules
    )
    metrics.gauge("domogate_event_streams", "Event streams that are open", lambda: gateway.hub.open_streams)
    metrics.counter("domogate_events_streamed", "Events that were passed to streams", lambda: gateway.hub.sent)
    metrics.gauge("domogate_webhooks", "Webhooks that have not ended", lambda: gateway.dispatcher.webhooks)
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
