"""The operation with the overview for operators: the present problems, and what happened in the last hour."""

from datetime import datetime
from typing import Any

from domogate.domain.figures import StoreFigures
from domogate.http_api.operations import OperationTable
from domogate.management.drivers import DriverOut, driver_out
from domogate.management.services import ManagementServices, OperatorCall
from domogate.services.monitoring.counters import Counters, RequestCounts
from domogate.services.monitoring.monitor import Period
from domogate.services.monitoring.problems import ProblemKind, find_problems
from domogate.wire import OutputModel, to_datetime

OPERATIONS = OperationTable("overview")


class ProblemOut(OutputModel, frozen=True):
    """Something that needs attention. `name` is a driver, a connection or a gateway.

    `count` says how many objects have the problem.
    """

    kind: ProblemKind
    detail: str
    name: str | None
    count: int | None


class PlantCountsOut(OutputModel, frozen=True):
    """Plants that are in use, and plants that were removed and can be brought back."""

    active: int
    removed: int


class ModuleCountsOut(OutputModel, frozen=True):
    """Modules of active plants. `absent` has the number of offline modules by reason."""

    total: int
    absent: dict[str, int]


class WebhookCountsOut(OutputModel, frozen=True):
    """Counts of webhooks and their deliveries. `oldestPendingAt` is the earliest of these times: the times of the events whose
    delivery is pending, and the times from which receivers have been unavailable. It is null if there are no such times.
    """

    active: int
    failing: int
    pending: int
    oldest_pending_at: datetime | None
    dead_letters: int


def _webhook_counts_out(figures: StoreFigures) -> WebhookCountsOut:
    oldest = None if figures.oldest_pending is None else to_datetime(figures.oldest_pending)
    return WebhookCountsOut(figures.webhooks, figures.failing_webhooks, figures.pending, oldest, figures.dead_letters)


class DatabaseOut(OutputModel, frozen=True):
    """The database: `sqlite` or `postgresql`, and its size. `reachable` says whether it answered when it was last asked."""

    kind: str
    bytes: int
    reachable: bool


class RequestsOut(OutputModel, frozen=True):
    """Requests that ended: their number by status, and the durations in milliseconds that 50 % and 99 % of the requests did not
    exceed. The status 499 is never sent: it counts requests whose client disconnected before the answer.
    """

    statuses: dict[str, int]
    p50_ms: float | None
    p99_ms: float | None


def _requests_out(counts: RequestCounts, bounds: tuple[float, ...]) -> RequestsOut:
    seconds = (counts.find_percentile(bounds, share) for share in (0.5, 0.99))
    p50, p99 = (None if found is None else round(found * 1000, 2) for found in seconds)
    return RequestsOut({str(status): count for status, count in counts.statuses.items()}, p50, p99)


class LastHourOut(OutputModel, frozen=True):
    """Sums of the last hour. If the gateway started less than an hour ago, sums of the time since its start."""

    requests: dict[str, RequestsOut]
    events: int
    deliveries: dict[str, int]
    orders: dict[str, int]
    refused_logins: int


class ActivityOut(LastHourOut, frozen=True):
    """The activity in a period, and some counts at its end. The period begins at `since` and ends at `until`.

    The keys of `requests` are the names of families and other APIs, or the first segment of another path. `deliveries` counts
    attempts by outcome; `orders` counts ended orders by their outcome. `absentModules`, `pendingDeliveries` and `deadLetters`
    are null if the database did not answer.
    """

    since: datetime
    until: datetime
    streams: int
    absent_modules: int | None
    pending_deliveries: int | None
    dead_letters: int | None


def _sums(counters: Counters, orders: dict[str, int], bounds: tuple[float, ...]) -> dict[str, Any]:
    requests = {name: _requests_out(counts, bounds) for name, counts in counters.requests.items()}
    return {
        "requests": requests,
        "events": counters.events,
        "deliveries": dict(counters.deliveries),
        "orders": orders,
        "refused_logins": counters.refused_logins,
    }


def _activity_out(period: Period, bounds: tuple[float, ...]) -> ActivityOut:
    figures = period.end.figures
    return ActivityOut(
        **_sums(period.counters, {} if figures is None else figures.ended_orders, bounds),
        since=to_datetime(period.since),
        until=to_datetime(period.end.at),
        streams=period.end.streams,
        absent_modules=None if figures is None else sum(figures.absent.values()),
        pending_deliveries=None if figures is None else figures.pending,
        dead_letters=None if figures is None else figures.dead_letters,
    )


class OverviewOut(OutputModel, frozen=True):
    """The state of the gateway that answers. `problems` is empty if there is no problem.

    `now` is the present minute; `minutes` are the minutes before it, at most 60, the oldest first. The counts of requests,
    streams, events, deliveries and logins are the counts of this process. All other counts come from the database. `gateway` is
    the name of this gateway in its cluster, or null if it is not a member of a cluster.
    """

    at: datetime
    version: str
    gateway: str | None
    problems: tuple[ProblemOut, ...]
    drivers: tuple[DriverOut, ...]
    database: DatabaseOut
    plants: PlantCountsOut
    modules: ModuleCountsOut
    webhooks: WebhookCountsOut
    open_streams: int
    open_orders: int
    last_hour: LastHourOut
    now: ActivityOut
    minutes: tuple[ActivityOut, ...]


@OPERATIONS.add("GET /overview", "The state of the gateway: problems, counts, and the last hour by minute")
async def get_overview(services: ManagementServices, _call: OperatorCall) -> OverviewOut:
    status = services.status
    activity = await status.monitor.read()
    figures = activity.now.end.figures
    assert figures is not None, "the present sample always has counts of the store"
    drivers, bounds = services.devices.list_drivers(), status.duration_bounds
    reachable = status.is_database_reachable()
    problems = find_problems(
        drivers, figures, activity.total, status.find_warnings(), status.read_cluster(), reachable=reachable
    )
    return OverviewOut(
        at=to_datetime(services.clock.now()),
        version=status.version,
        gateway=status.gateway_name,
        problems=tuple(ProblemOut.of(problem) for problem in problems),
        drivers=tuple(map(driver_out, drivers)),
        database=DatabaseOut(figures.database, figures.size, reachable),
        plants=PlantCountsOut(figures.plants, figures.removed_plants),
        modules=ModuleCountsOut(figures.modules, figures.absent),
        webhooks=_webhook_counts_out(figures),
        open_streams=activity.now.end.streams,
        open_orders=figures.open_orders,
        last_hour=LastHourOut(**_sums(activity.total, activity.ended_orders, bounds)),
        now=_activity_out(activity.now, bounds),
        minutes=tuple(_activity_out(minute, bounds) for minute in activity.minutes),
    )
