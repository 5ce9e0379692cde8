"""Drivers: how each fares in this process."""

from datetime import datetime

from domogate.management.operation import Call, Desk, Listing, Operation
from domogate.services.driving.supervisor import DriverCondition, DriverHealth
from domogate.wire import Shown, moment, moment_or_none


class ShownDriver(Shown, frozen=True):
    """`plants` are attached to it; `waitingReports` are yet to be kept; `leftBehind` are calls that did not end in time."""

    name: str
    condition: DriverCondition
    since: datetime
    restarts: int
    last_error: str
    last_error_at: datetime | None
    next_start_at: datetime | None
    plants: int
    waiting_reports: int
    left_behind: int


def show_driver(health: DriverHealth) -> ShownDriver:
    return ShownDriver(
        name=health.name,
        condition=health.condition,
        since=moment(health.since),
        restarts=health.restarts,
        last_error=health.last_error,
        last_error_at=moment_or_none(health.last_error_at),
        next_start_at=moment_or_none(health.next_start_at),
        plants=health.plants,
        waiting_reports=health.waiting_reports,
        left_behind=health.stuck_calls,
    )


async def list_drivers(desk: Desk, _call: Call) -> Listing[ShownDriver]:
    return Listing([show_driver(health) for health in desk.devices.list_drivers()])


OPERATIONS = (
    Operation(
        id="listDrivers", tag="drivers", summary="How the drivers of the gateway that answers fare",
        method="GET", path="/drivers", handler=list_drivers, answer=Listing[ShownDriver],
    ),
)  # fmt: skip
