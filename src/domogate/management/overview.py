"""Whether all is well, and what happened in the last hour."""

from datetime import datetime

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
    """Something that needs attention. `name` is a driver or a connection. `count` says how many objects have the problem."""

    kind: ProblemKind
    detail: str
    name: str | None
    count: int | None


class DatabaseOut(OutputModel, frozen=True):
    """The database: `sqlite` or `postgresql`, and its size. `reachable` says whether it answered when it was last asked."""

    kind: str
    bytes: int
    reachable: bool


class PlantCountsOut(OutputModel, frozen=True):
    """Plants that are in use, and plants that were removed and can be brought back."""

    active: int
    removed: int


class ModuleCountsOut(OutputModel, frozen=True):
    """Modules of active plants. `absent` has the number of offline modules by reason."""

    total: int
    absent: dict[str, int]


class WebhookCountsOut(OutputModel, frozen=True):
    """`oldestPendingAt` is the time of the oldest event whose delivery is pending."""

    active: int
    failing: int
    pending: int
    oldest_pending_at: datetime | None
    dead_letters: int


class RequestsOut(OutputModel, frozen=True):
    """Answered requests: their number by status, and the milliseconds that 50 % and 99 % of them did not exceed."""

    statuses: dict[str, int]
    p50_ms: float | None
    p99_ms: float | None


class ActivityOut(OutputModel, frozen=True):
    """What happened from `since` to `until`, and some counts at its end.

    `requests` is by API: a family, another API, or the first segment of the path. `deliveries` counts attempts by outcome;
    `orders` counts orders by their end. `absentModules`, `pendingDeliveries` and `deadLetters` are null if the database did not
    answer.
    """

    since: datetime
    until: datetime
    requests: dict[str, RequestsOut]
    streams: int
    events: int
    deliveries: dict[str, int]
    orders: dict[str, int]
    refused_logins: int
    absent_modules: int | None
    pending_deliveries: int | None
    dead_letters: int | None


class LastHourOut(OutputModel, frozen=True):
    """Sums of the last hour, or of the time since the start of the gateway."""

    requests: dict[str, RequestsOut]
    events: int
    deliveries: dict[str, int]
    orders: dict[str, int]
    refused_logins: int


class OverviewOut(OutputModel, frozen=True):
    """The state of the gateway that answers. `problems` is empty if all is well.

    `now` is the present minute; `minutes` are the minutes before it, at most 60, the oldest first. Counts of requests, streams,
    events, deliveries and logins are of this process; the other counts are of the database.
    """

    at: datetime
    version: str
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


@OPERATIONS.add("GET", "/overview", "Whether all is well: problems, counts, and the last hour by minute")
async def get_overview(services: ManagementServices, _call: OperatorCall) -> OverviewOut:
    status = services.status
    activity = await status.monitor.read()
    figures = activity.now.end.figures
    assert figures is not None, "the present sample always has counts of the store"
    drivers = services.devices.list_drivers()
    reachable = status.is_database_reachable()
    problems = find_problems(drivers, figures, activity.total, status.clock_check.problem, reachable=reachable)
    total, bounds = activity.total, status.duration_bounds
    return OverviewOut(
        at=to_datetime(services.clock.now()),
        version=status.version,
        problems=tuple(ProblemOut.of(problem) for problem in problems),
        drivers=tuple(map(driver_out, drivers)),
        database=DatabaseOut(figures.database, figures.size, reachable),
        plants=PlantCountsOut(figures.plants, figures.removed_plants),
        modules=ModuleCountsOut(figures.modules, figures.absent),
        webhooks=_webhook_counts_out(figures),
        open_streams=activity.now.end.streams,
        open_orders=figures.open_orders,
        last_hour=LastHourOut(
            _requests_out(total, bounds), total.events, dict(total.deliveries), activity.ended_orders, total.refused_logins
        ),
        now=_activity_out(activity.now, bounds),
        minutes=tuple(_activity_out(minute, bounds) for minute in activity.minutes),
    )


def _webhook_counts_out(figures: StoreFigures) -> WebhookCountsOut:
    oldest = None if figures.oldest_pending is None else to_datetime(figures.oldest_pending)
    return WebhookCountsOut(figures.webhooks, figures.failing_webhooks, figures.pending, oldest, figures.dead_letters)


def _activity_out(period: Period, bounds: tuple[float, ...]) -> ActivityOut:
    figures, counters = period.end.figures, period.counters
    return ActivityOut(
        since=to_datetime(period.since),
        until=to_datetime(period.end.at),
        requests=_requests_out(counters, bounds),
        streams=period.end.streams,
        events=counters.events,
        deliveries=dict(counters.deliveries),
        orders={} if figures is None else figures.ended_orders,
        refused_logins=counters.refused_logins,
        absent_modules=None if figures is None else sum(figures.absent.values()),
        pending_deliveries=None if figures is None else figures.pending,
        dead_letters=None if figures is None else figures.dead_letters,
    )


def _requests_out(counters: Counters, bounds: tuple[float, ...]) -> dict[str, RequestsOut]:
    def out(counts: RequestCounts) -> RequestsOut:
        p50, p99 = (counts.find_percentile(bounds, share) for share in (0.5, 0.99))
        return RequestsOut({str(status): count for status, count in counts.statuses.items()}, _to_ms(p50), _to_ms(p99))

    return {name: out(counts) for name, counts in counters.requests.items()}


def _to_ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 2)
