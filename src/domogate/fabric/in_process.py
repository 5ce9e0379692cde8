"""The fabric for a single process: this process drives the plants."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from domogate.domain.commands import Order
from domogate.domain.faults import DeviceOffline, DeviceTimeout
from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.ports import Clock, DeviceHost, Picture

T = TypeVar("T")

LEEWAY = 0.15
"""The seconds that a caller waits after the deadline.

The host needs up to 0.1 s of this time to write the outcome of the order.
"""


class InProcessFabric:
    """Passes orders and questions to the host, and cancels them `LEEWAY` seconds after their deadline."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._host: DeviceHost | None = None

    def serve(self, host: DeviceHost) -> None:
        self._host = host

    async def execute(self, order: Order) -> Report:
        host, left = self._check(order.deadline)
        return await _within(left + LEEWAY, host.execute(order))

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        host, left = self._check(deadline)
        return await _within(left + LEEWAY, host.read(plant_id, module_id, deadline))

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        host, left = self._check(deadline)
        return await _within(left + LEEWAY, host.take_picture(plant_id, module_id, deadline))

    def _check(self, deadline: float) -> tuple[DeviceHost, float]:
        if self._host is None:
            raise DeviceOffline("the device is offline: no gateway drives this plant")
        left = deadline - self._clock.now()
        if left <= 0:
            raise DeviceTimeout("the device was not asked: the deadline had passed")
        return self._host, left


async def _within(seconds: float, answer: Awaitable[T]) -> T:
    """Wait at most this number of seconds for the answer.

    Every command uses this function. So it does not use asyncio.timeout, which would take three times as long.
    """
    task = asyncio.current_task()
    assert task is not None
    cancels_before = task.cancelling()
    expired = False

    def cut_off() -> None:
        nonlocal expired
        expired = True
        task.cancel()

    timer = asyncio.get_running_loop().call_later(seconds, cut_off)
    try:
        return await answer
    except asyncio.CancelledError:
        if expired and task.uncancel() <= cancels_before:
            raise DeviceTimeout("the device did not answer in time") from None
        raise
    finally:
        timer.cancel()
