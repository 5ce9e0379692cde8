"""Where the drivers live: the far end of the fabric."""

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec
import structlog

from domogate.domain.commands import Order, OrderEnd, OrderRecord, OrderState
from domogate.domain.events import Change, PlantChanged
from domogate.domain.faults import DeviceOffline, DeviceTimeout, Fault, OrderKeyTaken
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import Report
from domogate.ports import Clock, Driver, Picture, PlantStore
from domogate.services.driving.alerts import Alerts
from domogate.services.driving.attachment import Attaching, AwakePlant
from domogate.services.driving.calls import Errand, Errands, Outcome
from domogate.services.driving.driven_plants import AwakePlants
from domogate.services.driving.driver_client import Asking
from domogate.services.driving.recording import Recording, RecordingStore
from domogate.services.driving.report_intake import Hearing
from domogate.services.driving.startup import wake_plants
from domogate.services.driving.supervisor import DriverHealth, Supervisor
from domogate.services.plants.orders import Orders, fault_of, is_same_wish

_log = structlog.get_logger(__name__)

_REMEMBERED_ORDERS = 4096
_LIFTING = 5.0
"""How long a module may take to say what is true of it, once no fault covers that any more."""
_LIFTED_AT_ONCE = 32

T = TypeVar("T")


class DrivingStore(RecordingStore, PlantStore, Protocol):
    """The plants, and what is recorded of them."""


class Driving:
    """The DeviceHost: carries out orders once, asks modules, and records what drivers report."""

    def __init__(
        self, store: DrivingStore, drivers: Mapping[str, Driver], clock: Clock, orders: Orders, *, awake_plants: int
    ) -> None:
        """`awake_plants`: how many purely simulated plants move at once; the others are always driven."""
        self._store = store
        self._clock = clock
        self._orders = orders
        self._awake_plants = max(1, awake_plants)
        self._recording = Recording(store)
        self._alerts = Alerts()
        self._hearing = Hearing(
            self._recording, self._alerts, drivers, clock, find_plant=lambda plant_id: self._awake.find(plant_id)
        )
        self._errands = Errands(clock)
        self._supervisor = Supervisor(
            drivers, clock, sink_of=self._hearing.sink_of, on_up=self._driver_came, on_down=self._driver_went
        )
        self._asking = Asking(self._supervisor, clock)
        attaching = Attaching(
            store,
            self._supervisor,
            self._recording,
            self._alerts,
            clock,
            tell=self._hearing.say,
            on_lifted=self._begin_lifting,
            on_failed=lambda plant: self._awake.try_again_later(plant),
        )
        self._awake = AwakePlants(attaching, self._recording, self._alerts, most=self._awake_plants)
        self._outcomes: OrderedDict[str, tuple[Order, Outcome[Report]]] = OrderedDict()
        self._background: set[asyncio.Task[Any]] = set()
        self._started = False

    # lifecycle

    async def start(self) -> None:
        """Start the drivers; plants wake in the background, so that the gateway is ready at once."""
        await self._supervisor.start()
        self._started = True
        waking = wake_plants(self._store, self._awake, self._supervisor.names, most=self._awake_plants)
        self._begin(waking, "waking of plants")
        await self._orders.start()
        self._begin(self._take_up_queued(), "taking up queued orders")

    async def stop(self) -> None:
        """Stop the drivers; what they have said until then is with the store."""
        tasks = tuple(self._background)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._orders.stop()
        await self._awake.stop()
        await self._errands.stop()
        await self._supervisor.stop()

    async def settled(self) -> None:
        """Wait until no plant is being attached or detached."""
        while self._background:
            await asyncio.wait(self._background)
        await self._awake.settled()
        while self._background:
            await asyncio.wait(self._background)

    def apply(self, changes: Sequence[Change]) -> None:
        """A Listener of the store: modules added, options changed and faults injected take effect."""
        if not self._started:
            return  # before the drivers run there is nothing to attach to, and the start loads what is newest
        for plant_id in {change.event.plant_id for change in changes if isinstance(change.event, PlantChanged)}:
            self._awake.refresh(plant_id)

    def list_drivers(self) -> list[DriverHealth]:
        """How each driver fares."""
        left_behind = self._errands.left_behind
        return [
            msgspec.structs.replace(
                health,
                plants=self._awake.count_attached(health.name),
                waiting_reports=self._hearing.count_waiting(health.name),
                left_behind=sum(
                    count
                    for plant_id, count in left_behind.items()
                    if (plant := self._awake.find(plant_id)) is not None and health.name in plant.devices_of
                ),
            )
            for health in self._supervisor.list_health()
        ]

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _driver_came(self, name: str) -> None:
        await self._awake.driver_came(name)

    async def _driver_went(self, name: str) -> None:
        await self._awake.driver_went(name)

    # orders

    async def execute(self, order: Order) -> Report:
        """Carry the order out, once, and have it on disk. Raises DeviceOffline, DeviceTimeout, DeviceRefused, Internal.

        It goes on to its own end if nobody waits for it any more.
        """
        known = self._outcomes.get(order.id)
        if known is None:
            outcome = self._errands.run(order.plant_id, order.deadline, partial(self._carry_out, order))
            self._outcomes[order.id] = (order, outcome)
            if len(self._outcomes) > _REMEMBERED_ORDERS:
                self._outcomes.popitem(last=False)
        else:
            first, outcome = known
            if not is_same_wish(first, order):
                raise OrderKeyTaken("this idempotency key was used for another command")
        return _same(await asyncio.shield(outcome))

    async def _carry_out(self, order: Order, errand: Errand) -> Report:
        try:
            plant = await self._awake.borrow(order.plant_id, order.module_id)
        except Fault as fault:
            await self._orders.turn_away(order, fault)
            raise
        try:
            return await self._send(order, errand, plant)
        finally:
            self._awake.give_back(plant)

    async def _send(self, order: Order, errand: Errand, plant: AwakePlant) -> Report:
        try:
            driver = self._driver_for(order, plant)
            self._check_time(order, errand)
        except Fault as fault:
            await self._orders.turn_away(order, fault)
            raise
        known = await self._orders.begin(order)
        if known is not None:
            return _again(known)
        try:
            self._check_time(order, errand)
            errand.give_to_driver(on_late=partial(self._expire, order))
            report = await self._asking.report_of(plant, driver, partial(driver.execute, order), order.module_id, is_order=True)
        except Fault as fault:
            if not (errand.at_driver and errand.is_late()):
                errand.take_back()
                await self._orders.end(order, fault)
            raise
        errand.take_back()
        if errand.is_late():
            # Too late for whoever asked, but true.
            await self._hearing.say((report,))
            raise DeviceTimeout("the device did not confirm in time")
        # Nothing may be awaited between the device's answer and this: a later report would be overwritten by an earlier one.
        await self._recording.confirm(OrderEnd(order.id, OrderState.CONFIRMED, self._clock.now()), report)
        return report

    async def _expire(self, order: Order) -> None:
        await self._orders.end(order, DeviceTimeout("the device did not confirm in time"))

    def _driver_for(self, order: Order, plant: AwakePlant) -> Driver:
        if plant.overlay and plant.overlay.find(order.module_id, InjectedFault.OFFLINE, self._clock.now()):
            raise DeviceOffline("the device is offline")
        return self._asking.driver_of(plant, order.module_id)

    def _check_time(self, order: Order, errand: Errand) -> None:
        if errand.is_late() or self._clock.now() >= order.deadline:
            raise DeviceTimeout("the device was not told: the time of the order was up")

    async def _take_up_queued(self) -> None:
        """Send what a process that is gone had promised, while there is time; each module's in their order."""
        try:
            of_module: dict[Id, list[Order]] = {}
            for order in await self._orders.list_queued():
                of_module.setdefault(order.module_id, []).append(order)
        except Exception as error:
            _log.error("queued orders not taken up, they expire", exc_info=error)
            return
        for orders in of_module.values():
            self._begin(self._execute_in_turn(orders), f"orders left for module {orders[0].module_id}")

    async def _execute_in_turn(self, orders: Sequence[Order]) -> None:
        for order in orders:
            try:
                await self.execute(order)
            except Fault as fault:
                _log.warning("order taken up and not confirmed", order_id=order.id, fault=fault.message)

    # questions

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        """Ask the module; news is recorded. Raises DeviceOffline, DeviceTimeout, DeviceRefused."""
        work = partial(self._ask, plant_id, module_id, deadline, False)
        return _same(await asyncio.shield(self._errands.run(plant_id, deadline, work)))

    async def _ask(self, plant_id: Id, module_id: Id, deadline: float, always: bool, errand: Errand) -> Report:
        plant = await self._awake.borrow(plant_id, module_id)
        try:
            if errand.is_late() or self._clock.now() >= deadline:
                raise DeviceTimeout("the device was not asked: the time of the request was up")
            if plant.overlay and (away := plant.overlay.report_absence(plant_id, module_id, self._clock.now())):
                return away
            if (absence := self._asking.absence_in(plant, module_id)) is not None:
                answer = Report(plant_id, module_id, self._clock.now(), reachable=False, absence=absence)
                return await self._hearing.take_answer(answer, always=always)
            driver = self._asking.driver_of(plant, module_id)
            errand.give_to_driver()
            answer = await self._asking.report_of(plant, driver, partial(driver.read, plant_id, module_id, deadline), module_id)
            errand.take_back()
            if plant.overlay:
                state = plant.overlay.cover_state(module_id, answer.state, self._clock.now()) if answer.state else None
                answer = msgspec.structs.replace(answer, state=state)
            return await self._hearing.take_answer(answer, always=always)
        finally:
            self._awake.give_back(plant)

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        """Have a camera look; nothing is recorded. Raises DeviceOffline, DeviceTimeout, DeviceRefused."""
        work = partial(self._look, plant_id, module_id, deadline)
        return _same(await asyncio.shield(self._errands.run(plant_id, deadline, work)))

    async def _look(self, plant_id: Id, module_id: Id, deadline: float, errand: Errand) -> Picture:
        plant = await self._awake.borrow(plant_id, module_id)
        try:
            now = self._clock.now()
            if errand.is_late() or now >= deadline:
                raise DeviceTimeout("the device was not asked: the time of the request was up")
            if plant.overlay and plant.overlay.find(module_id, InjectedFault.OFFLINE, now):
                raise DeviceOffline("the device is offline")
            driver = self._asking.driver_of(plant, module_id)
            errand.give_to_driver()
            picture = await self._asking.picture_of(
                plant, driver, partial(driver.take_picture, plant_id, module_id, deadline), module_id
            )
            errand.take_back()
            return picture
        finally:
            self._awake.give_back(plant)

    # faults that are gone

    def _begin_lifting(self, plant_id: Id, module_ids: Sequence[Id]) -> None:
        self._begin(self._lift(plant_id, module_ids), f"true states of plant {plant_id}")

    async def _lift(self, plant_id: Id, module_ids: Sequence[Id]) -> None:
        """Have the modules say what is true of them, now that nothing covers it."""
        at_once = asyncio.Semaphore(_LIFTED_AT_ONCE)

        async def lift(module_id: Id) -> None:
            async with at_once:
                deadline = self._clock.now() + _LIFTING
                try:
                    work = partial(self._ask, plant_id, module_id, deadline, True)
                    answer = await asyncio.shield(self._errands.run(plant_id, deadline, work))
                except Fault as fault:
                    answer = fault
                if isinstance(answer, Fault):
                    await self._hearing.say((self._after_silence(plant_id, module_id, answer),))

        await asyncio.gather(*(lift(module_id) for module_id in module_ids))

    def _after_silence(self, plant_id: Id, module_id: Id, fault: Fault) -> Report:
        """It said nothing: away if its driver knows so, else as it was before the fault."""
        now = self._clock.now()
        if isinstance(fault, DeviceOffline):
            absence = Absence(AbsenceReason.CONNECTION_LOST, now, fault.message)
            return Report(plant_id, module_id, now, reachable=False, absence=absence)
        return Report(plant_id, module_id, now)


def _again(known: OrderRecord) -> Report:
    """The answer to an order that was sent before: what became of it then, without the state it brought."""
    fault = fault_of(known)
    if fault is not None:
        raise fault
    order = known.order
    return Report(order.plant_id, order.module_id, known.ended_at or known.queued_at)


def _same(outcome: T | Fault) -> T:
    if isinstance(outcome, Fault):
        raise type(outcome)(outcome.message)
    return outcome
