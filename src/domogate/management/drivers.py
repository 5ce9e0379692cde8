"""The health of each driver in this process."""

from datetime import datetime

from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing
from domogate.management.services import ManagementServices, OperatorCall
from domogate.ports import ConnectionState
from domogate.services.driving.supervisor import DriverCondition, DriverHealth
from domogate.wire import OutputModel

OPERATIONS = OperationTable("drivers")


class ConnectionOut(OutputModel, frozen=True):
    """The connection of a driver to a broker or a bus gateway."""

    name: str
    address: str
    state: ConnectionState
    since: datetime | None
    problem: str


class DriverOut(OutputModel, frozen=True):
    """The health of a driver in the gateway that answers. `plants` is the number of driven plants.

    `waitingReports` counts reports that are not stored yet. `leftBehind` counts driver calls that did not end in time.
    """

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
    connections: tuple[ConnectionOut, ...]


def driver_out(health: DriverHealth) -> DriverOut:
    connections = tuple(ConnectionOut.of(connection) for connection in health.connections)
    return DriverOut.of(health, left_behind=health.stuck_calls, connections=connections)


@OPERATIONS.add("GET", "/drivers", "Health of the drivers of the gateway that answers")
async def list_drivers(services: ManagementServices, _call: OperatorCall) -> Listing[DriverOut]:
    return Listing([driver_out(health) for health in services.devices.list_drivers()])
