"""Drives all plants of this process: finds or makes the `DrivenPlant` of a plant, and reacts when a driver starts or fails."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec

from domogate.common.log import get_logger
from domogate.common.tasks import cancel
from domogate.domain.commands import Order, OrderState
from domogate.domain.events import Change, ChangesLost, PlantChanged
from domogate.domain.faults import DeviceOffline, Fault
from domogate.domain.ids import Id
from domogate.domain.plants import SIMULATED_DRIVERS
from domogate.domain.shards import shard_of
from domogate.domain.states import Report
from domogate.ports import Clock, Driver, Holdings, NotHeld, Picture, PlantStore, ReportSink
from domogate.services.driving.attachment import STOPPING, DrivingContext
from domogate.services.driving.calls import find_breach
from domogate.services.driving.plant import DrivenPlant
from domogate.services.driving.recorder import Orders, Recorder, RecorderStore, ReportQueue
from domogate.services.driving.slots import PlantSlots
from domogate.services.driving.supervisor import DriverHealth, Supervisor

_log = get_logger(__name__)

_ALL_PLANTS = 1_000_000
_RETRY_LISTING, _LONGEST_FLUSH = 5.0, 10.0


class DrivingStore(RecorderStore, PlantStore, Protocol):
    """The parts of the store with plants, states and orders."""


class Driving:
    """Drives the plants of this process: executes orders once, asks modules, and records reports. Implements DeviceHost."""

    def __init__(
        self,
        store: DrivingStore,
        drivers: Mapping[str, Driver],
        clock: Clock,
        *,
        simulated_plants: int,
        random_source: random.Random | None = None,
        holdings: Holdings | None = None,
    ) -> None:
        """`simulated_plants`: how many plants without a real device may be driven at the same time. Plants with a real device
        are always driven.

        `holdings` says which plants this gateway of a cluster holds. None means that this gateway drives all plants.
        """
        self._store = store
        self._holdings = holdings
        self._simulated_plants = max(1, simulated_plants)
        self._plants: dict[str, DrivenPlant] = {}
        self._stopping: dict[Id, DrivenPlant] = {}
        """Plants that are detaching their modules. They get no new calls."""
        self._orders = Orders(store, clock)
        self._slots = PlantSlots(self._simulated_plants)
        self._recorder = recorder = Recorder(store, self._refresh_later)
        self._queues = {name: ReportQueue(recorder) for name in drivers}
        self._supervisor = Supervisor(
            drivers, clock, sink_of=self._sink_of, on_up=self._driver_up, on_down=self._driver_down, random_source=random_source
        )
        self._context = DrivingContext(store, self._supervisor, recorder, self._orders, self._slots, clock, holdings)
        self._background: set[asyncio.Task[None]] = set()
        self._started = False
        self._stopped = False

    # life cycle

    async def start(self) -> None:
        """Start the drivers. From now on a request starts the plant that it needs."""
        await self._supervisor.start()
        self._started = True

    async def start_plants(self) -> None:
        """Start the plants and resume their queued orders, in the background.

        A gateway calls this method after it is ready, so the plants do not delay its start. In a cluster, this method starts no
        plants: a member starts plants when it gets their shards.
        """
        await self._orders.start()
        if self._holdings is None:
            self._begin(self._start_plants(), "start plants")
            self._begin(self._resume_queued(), "resume queued orders")

    async def stop(self) -> None:
        """Stop plants and drivers. Changes of devices that are not recorded yet are dropped.

        Running calls are cancelled before the drivers stop. Their orders get no final state here. `Orders.settle` ends them.
        """
        self._stopped = True
        await cancel(*self._background)
        await self._orders.stop()
        plants = (*self._plants.values(), *self._stopping.values())
        await asyncio.gather(*(plant.stop(detach=False) for plant in plants))
        await self._supervisor.stop()

    async def settled(self) -> None:
        """Wait until no plant is being read from the store, and no modules are being attached or detached."""
        while work := self._list_work():
            await asyncio.wait(work)

    def _list_work(self) -> list[asyncio.Task[None]]:
        plants = (*self._plants.values(), *self._stopping.values())
        return [*self._background, *(task for plant in plants for task in plant.list_work())]

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def replace_driver(self, name: str, driver: Driver) -> None:
        """Use `driver` in place of the driver with this name, for example after the settings of its connection were changed."""
        if not self._stopped:
            await self._supervisor.replace(name, driver)

    def list_drivers(self) -> list[DriverHealth]:
        """Return the health of each driver, for operators."""
        plants = self._plants.values()
        return [
            msgspec.structs.replace(
                health,
                plants=sum(plant.is_attached_to(health.name) for plant in plants),
                waiting_reports=self._queues[health.name].waiting,
                stuck_calls=sum(plant.stuck_calls for plant in plants if plant.has_modules_of(health.name)),
            )
            for health in self._supervisor.list_health()
        ]

    def count_orders(self) -> dict[str, int]:
        """Return the number of orders that this process has ended since its start, by their final state."""
        ended = {state.value: count for state, count in self._orders.ended.items()}
        return {**ended, OrderState.CONFIRMED.value: self._recorder.confirmed}

    # plants

    def _find_or_make(self, plant_id: Id, *, real: bool = False) -> DrivenPlant:
        """Return the driven plant with this id. If there is none, make and start one.

        `real`: the plant is known to have a real device. Raises NotHeld if this gateway does not hold the plant, and
        DeviceOffline if the gateway is stopping.
        """
        if self._holdings is not None and not self._holdings.accepts(plant_id):
            raise NotHeld
        if self._stopped:
            raise DeviceOffline(STOPPING)
        if (plant := self._plants.get(plant_id)) is None:
            plant = self._plants[plant_id] = DrivenPlant(
                plant_id, self._context, on_stopping=self._on_stopping, after=self._stopping.get(plant_id), real=real
            )
            plant.start()
        return plant

    def _on_stopping(self, plant: DrivenPlant) -> None:
        """Forget the object of a plant that begins to stop. The next request for this plant makes a new object."""
        if self._plants.get(plant.id) is plant:
            del self._plants[plant.id]
        if plant.stopping is not None:
            self._stopping[plant.id] = plant
            plant.stopping.add_done_callback(lambda _: self._forget(plant))

    def _forget(self, plant: DrivenPlant) -> None:
        if self._stopping.get(plant.id) is plant:  # Otherwise a later object of the plant is stopping too.
            del self._stopping[plant.id]

    def apply(self, changes: Sequence[Change]) -> None:
        """Apply committed changes: new modules, changed options of modules and injected faults take effect.

        The store calls this method. A new plant is driven if it has a real device, or if a slot is free (`slots.py`).
        """
        if not self._started or self._stopped:
            return  # `DrivenPlant.start` reads the newest state later
        changed = {change.event.plant_id for change in changes if isinstance(change.event, PlantChanged)}
        if any(isinstance(change.event, ChangesLost) for change in changes):
            changed.update(plant.id for plant in self._plants.values())
        for plant_id in filter(self._accepts, changed):
            self._find_or_make(plant_id).refresh()

    def _refresh_later(self, plant_id: str) -> None:
        if (plant := self._plants.get(plant_id)) is not None:
            plant.refresh_later()

    def _accepts(self, plant_id: Id) -> bool:
        return self._holdings is None or self._holdings.accepts(plant_id)

    async def _start_plants(self, shards: Collection[int] | None = None) -> None:
        """Start all plants with a real device, and as many simulated plants as allowed.

        Each driver for real devices has its own task, which starts its plants. So these drivers do not wait for each other.
        If `shards` is given, only plants of these shards are started.
        """
        real: set[Id] = set()
        async with asyncio.TaskGroup() as starting:
            for name in self._supervisor.names:
                if name not in SIMULATED_DRIVERS:
                    plant_ids = _of_shards(shards, await self._list_plants(name, _ALL_PLANTS))
                    real.update(plant_ids)
                    starting.create_task(self._start_each(plant_ids, real=True), name=f"start plants of {name}")
            for name in self._supervisor.names:
                if name in SIMULATED_DRIVERS:
                    most = _ALL_PLANTS if shards is not None else self._simulated_plants + len(real)
                    plant_ids = _of_shards(shards, await self._list_plants(name, most))
                    await self._start_each([plant_id for plant_id in plant_ids if plant_id not in real])

    async def _list_plants(self, driver: str, limit: int) -> Sequence[Id]:
        while True:
            try:
                return await self._store.list_plant_ids(driver, limit)
            except Exception as error:
                _log.error("plants of a driver not listed; will retry", driver=driver, exc_info=error)
                await asyncio.sleep(_RETRY_LISTING)

    async def _start_each(self, plant_ids: Sequence[Id], *, real: bool = False) -> None:
        for plant_id in plant_ids:
            if not real and self._slots.is_full:
                return
            if plant_id not in self._plants and self._accepts(plant_id):
                await self._find_or_make(plant_id, real=real).loaded()

    # shards of a cluster

    def start_shards(self, shards: Collection[int]) -> None:
        """Start the plants of these shards and resume their queued orders, in the background."""
        self._begin(self._start_plants(shards), "start plants of shards")
        self._begin(self._resume_queued(shards), "resume queued orders of shards")

    async def hand_over(self, shards: Collection[int]) -> AsyncIterator[Sequence[int]]:
        """Stop the plants of these shards. Before that, wait for a limited time until calls have ended and reports are stored.

        Yield shards as soon as they are no longer driven. Before you call this method, make sure that `holdings` does not
        accept plants of these shards any more.
        """
        plants = self._find_plants(shards)
        if idle := [shard for shard in shards if shard not in plants]:
            yield idle
        ending = {
            asyncio.create_task(_hand_over_all(some), name=f"hand over shard {shard}"): shard for shard, some in plants.items()
        }
        try:
            while ending:
                ended, _ = await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
                await asyncio.gather(*(queue.flush(_LONGEST_FLUSH) for queue in self._queues.values()))
                yield [ending.pop(task) for task in ended]
        finally:
            await cancel(*ending)

    def drop_shards(self, shards: Collection[int]) -> None:
        """Stop the plants of these shards at once, because another gateway may drive them now.

        The calls of the plants are cancelled, and the end of their orders is not written.
        """
        for plants in self._find_plants(shards).values():
            for plant in plants:
                self._begin(plant.stop(), f"drop plant {plant.id}")

    def _find_plants(self, shards: Collection[int]) -> dict[int, list[DrivenPlant]]:
        """Return the driven plants of these shards, including plants that are stopping."""
        found: dict[int, list[DrivenPlant]] = {}
        for plant in (*self._plants.values(), *self._stopping.values()):
            if (shard := shard_of(plant.id)) in shards:
                found.setdefault(shard, []).append(plant)
        return found

    # drivers

    async def _driver_up(self, name: str) -> None:
        for plant in tuple(self._plants.values()):
            if plant.has_modules_of(name) and self._plants.get(plant.id) is plant:
                plant.refresh(name)
                await plant.loaded()

    async def _driver_down(self, name: str) -> None:
        plants = tuple(self._plants.values())
        for plant in plants:
            plant.lose_driver(name)
        absence = self._supervisor.absence_of(name)
        for plant in plants:
            await plant.report_absent(name, absence)

    def _sink_of(self, name: str) -> ReportSink:
        """Return the function that receives the reports of the driver."""
        return partial(self._take_reports, self._queues[name])

    def _take_reports(self, queue: ReportQueue, reports: Sequence[Report]) -> Awaitable[None]:
        accepted: list[Report] = []
        for report in reports:
            if (breach := find_breach(report)) is not None:
                _log.warning("report refused", module_id=report.module_id, breach=breach)
            elif self._holdings is not None and self._holdings.epoch_of(Id(report.plant_id)) is None:
                continue
            elif (plant := self._plants.get(report.plant_id)) is not None:
                accepted += plant.accept(report)
            else:
                accepted.append(report)
        return queue.push(accepted)

    # orders and questions

    async def execute(self, order: Order) -> Report:
        """Execute the order once, and return what the module confirmed.

        Raises NotHeld, DeviceOffline, DeviceTimeout, DeviceRefused, OrderKeyTaken, Internal.
        """
        return await self._find_or_make(order.plant_id).execute(order)

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        """Ask the module for its state. Raises NotHeld, DeviceOffline, DeviceTimeout, DeviceRefused, Internal."""
        return await self._find_or_make(plant_id).read(module_id, deadline)

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        """Ask the camera for a picture. Raises NotHeld, DeviceOffline, DeviceTimeout, DeviceRefused, Internal."""
        return await self._find_or_make(plant_id).take_picture(module_id, deadline)

    async def _resume_queued(self, shards: Collection[int] | None = None) -> None:
        """Send the orders that an earlier process queued and whose deadline has not passed.

        The orders of one module are sent one after the other, in the sequence in which they were queued.
        """
        by_module: dict[Id, list[Order]] = {}
        try:
            for order in await self._orders.list_queued():
                if shards is None or shard_of(order.plant_id) in shards:
                    by_module.setdefault(order.module_id, []).append(order)
        except Exception as error:
            _log.error("queued orders not resumed; they expire", exc_info=error)
        for orders in by_module.values():
            self._begin(self._execute_in_sequence(orders), f"resume orders of module {orders[0].module_id}")

    async def _execute_in_sequence(self, orders: Sequence[Order]) -> None:
        for order in orders:
            try:
                await self.execute(order)
            except Fault as fault:
                _log.warning("resumed order not confirmed", order_id=order.id, fault=fault.message)
            except NotHeld:
                return  # the next holder of the shard resumes the order


def _of_shards(shards: Collection[int] | None, plant_ids: Sequence[Id]) -> Sequence[Id]:
    return plant_ids if shards is None else [plant_id for plant_id in plant_ids if shard_of(plant_id) in shards]


async def _hand_over_all(plants: Sequence[DrivenPlant]) -> None:
    await asyncio.gather(*(plant.hand_over() for plant in plants))
