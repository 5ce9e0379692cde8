"""Which plants are being driven: all that have a real device, and of the simulated ones a bounded number."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable

import structlog

from domogate.domain.faults import DeviceOffline, Fault, Internal
from domogate.domain.ids import Id
from domogate.services.driving.alerts import Alerts
from domogate.services.driving.attachment import Attaching, AwakePlant, is_lasting
from domogate.services.driving.recording import Recording

_log = structlog.get_logger(__name__)

MAY_SLEEP = frozenset({"simulator"})
"""Drivers whose modules stand still without harm while nobody asks for them."""

_STOPPING = "nobody drives this plant: the gateway is stopping"


class _NoRoom(Exception):
    """A plant that nobody asked for would have to take another's place."""


class AwakePlants:
    """Attaches plants to their drivers when they are asked or changed.

    Of the purely simulated ones never more than `most` at once, the least recently asked giving way to those that are asked.
    """

    def __init__(self, attaching: Attaching, recording: Recording, alerts: Alerts, *, most: int) -> None:
        self._attaching = attaching
        self._recording = recording
        self._alerts = alerts
        self._most = most
        self._room = asyncio.Semaphore(most)
        self._wanting = 0
        self._plants: OrderedDict[Id, AwakePlant] = OrderedDict()
        """The least recently asked first."""
        self._falling_asleep: dict[Id, asyncio.Task[None]] = {}
        self._stopped = False

    # from outside

    def find(self, plant_id: str) -> AwakePlant | None:
        return self._plants.get(Id(plant_id))

    def count_attached(self, driver: str) -> int:
        return sum(driver in plant.attached for plant in self._plants.values())

    async def borrow(self, plant_id: Id, module_id: Id) -> AwakePlant:
        """The plant, awake until it is given back, its module with its driver. Raises DeviceOffline, Internal."""
        if self._stopped:
            raise DeviceOffline(_STOPPING)
        plant = self._plants.get(plant_id) or self._enter(plant_id)
        self._plants.move_to_end(plant_id)
        plant.users += 1
        try:
            if plant.trouble is not None:
                self._begin_loading(plant)
            if plant.failed:
                self._try_again_now(plant, module_id)
            while (work := plant.loading or plant.attaching.get(plant.driver_of.get(module_id, ""))) is not None:
                await asyncio.wait((work,))
            if plant.trouble is not None:
                raise type(plant.trouble)(plant.trouble.message)
        except BaseException:
            self.give_back(plant)
            raise
        return plant

    def give_back(self, plant: AwakePlant) -> None:
        plant.users -= 1
        if self._wanting:
            self._make_room()

    async def wake(self, plant_ids: Iterable[Id], *, lasting: bool = False) -> None:
        """Wake them one after the other; of those that may sleep as many as there is room for, nobody gives way."""
        for plant_id in plant_ids:
            if not lasting and self._room.locked():
                return
            if plant_id not in self._plants and (loading := self._enter(plant_id, lasting=lasting).loading) is not None:
                await asyncio.wait((loading,))

    def refresh(self, plant_id: Id) -> None:
        """The plant has changed: attach it anew, in the background. A new one wakes if there is room, or it needs none."""
        if self._stopped:
            return
        plant = self._plants.get(plant_id)
        if plant is not None:
            self._begin_loading(plant)
        else:
            self._enter(plant_id)

    async def driver_came(self, name: str) -> None:
        """It is running, again: attach its modules to it."""
        for plant in tuple(self._plants.values()):
            if name in plant.devices_of and self._plants.get(plant.id) is plant:
                self._begin_loading(plant, name)
                if plant.loading is not None:
                    await asyncio.wait((plant.loading,))

    async def driver_went(self, name: str) -> None:
        """It is down: its modules are away."""
        for plant in tuple(self._plants.values()):
            plant.attached.discard(name)
            if name in plant.devices_of:
                await self._attaching.report_missing(plant, name)

    async def settled(self) -> None:
        """Wait until nothing is being attached or detached."""
        while tasks := self._under_way():
            await asyncio.wait(tasks)

    async def stop(self) -> None:
        """Leave off. The drivers are stopped by whoever started them."""
        self._stopped = True
        tasks = self._under_way()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for plant in self._plants.values():
            self._forget_retry(plant)
        self._plants.clear()

    def _under_way(self) -> list[asyncio.Task[None]]:
        loading = [plant.loading for plant in self._plants.values() if plant.loading is not None]
        attaching = [task for plant in self._plants.values() for task in plant.attaching.values()]
        return [*loading, *attaching, *self._falling_asleep.values()]

    # waking

    def _enter(self, plant_id: Id, *, lasting: bool = False) -> AwakePlant:
        plant = self._plants[plant_id] = AwakePlant(plant_id)
        plant.is_lasting = lasting
        self._begin_loading(plant)
        return plant

    def _begin_loading(self, plant: AwakePlant, driver: str | None = None) -> None:
        """Load it and attach this driver anew (None: all)."""
        if driver is None:
            plant.wanted = None
        elif plant.wanted is not None:
            plant.wanted.add(driver)
        if plant.loading is None:
            plant.loading = asyncio.create_task(self._load(plant), name=f"load plant {plant.id}")

    async def _load(self, plant: AwakePlant) -> None:
        plant.trouble = None
        try:
            while plant.wanted is None or plant.wanted:
                await self._find_room(plant)
                wanted, plant.wanted = plant.wanted, set()
                stored = await self._attaching.load(plant)
                self._sort_in(plant, lasting=is_lasting(stored, MAY_SLEEP))
                if not plant.is_lasting and not plant.has_room:
                    plant.wanted = wanted
                    continue  # its last real device is gone: it needs room from now on
                if not plant.is_loaded:
                    self._forget_retry(plant)
                await self._attaching.attach(plant, stored, wanted)
        except _NoRoom:
            self._forget_retry(plant)
            plant.trouble = DeviceOffline("nobody drives this plant at the moment")
        except Fault as fault:
            self._forget_retry(plant)
            plant.trouble = fault
        except asyncio.CancelledError:
            plant.trouble = DeviceOffline(_STOPPING)
            raise
        except Exception as error:
            self._loading_failed(plant, error)
        finally:
            plant.loading = None
            if not self._stopped:
                if plant.trouble is not None and plant.retry is None:
                    self._send_to_sleep(plant)
                self._make_room()

    def _loading_failed(self, plant: AwakePlant, error: Exception) -> None:
        _log.error("plant not attached", plant_id=plant.id, exc_info=error)
        plant.wanted = set()
        if not plant.is_loaded:
            plant.trouble = Internal("the plant could not be loaded")
        if plant.is_loaded or plant.is_lasting:
            self.try_again_later(plant)  # until then it is driven as it was, or by nobody

    # trying again

    def try_again_later(self, plant: AwakePlant) -> None:
        """A driver could not take the plant on, or it could not be loaded: once more in a while."""
        if plant.retry is None and not self._stopped:
            pause = self._attaching.retry_pause(plant)
            plant.retry = asyncio.get_running_loop().call_later(pause, self._try_again, plant)

    def _try_again(self, plant: AwakePlant) -> None:
        plant.retry = None
        if self._stopped or self._plants.get(plant.id) is not plant:
            return
        if not plant.failed:
            self._begin_loading(plant)
        for name in plant.failed:
            self._begin_loading(plant, name)

    def _try_again_now(self, plant: AwakePlant, module_id: Id) -> None:
        """Someone asks: what failed at once may work now; what took all its time is left for later."""
        name = plant.driver_of.get(module_id, "")
        error = plant.failed.get(name)
        if error is not None and not isinstance(error, TimeoutError):
            self._begin_loading(plant, name)

    @staticmethod
    def _forget_retry(plant: AwakePlant) -> None:
        if plant.retry is not None:
            plant.retry.cancel()
            plant.retry = None

    # room

    async def _find_room(self, plant: AwakePlant) -> None:
        """Wait until a plant that may sleep has its place among those that are awake. Raises _NoRoom."""
        # It may be this very plant that had to give way a moment ago.
        if (earlier := self._falling_asleep.get(plant.id)) is not None:
            await asyncio.wait((earlier,))
        if plant.is_lasting or plant.has_room:
            return
        if self._room.locked():
            stored = await self._attaching.load(plant)
            if is_lasting(stored, MAY_SLEEP):
                plant.is_lasting = True
                return
            if not plant.users and not plant.is_loaded:
                raise _NoRoom
        self._wanting += 1
        try:
            self._make_room()
            await self._room.acquire()
            plant.has_room = True
        finally:
            self._wanting -= 1

    def _sort_in(self, plant: AwakePlant, *, lasting: bool) -> None:
        plant.is_lasting = lasting
        if lasting and plant.has_room:
            plant.has_room = False
            self._room.release()

    def _make_room(self) -> None:
        held = sum(plant.has_room for plant in self._plants.values()) if self._wanting else 0
        while self._wanting > self._most - held:
            tired = next((plant for plant in self._plants.values() if plant.idle and plant.has_room), None)
            if tired is None:
                return
            self._send_to_sleep(tired)
            held -= 1

    def _send_to_sleep(self, plant: AwakePlant) -> None:
        if self._plants.get(plant.id) is plant:
            del self._plants[plant.id]
        self._forget_retry(plant)
        self._falling_asleep[plant.id] = asyncio.create_task(self._fall_asleep(plant), name=f"detach plant {plant.id}")

    async def _fall_asleep(self, plant: AwakePlant) -> None:
        try:
            if plant.attaching:
                await asyncio.wait(tuple(plant.attaching.values()))
            for name in tuple(plant.attached):
                await self._attaching.detach_from(plant, name)
            self._recording.forget(plant.driver_of)
            self._alerts.forget(plant.id)
        finally:
            del self._falling_asleep[plant.id]
            if plant.has_room:
                plant.has_room = False
                self._room.release()
