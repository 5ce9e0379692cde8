"""Asking one driver: which it is, whether it can be asked, and what of its answer may be believed.

Expected and unexpected errors are kept apart: what a device may say (offline, no answer, refused) passes through as it is;
anything else a driver raises is logged and becomes a refusal, and nobody else notices.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault
from domogate.domain.reachability import Absence
from domogate.domain.states import Report
from domogate.ports import Clock, Driver, Picture
from domogate.services.driving.attachment import AwakePlant
from domogate.services.driving.limits import find_breach, find_breach_of_picture
from domogate.services.driving.supervisor import Supervisor, absence_after

_log = structlog.get_logger(__name__)

T = TypeVar("T")


class Asking:
    """Knows the drivers that run. What it raises is what a device may say."""

    def __init__(self, supervisor: Supervisor, clock: Clock) -> None:
        self._supervisor = supervisor
        self._clock = clock

    def driver_of(self, plant: AwakePlant, module_id: Id) -> Driver:
        name = plant.driver_of.get(module_id)
        if name is None:
            raise DeviceOffline("nobody drives this module: it is not in the plant any more")
        driver = self._supervisor.find(name)
        if driver is None:
            raise DeviceOffline(f"nobody drives this module: no driver '{name}' is running")
        if name in plant.failed:
            raise DeviceOffline(f"nobody drives this module: its driver '{name}' could not take it on")
        return driver

    def absence_in(self, plant: AwakePlant, module_id: Id) -> Absence | None:
        """Why its driver cannot be asked, if it cannot."""
        name = plant.driver_of.get(module_id)
        if name is None:
            return None
        if self._supervisor.find(name) is None:
            return self._supervisor.absence_of(name)
        error = plant.failed.get(name)
        return None if error is None else absence_after(error, self._clock.now())

    async def report_of(
        self, plant: AwakePlant, driver: Driver, ask: Callable[[], Awaitable[Report]], module_id: Id, *, is_order: bool = False
    ) -> Report:
        """Raises DeviceOffline, DeviceTimeout, DeviceRefused."""
        report = await self._answer_of(plant, driver, ask, module_id, is_order=is_order)
        breach = find_breach(report)
        if breach is not None:
            _log.warning("answer refused", driver=driver.name, module_id=module_id, breach=breach)
            raise DeviceRefused("the device answered with a value out of its bounds")
        return report

    async def picture_of(
        self, plant: AwakePlant, driver: Driver, ask: Callable[[], Awaitable[Picture]], module_id: Id
    ) -> Picture:
        """Raises DeviceOffline, DeviceTimeout, DeviceRefused."""
        picture = await self._answer_of(plant, driver, ask, module_id)
        breach = find_breach_of_picture(picture)
        if breach is not None:
            _log.warning("picture refused", driver=driver.name, module_id=module_id, breach=breach)
            raise DeviceRefused("the device gave a picture that cannot be shown")
        return picture

    async def _answer_of(
        self, plant: AwakePlant, driver: Driver, ask: Callable[[], Awaitable[T]], module_id: Id, *, is_order: bool = False
    ) -> T:
        """The device's answer, or that of a fault injected in its place. Raises DeviceOffline, DeviceTimeout, DeviceRefused."""
        if plant.overlay:
            now = self._clock.now()
            if plant.overlay.find(module_id, InjectedFault.SLOW, now):
                await asyncio.get_running_loop().create_future()  # for ever: the deadline ends it
            if is_order and plant.overlay.find(module_id, InjectedFault.REFUSING, now):
                raise DeviceRefused("the device refuses all commands")
        try:
            return await ask()
        except (DeviceOffline, DeviceTimeout, DeviceRefused):
            raise
        except Exception as error:
            _log.error("driver failed", driver=driver.name, module_id=module_id, exc_info=error)
            raise DeviceRefused("the device's driver failed") from error
