"""Operations that show the health of each driver in this process, and show and change the connections of drivers."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.responses import Response

from domogate.domain.devices import DeviceKind
from domogate.domain.discovery import DiscoveryFailed
from domogate.http_api.operations import OperationTable
from domogate.http_api.problems import Problem
from domogate.management.services import DriverFactsOut, ManagementServices, OperatorCall
from domogate.management.status import OwnListing
from domogate.ports import ConnectionState, DriverConnection
from domogate.services.audit import AuditAction
from domogate.services.driving.supervisor import DriverCondition, DriverHealth
from domogate.services.refusals import NotFound
from domogate.wire import InputModel, Line, OutputModel

OPERATIONS = OperationTable("drivers")

SCHEMA = "application/schema+json"


class ConnectionOut(OutputModel, frozen=True):
    """The connection of a driver to a broker or an OpenWebNet gateway."""

    name: str
    address: str
    state: ConnectionState
    since: datetime | None
    problem: str


class DriverOut(OutputModel, frozen=True):
    """The health of a driver in the gateway that answers. `plants` is the number of driven plants.

    `waitingReports` counts reports that are not stored yet. `leftBehind` counts stuck driver calls: calls that were cancelled,
    but that the driver has not ended yet.
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


class ConnectionSetting(InputModel, frozen=True):
    """The new connection of the driver. It replaces the whole stored connection: if `username` or `password` is left out, its
    stored value is deleted.
    """

    url: Annotated[Line, Meta(max_length=300, examples=["mqtt://127.0.0.1:1883"], description="mqtt:// or, with TLS, mqtts://")]
    username: Annotated[Line, Meta(max_length=200)] | None = None
    password: Annotated[str, Meta(max_length=1_000)] | None = None

    def __repr__(self) -> str:
        return f"ConnectionSetting({self.url!r})"  # without the password


class OptionsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Annotated[DeviceKind, Meta(description="The kind of the module.")]


@OPERATIONS.add("GET /drivers", "Health of the drivers of the gateway that answers")
async def list_drivers(services: ManagementServices, _call: OperatorCall) -> OwnListing[DriverOut]:
    return services.status.own_list([driver_out(health) for health in services.devices.list_drivers()])


@OPERATIONS.add("GET /drivers/{driver}", "The kinds of modules and the connections of a driver")
async def get_driver(services: ManagementServices, call: OperatorCall) -> DriverFactsOut:
    driver = call.path["driver"]
    found = services.drivers.find(driver)
    if found is None:
        raise NotFound(f"There is no driver {driver!r}.")
    return found


@OPERATIONS.add(
    "PUT /drivers/{driver}/connection",
    "Set the connection of a driver, for example to an MQTT broker. It is tested first, and used at once",
    errors={409: "The settings list the connections, or another search is running", 422: "", 502: "The broker cannot be used"},
)
async def set_connection(services: ManagementServices, call: OperatorCall, body: ConnectionSetting) -> DriverFactsOut:
    driver = call.path["driver"]
    try:
        await services.drivers.set_connection(DriverConnection(driver, body.url, body.username or None, body.password or None))
    except DiscoveryFailed as failed:
        raise Problem(502, str(failed)) from None
    services.people.note(AuditAction.DRIVER_CHANGED, call.caller, f"driver:{driver}", change="connection set", url=body.url)
    return await get_driver(services, call)


@OPERATIONS.add(
    "DELETE /drivers/{driver}/connection",
    "Delete the connection that was set through this API. The modules of the driver cannot be reached any more",
    status=204,
    errors={409: "The settings list the connections"},
)
async def delete_connection(services: ManagementServices, call: OperatorCall) -> None:
    driver = call.path["driver"]
    await services.drivers.delete_connection(driver)
    services.people.note(AuditAction.DRIVER_CHANGED, call.caller, f"driver:{driver}", change="connection deleted")


@OPERATIONS.add(
    "GET /drivers/{driver}/options-schema",
    "The JSON Schema of the options of a module that this driver drives",
    media_types=(SCHEMA,),
)
async def get_options_schema(services: ManagementServices, call: OperatorCall, query: OptionsQuery) -> Response:
    driver = call.path["driver"]
    schema = services.drivers.options_schema(driver, query.kind)
    if schema is None:
        raise NotFound(f"There is no driver {driver!r} for modules of kind {query.kind}.")
    return Response(msgspec.json.encode(schema), media_type=SCHEMA)
