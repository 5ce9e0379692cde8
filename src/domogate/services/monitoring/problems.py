"""Finds the problems that need the attention of an operator."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from domogate.domain.figures import StoreFigures
from domogate.domain.reachability import AbsenceReason
from domogate.ports import MessageLink
from domogate.services.cluster import ClusterStatus
from domogate.services.driving.supervisor import DriverCondition, DriverHealth
from domogate.services.monitoring.counters import Counters

_ON_PURPOSE = frozenset({AbsenceReason.INJECTED, AbsenceReason.SIMULATED})


ProblemKind = Literal[
    "database",
    "writes",
    "clock",
    "backup",
    "driver",
    "connection",
    "modules",
    "webhooks",
    "dead letters",
    "server errors",
    "cluster",
]


class Problem(msgspec.Struct, frozen=True):
    """One problem. `name` is the driver, the connection or the gateway that has the problem.

    `count` is the number of affected modules or webhooks, of dead letters, or of answers with status 500.
    """

    kind: ProblemKind
    detail: str
    name: str | None = None
    count: int | None = None


def find_problems(
    drivers: Iterable[DriverHealth],
    figures: StoreFigures,
    last_hour: Counters,
    warnings: Mapping[ProblemKind, str],
    cluster: ClusterStatus | None = None,
    *,
    reachable: bool,
) -> Iterator[Problem]:
    """Yield the present problems.

    `warnings` has the text of each warning that the readiness check also shows. `last_hour` has the counters of the last hour.
    `reachable`: whether the database answers.
    """
    if not reachable:
        yield Problem("database", "The database does not answer.")
    for kind, detail in warnings.items():
        yield Problem(kind, detail)
    for live in () if cluster is None else cluster.members:
        if live.link is not MessageLink.CONNECTED:
            yield Problem("cluster", "The gateway has no connection to NATS.", live.member.name)
    for driver in drivers:
        if driver.condition is not DriverCondition.RUNNING:
            yield Problem("driver", driver.last_error or f"The driver is {driver.condition}.", driver.name)
        for connection in driver.connections:
            if connection.state == "lost":
                yield Problem("connection", connection.problem, connection.name)
    absent = sum(count for why, count in figures.absent.items() if why not in _ON_PURPOSE)
    if absent:
        yield Problem("modules", f"{absent} modules cannot be reached.", count=absent)
    if failing := figures.failing_webhooks:
        yield Problem("webhooks", f"The receivers of {failing} webhooks do not accept events.", count=failing)
    if dead := figures.dead_letters:
        yield Problem("dead letters", f"{dead} events could not be delivered.", count=dead)
    if failed := _count_server_errors(last_hour):
        detail = f"{failed} requests of the last hour ended with status 500; the log says why."
        yield Problem("server errors", detail, count=failed)


def _count_server_errors(counters: Counters) -> int:
    """Return the number of answers with status 500.

    Answers with 502, 503 or 504 are not counted. They say that a device or another server failed, not the gateway.
    """
    return sum(counts.statuses.get(500, 0) for counts in counters.requests.values())
