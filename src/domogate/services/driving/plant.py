"""One driven plant: the attachment to its drivers, its orders, questions, reports and injected faults."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from domogate.domain.commands import Order, OrderEnd, OrderState
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout, Fault, OrderKeyTaken
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault
from domogate.domain.plants import SIMULATED_DRIVERS, PlantStatus
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import Report
from domogate.ports import Driver, Picture, StoredPlant
from domogate.services.driving.alerts import Alerts
from domogate.services.driving.attachment import Attachment, DrivingContext
from domogate.services.driving.calls import DriverCall, DriverCalls, Outcome, ask_driver, find_breach, find_picture_breach
from domogate.services.driving.recorder import answer_again
from domogate.services.plants.fault_overlay import FaultOverlay, cover_answer, list_covered, list_uncovered, overlay_of

_REMEMBERED_ORDERS = 32
_READ_AGAIN_DEADLINE = 5.0
_READ_AT_ONCE = 32
_NOT_CONFIRMED = "the device did not confirm in time"


class DrivenPlant:
    """A plant that is driven from `start` to `stop`."""

    def __init__(
        self,
        plant_id: Id,
        context: DrivingContext,
        *,
        on_stopping: Callable[["DrivenPlant"], None],
        after: "DrivenPlant | None" = None,
        real: bool = False,
    ) -> None:
        """`after` is the earlier object of this plant, if that object is still stopping. `start` and `stop` wait for its end.

        `real`: the plant is known to have a real device.
        """
        self.id = plant_id
        self._context = context
        self._clock, self._recorder, self._orders = context.clock, context.recorder, context.orders
        self._on_stopping = on_stopping
        earlier = None if after is None else after.stopping
        self._attachment = Attachment(
            plant_id, context, earlier, load=self._load, after_load=self._after_load, on_absent=self.report_absent
        )
        self._attachment.is_real = real
        self.refresh_later = self._attachment.renew_later
        self._calls = DriverCalls(plant_id, context.clock, self._stop_idle_plants)
        self._outcomes: OrderedDict[str, tuple[Order, Outcome[Report]]] = OrderedDict()
        self._overlay: FaultOverlay | None = None
        self._exists = False  # Whether the store has the plant. If it has not, new orders are not stored.
        self._alerts = Alerts()
        self._reading_again: set[asyncio.Task[None]] = set()
        self.stopping: asyncio.Task[None] | None = None
        self.last_use = 0

    # life cycle

    def start(self) -> None:
        """Read the plant from the store and attach it to its drivers, in the background."""
        self._attachment.renew()

    def refresh(self, driver: str | None = None) -> None:
        """Read the plant from the store again and attach it to this driver (None means all drivers), in the background."""
        self._attachment.renew(driver)

    async def loaded(self) -> None:
        """If the plant is being read from the store now, wait until this read has succeeded or failed."""
        if self._attachment.loading is not None:
            await asyncio.wait((self._attachment.loading,))

    async def hand_over(self) -> None:
        """Wait until the running calls have ended, then stop driving the plant. The caller must not start new calls."""
        await self._calls.finish()
        await self.stop()

    async def stop(self, *, detach: bool = True) -> None:
        """End all calls and detach the modules.

        If `detach` is False, the modules stay attached. This is for the end of the process, when the drivers stop too.
        """
        self.begin_stop()
        work = self.list_work()
        for task in work:
            if not (detach and task is self.stopping):
                task.cancel()
        await asyncio.gather(*work, self._calls.stop(), return_exceptions=True)

    def begin_stop(self) -> None:
        """Start to detach the modules, in the background. Running calls are not cancelled."""
        if self.stopping is None:
            self._attachment.end()
            self.stopping = asyncio.create_task(self._detach(), name=f"detach plant {self.id}")
            self._on_stopping(self)

    async def _detach(self) -> None:
        try:
            await self._attachment.detach_all()
            self._recorder.forget(self._attachment.driver_of)
        finally:
            self._context.slots.release(self)

    @property
    def is_idle(self) -> bool:
        return self._calls.running == 0 and self._attachment.loading is None

    @property
    def stuck_calls(self) -> int:
        return self._calls.stuck

    def is_attached_to(self, driver: str) -> bool:
        return driver in self._attachment.attached

    def has_modules_of(self, driver: str) -> bool:
        return driver in self._attachment.devices_of

    def list_work(self) -> list[asyncio.Task[None]]:
        """Return the running tasks that read the plant from the store, attach or detach modules, or read modules again."""
        stopping = () if self.stopping is None else (self.stopping,)
        return [*self._attachment.list_work(), *self._reading_again, *stopping]

    def _stop_idle_plants(self) -> None:
        if self._context.slots.waiting:
            self._context.slots.stop_idle()

    # loading

    async def _load(self) -> StoredPlant:
        """Read the plant from the store, and prepare its modules and faults. Raises DeviceOffline if the plant was removed.

        If the stored plant changes while this method waits for a slot (`slots.py`), `refresh` reads the plant again.
        """
        stored = await self._context.store.find_plant(self.id)
        self._exists = stored is not None and stored.plant.status is not PlantStatus.REMOVED
        if stored is None or not self._exists:
            raise DeviceOffline("the module is offline: its plant was removed")
        await self._acquire_slot(stored)
        overlay = overlay_of(stored.injections)
        uncovered = list_uncovered(stored, self._overlay, overlay)
        self._overlay = overlay
        self._recorder.forget([*self._attachment.assign(stored), *uncovered])
        self._recorder.start_from(self._attachment.driver_of, stored.states)
        now = self._clock.now()
        await self._recorder.record(self._alerts.start_from(stored, now, uncovered))
        if overlay is not None:
            await self._recorder.record(self._alerts.complete(list_covered(stored, overlay, now)))
        if uncovered:
            task = asyncio.create_task(self._read_again(uncovered), name=f"read modules of plant {self.id} again")
            self._reading_again.add(task)
            task.add_done_callback(self._reading_again.discard)
        return stored

    async def _acquire_slot(self, stored: StoredPlant) -> None:
        """If no device is real, wait for a slot. Raise DeviceOffline if no slot is free and nothing needs the plant now."""
        slots, attachment = self._context.slots, self._attachment
        attachment.is_real = any(module.driver not in SIMULATED_DRIVERS for module in stored.topology.every_module())
        if attachment.is_real:
            slots.release(self)
        elif not slots.has(self):
            if slots.is_full and not self._calls.running and not attachment.is_loaded:
                raise DeviceOffline("the module is offline: too many simulated plants are in use")
            await slots.acquire(self)

    def _after_load(self) -> None:
        if self._attachment.has_given_up:
            self.begin_stop()
        self._stop_idle_plants()

    # reports

    def accept(self, report: Report) -> Sequence[Report]:
        """Apply injected faults to the report, and compute alerts of emergency controllers. Return the reports to record."""
        if self._overlay is None:
            return self._alerts.complete((report,))
        covered = self._overlay.cover(report, self._clock.now())
        return () if covered is None else self._alerts.complete((covered,))

    async def _report(self, reports: Sequence[Report]) -> None:
        await self._recorder.record([accepted for report in reports for accepted in self.accept(report)])

    def lose_driver(self, name: str) -> None:
        """Remember that the driver has stopped or failed: the plant is not attached to it any more."""
        self._attachment.attached.pop(name, None)

    async def report_absent(self, driver: str, absence: Absence) -> None:
        """Report all modules of the driver as absent. A module that is already absent keeps its reason."""
        now = self._clock.now()
        devices = self._attachment.devices_of.get(driver, ())
        reachable = [module_id for module_id in devices if self._recorder.is_reachable(module_id)]
        await self._report([Report(self.id, module_id, now, reachable=False, absence=absence) for module_id in reachable])

    # orders

    async def execute(self, order: Order) -> Report:
        """Execute the order, and return the report. The execution continues if the caller is cancelled.

        If an earlier order with this id is stored, send nothing: return its answer, or raise OrderKeyTaken if `order.once` is
        True or the command or module is another. Also raises DeviceOffline, DeviceTimeout, DeviceRefused, Internal.
        """
        if order.is_new and self._context.holdings is None:  # No other request and no other gateway has this id.
            return await self._calls.run(order.deadline, partial(self._execute, order)).wait()
        first, outcome = (order, None) if order.once else self._outcomes.get(order.id, (order, None))
        if outcome is None or outcome.has_failed():
            outcome = self._calls.run(order.deadline, partial(self._execute, order))
            self._outcomes[order.id] = (order, outcome)
            if len(self._outcomes) > _REMEMBERED_ORDERS and next(iter(self._outcomes.values()))[1].done():
                self._outcomes.popitem(last=False)
        elif not order.repeats(first):
            raise OrderKeyTaken("this idempotency key was used for another command")
        return await outcome.wait()

    async def _execute(self, order: Order, call: DriverCall) -> Report:
        try:
            driver = await self._wait_for_driver(order.module_id, order.deadline, call)
        except Fault as fault:
            await (self._orders.reject if self._exists else self._orders.end)(order, fault)
            raise
        known = await self._orders.begin(order)
        if known is not None:
            return answer_again(known)
        try:
            self._check_time(order.deadline, call)
            call.give_to_driver(on_late=lambda: self._orders.end(order, DeviceTimeout(_NOT_CONFIRMED)))
            await self._inject_fault(order.module_id, is_order=True)
            report = await ask_driver(driver, driver.execute(order), order.module_id, find_breach)
        except Fault as fault:
            if not (call.at_driver and call.late):
                call.take_back()
                await self._orders.end(order, fault)
            raise
        call.take_back()
        if call.late:
            await self._report((report,))  # too late for the caller, but the module has this state
            raise DeviceTimeout(_NOT_CONFIRMED)
        # There must be no await between the answer and this line, so that the report cannot overwrite a later report.
        now = self._clock.now()
        recorded = report if self._overlay is None else cover_answer(self._overlay, report, now)
        await self._recorder.confirm(OrderEnd(order.id, OrderState.CONFIRMED, now), recorded)
        return report

    # questions

    async def read(self, module_id: Id, deadline: float) -> Report:
        """Ask the module. Record readings and any new state. Raises DeviceOffline, DeviceTimeout, DeviceRefused, Internal."""
        return await self._calls.ask(deadline, partial(self._read, module_id, deadline, False))

    async def _read(self, module_id: Id, deadline: float, always: bool, call: DriverCall) -> Report:
        """Ask the driver for the state of the module. `always`: record the state even if it is not new."""
        await self._wait_loaded(module_id, deadline, call)
        now = self._clock.now()
        if self._overlay is not None and (injected := self._overlay.report_absence(self.id, module_id, now)) is not None:
            return injected
        if (absence := self._attachment.find_absence(module_id)) is not None:
            answer = Report(self.id, module_id, now, reachable=False, absence=absence)
        else:
            driver = self._find_driver(module_id)
            call.give_to_driver()
            await self._inject_fault(module_id)
            answer = await ask_driver(driver, driver.read(self.id, module_id, deadline), module_id, find_breach)
            call.take_back()
            if self._overlay is not None:
                answer = cover_answer(self._overlay, answer, self._clock.now())
        report, *alerts = self._alerts.complete((answer,))
        await self._recorder.record(alerts)
        is_new = always or self._recorder.is_new(report)
        recorded = report if is_new else Report(self.id, module_id, now, reachable=report.reachable, readings=report.readings)
        if is_new or report.readings:
            # The caller gets the answer even if it cannot be recorded. The recorder logs the error.
            with suppress(Fault):
                await self._recorder.record_answer(recorded)
        return report

    async def take_picture(self, module_id: Id, deadline: float) -> Picture:
        """Take a picture. It is not recorded. Raises DeviceOffline, DeviceTimeout, DeviceRefused, Internal."""
        return await self._calls.ask(deadline, partial(self._take_picture, module_id, deadline))

    async def _take_picture(self, module_id: Id, deadline: float, call: DriverCall) -> Picture:
        driver = await self._wait_for_driver(module_id, deadline, call)
        call.give_to_driver()
        await self._inject_fault(module_id)
        return await ask_driver(driver, driver.take_picture(self.id, module_id, deadline), module_id, find_picture_breach)

    async def _read_again(self, module_ids: Sequence[Id]) -> None:
        """Ask modules for their true states after an injected fault was cleared."""
        at_once = asyncio.Semaphore(_READ_AT_ONCE)

        async def read_again(module_id: Id) -> None:
            async with at_once:
                deadline = self._clock.now() + _READ_AGAIN_DEADLINE
                try:
                    await self._calls.ask(deadline, partial(self._read, module_id, deadline, True))
                except Fault as fault:
                    now = self._clock.now()
                    offline = isinstance(fault, DeviceOffline)
                    absence = Absence(AbsenceReason.CONNECTION_LOST, now, fault.message) if offline else None
                    await self._report((Report(self.id, module_id, now, reachable=not offline, absence=absence),))

        await asyncio.gather(*map(read_again, module_ids))

    # asking a driver

    async def _wait_for_driver(self, module_id: Id, deadline: float, call: DriverCall) -> Driver:
        """Wait until the module is attached, and return its driver. Raises DeviceOffline, DeviceTimeout, Internal."""
        await self._wait_loaded(module_id, deadline, call)
        if self._overlay is not None and self._overlay.find(module_id, InjectedFault.OFFLINE, self._clock.now()):
            raise DeviceOffline("the device is offline")
        return self._find_driver(module_id)

    async def _wait_loaded(self, module_id: Id, deadline: float, call: DriverCall) -> None:
        """Wait until the plant is read from the store and the module's driver has tried to attach the module."""
        self.last_use = next(self._context.uses)
        attachment = self._attachment
        name = attachment.driver_of.get(module_id, "")
        if attachment.problem is not None:
            attachment.renew()
        elif (name in attachment.failed or name not in attachment.attached) and attachment.can_retry(name):
            attachment.renew(name)
        while (work := attachment.loading or attachment.pending.get(attachment.driver_of.get(module_id, ""))) is not None:
            await asyncio.wait((work,))
        if attachment.problem is not None:
            attachment.raise_problem()
        self._check_time(deadline, call)

    def _find_driver(self, module_id: Id) -> Driver:
        name = self._attachment.driver_of.get(module_id, "")
        driver = self._attachment.attached.get(name)
        if driver is None or name in self._attachment.failed:
            raise self._attachment.explain(module_id)
        return driver

    async def _inject_fault(self, module_id: Id, *, is_order: bool = False) -> None:
        if self._overlay is not None:
            now = self._clock.now()
            if self._overlay.find(module_id, InjectedFault.SLOW, now):
                await asyncio.get_running_loop().create_future()  # waits until the deadline cancels it
            if is_order and self._overlay.find(module_id, InjectedFault.REFUSING, now):
                raise DeviceRefused("the device refuses all commands")

    def _check_time(self, deadline: float, call: DriverCall) -> None:
        if call.late or self._clock.now() >= deadline:
            raise DeviceTimeout("the device was not asked: the deadline had passed")
        if self._context.holdings is not None and self._context.holdings.epoch_of(self.id) is None:
            raise DeviceOffline("the module is offline: another gateway drives its plant now")
