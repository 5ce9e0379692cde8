"""Builds the log of slow requests, and measures what requests wait for."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from domogate.common.waits import Waits
from domogate.domain.commands import Order
from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.edge.request_ids import current_request_id
from domogate.edge.slow_requests import SlowRequests
from domogate.families import FAMILIES
from domogate.ports import DeviceHost, Fabric, Picture

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway

_SHORT = 0.05
"""A wait is ignored if it is shorter than this share of the setting `slow_request`."""


def build_slow_requests(gateway: "Gateway") -> SlowRequests | None:
    """Return the log of slow requests. If the setting `slow_request` is not set, return None and measure nothing."""
    limit = gateway.settings.slow_request
    if limit is None:
        return None
    waits = Waits(current_request_id.get, limit * _SHORT)
    gateway.store.waiting = lambda: waits.measure("store")
    gateway.fabric = TimedFabric(gateway.fabric, waits)
    return SlowRequests(limit, dict(list_routes()), waits)


def list_routes() -> Iterator[tuple[str, str]]:
    """Yield two texts for each operation: its name in the metrics, and its path with the names of its parameters."""
    from domogate.app.documents import SURFACES  # Imported here, because it imports the management API.

    for family in FAMILIES:
        yield from ((operation.id, f"{family.prefix}/{operation.contract_path}") for operation in family.operations)
    for surface in SURFACES:
        yield from ((f"{surface.name}.{operation.id}", f"{surface.prefix}{operation.path}") for operation in surface.operations)


class TimedFabric:
    """A fabric that measures how long requests wait for devices, including the writes of their orders."""

    def __init__(self, fabric: Fabric, waits: Waits) -> None:
        self._fabric = fabric
        self._waits = waits

    def serve(self, host: DeviceHost) -> None:
        self._fabric.serve(host)

    async def execute(self, order: Order) -> Report:
        with self._waits.measure("device"):
            return await self._fabric.execute(order)

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        with self._waits.measure("device"):
            return await self._fabric.read(plant_id, module_id, deadline)

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        with self._waits.measure("device"):
            return await self._fabric.take_picture(plant_id, module_id, deadline)
