"""Which plants are being driven: a bounded number, the least recently asked giving way to those that are asked."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import structlog

from domogate.domain.estate import FirstState
from domogate.domain.faults import DeviceOffline, Fault, Internal
from domogate.domain.ids import Id
from domogate.domain.plants import PlantStatus
from domogate.ports import Clock, Driver, Placed, Store, StoredPlant
from domogate.services.alerts import Alerts
from domogate.services.recording import Recording

_log = structlog.get_logger(__name__)

_STOPPING = "nobody drives this plant: the gateway is stopping"


class AwakePlant:
    """A plant that drivers drive now, or will in a moment (`work` is under way)."""

    __slots__ = ("attached", "driver_of", "failed", "has_room", "id", "stale", "trouble", "users", "work")

    def __init__(self, plant_id: Id) -> None:
        self.id = plant_id
        self.driver_of: dict[Id, str] = {}
        self.attached: set[str] = set()
        self.failed: set[str] = set()
        self.has_room = False
        self.stale = True
        self.trouble: Fault | None = None
        self.users = 0
        self.work: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        return self.users == 0 and self.work is None


class AwakePlants:
    """Attaches plants to their drivers when they are asked or changed; never more than `most` at once."""

    def __init__(
        self,
        store: Store,
        drivers: Mapping[str, Driver],
        recording: Recording,
        alerts: Alerts,
        clock: Clock,
        *,
        most: int,
    ) -> None:
        self._store = store
        self._drivers = drivers
        self._recording = recording
        self._alerts = alerts
        self._clock = clock
        self._most = most
        self._room = asyncio.Semaphore(most)
        self._wanting = 0
        self._plants: OrderedDict[Id, AwakePlant] = OrderedDict()
        """The least recently asked first."""
        self._falling_asleep: dict[Id, asyncio.Task[None]] = {}
        self._stopped = False

    # from outside

    async def borrow(self, plant_id: Id) -> AwakePlant:
        """The plant, awake until it is given back. Raises DeviceOffline when it is not one to drive."""
        if self._stopped:
            raise DeviceOffline(_STOPPING)
        plant = self._plants.get(plant_id) or self._enter(plant_id)
        if plant.failed and plant.work is None:
            self._begin_work(plant)
        self._plants.move_to_end(plant_id)
        plant.users += 1
        try:
            while plant.work is not None:
                await asyncio.wait((plant.work,))
            if plant.trouble is not None:
                raise type(plant.trouble)(plant.trouble.message)
        except BaseException:
            self.give_back(plant)
            raise
        return plant

    def give_back(self, plant: AwakePlant) -> None:
        plant.users -= 1
        self._make_room()

    async def wake(self, plant_ids: Iterable[Id]) -> None:
        """Wake them one after the other for as long as there is room; nobody gives way."""
        for plant_id in plant_ids:
            if len(self._plants) >= self._most:
                return
            if plant_id not in self._plants and (work := self._enter(plant_id).work) is not None:
                await asyncio.wait((work,))

    def refresh(self, plant_id: Id) -> None:
        """The plant has changed: attach it anew, in the background. A new one wakes if there is room."""
        if self._stopped:
            return
        plant = self._plants.get(plant_id)
        if plant is not None:
            self._begin_work(plant)
        elif len(self._plants) < self._most:
            self._enter(plant_id)

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
        self._plants.clear()

    def _under_way(self) -> list[asyncio.Task[None]]:
        attaching = [plant.work for plant in self._plants.values() if plant.work is not None]
        return [*attaching, *self._falling_asleep.values()]

    # waking

    def _enter(self, plant_id: Id) -> AwakePlant:
        plant = self._plants[plant_id] = AwakePlant(plant_id)
        self._begin_work(plant)
        return plant

    def _begin_work(self, plant: AwakePlant) -> None:
        plant.stale = True
        if plant.work is None:
            plant.work = asyncio.create_task(self._bring_up_to_date(plant), name=f"attach plant {plant.id}")

    async def _bring_up_to_date(self, plant: AwakePlant) -> None:
        try:
            if not plant.has_room:
                await self._take_room(plant)
            while plant.stale:
                plant.stale = False
                await self._attach(plant)
        except Fault as fault:
            plant.trouble = fault
        except asyncio.CancelledError:
            plant.trouble = DeviceOffline(_STOPPING)
            raise
        except Exception as error:
            _log.error("plant not attached", plant_id=plant.id, exc_info=error)
            plant.trouble = Internal("the plant could not be loaded")
        finally:
            plant.work = None
            if not self._stopped:
                if plant.trouble is not None:
                    self._send_to_sleep(plant)
                self._make_room()

    async def _attach(self, plant: AwakePlant) -> None:
        stored = await self._store.find_plant(plant.id)
        if stored is None or stored.plant.status is PlantStatus.REMOVED:
            raise DeviceOffline("nobody drives this plant: it does not exist any more")
        placed = _by_driver(stored)
        before = plant.driver_of
        plant.driver_of = {place.module.id: name for name, places in placed.items() for place in places}
        self._recording.forget([module_id for module_id in before if module_id not in plant.driver_of])
        self._recording.know(plant.driver_of, stored.states)
        await self._recording.push(self._alerts.know(stored, self._clock.now()))
        plant.failed.clear()
        for name in plant.attached - placed.keys():
            await self._detach_from(plant, name)
        for name, places in placed.items():
            driver = self._drivers.get(name)
            if driver is None:
                _log.warning("unknown driver", driver=name, plant_id=plant.id, modules=[place.module.id for place in places])
                continue
            plant.attached.add(name)
            try:
                await driver.attach(plant.id, places)
            except Exception as error:
                _log.error("driver could not attach the plant", driver=name, plant_id=plant.id, exc_info=error)
                plant.failed.add(name)

    # room

    async def _take_room(self, plant: AwakePlant) -> None:
        self._wanting += 1
        try:
            self._make_room()
            await self._room.acquire()
            plant.has_room = True
        finally:
            self._wanting -= 1
        # It may be this very plant that had to give way a moment ago.
        if (earlier := self._falling_asleep.get(plant.id)) is not None:
            await asyncio.wait((earlier,))

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
        self._falling_asleep[plant.id] = asyncio.create_task(self._fall_asleep(plant), name=f"detach plant {plant.id}")

    async def _fall_asleep(self, plant: AwakePlant) -> None:
        try:
            for name in tuple(plant.attached):
                await self._detach_from(plant, name)
            self._recording.forget(plant.driver_of)
            self._alerts.forget(plant.id)
        finally:
            del self._falling_asleep[plant.id]
            if plant.has_room:
                plant.has_room = False
                self._room.release()

    async def _detach_from(self, plant: AwakePlant, name: str) -> None:
        plant.attached.discard(name)
        try:
            await self._drivers[name].detach(plant.id)
        except Exception as error:
            _log.error("driver could not detach the plant", driver=name, plant_id=plant.id, exc_info=error)


def _by_driver(stored: StoredPlant) -> dict[str, list[Placed]]:
    placed: dict[str, list[Placed]] = {}
    for module in stored.topology.every_module():
        known = stored.states.get(module.id)
        last = FirstState(module.id) if known is None else FirstState(module.id, known.state, known.reachable)
        placed.setdefault(module.driver, []).append(Placed(module, last, 0.0 if known is None else known.at))
    return placed
