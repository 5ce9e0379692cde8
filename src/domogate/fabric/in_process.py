"""The fabric for a single process: this process drives the plants."""

from collections.abc import Coroutine
from typing import Any

from domogate.domain.commands import Order
from domogate.domain.faults import DeviceOffline, DeviceTimeout
from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.ports import Clock, DeviceHost, Picture


class InProcessFabric:
    """Passes orders and questions to the part that drives the plants (`DeviceHost`), which ends them at their deadline."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._host: DeviceHost | None = None

    def serve(self, host: DeviceHost) -> None:
        self._host = host

    def execute(self, order: Order) -> Coroutine[Any, Any, Report]:
        return self._check(order.deadline).execute(order)  # Not a coroutine function: it returns the coroutine of the host.

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        return await self._check(deadline).read(plant_id, module_id, deadline)

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        return await self._check(deadline).take_picture(plant_id, module_id, deadline)

    def _check(self, deadline: float) -> DeviceHost:
        if self._host is None:
            raise DeviceOffline("the device is offline: no gateway drives this plant")
        if self._clock.now() >= deadline:
            raise DeviceTimeout("the device was not asked: the deadline had passed")
        return self._host
