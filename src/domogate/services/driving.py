"""Where the drivers live: the far end of the fabric.

Expected and unexpected errors are kept apart: what a device may say (offline, no answer, refused) passes through as it is;
anything else a driver raises is logged and becomes a refusal, and nobody else notices.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, zip_longest

import structlog

from domogate.domain.commands import Order
from domogate.domain.events import Change, PlantChanged
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout, Fault
from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.ports import Clock, Driver, Store
from domogate.services.alerts import Alerts
from domogate.services.awake import AwakePlant, AwakePlants
from domogate.services.limits import find_breach
from domogate.services.recording import Recording

_log = structlog.get_logger(__name__)

_REMEMBERED_ORDERS = 4096

_Outcome = asyncio.Future[Report | Fault]
"""What became of an order. A fault is kept as a result, so that each who asks raises one of their own."""


class Driving:
    """The DeviceHost: carries out orders once, asks modules, and records what drivers report."""

    def __init__(self, store: Store, drivers: Mapping[str, Driver], clock: Clock, *, awake_plants: int) -> None:
        self._store = store
        self._clock = clock
        self._drivers = dict(drivers)
        self._awake_plants = awake_plants
        self._recording = Recording(store)
        self._alerts = Alerts()
        self._awake = AwakePlants(store, self._drivers, self._recording, self._alerts, clock, most=max(1, awake_plants))
        self._outcomes: OrderedDict[str, _Outcome] = OrderedDict()
        self._waking: asyncio.Task[None] | None = None

    # lifecycle

    async def start(self) -> None:
        """Start the drivers; plants wake in the background, so that the gateway is ready at once."""
        for name, driver in tuple(self._drivers.items()):
            try:
                await driver.start(self._take_reports)
            except Exception as error:
                _log.error("driver did not start, its modules are offline", driver=name, exc_info=error)
                del self._drivers[name]
        self._waking = asyncio.create_task(self._wake_first_plants(), name="waking of the first plants")

    async def stop(self) -> None:
        """Stop the drivers; what they have said until then is with the store."""
        if self._waking is not None:
            self._waking.cancel()
            with suppress(asyncio.CancelledError):
                await self._waking
        await self._awake.stop()
        for name, driver in self._drivers.items():
            try:
                await driver.stop()
            except Exception as error:
                _log.error("driver did not stop", driver=name, exc_info=error)

    async def settled(self) -> None:
        """Wait until no plant is being attached or detached."""
        if self._waking is not None:
            await asyncio.wait((self._waking,))
        await self._awake.settled()

    def apply(self, changes: Sequence[Change]) -> None:
        """A Listener of the store: modules added and options changed take effect."""
        if self._waking is None:
            return  # before the drivers run there is nothing to attach to, and the start loads what is newest
        for plant_id in {change.event.plant_id for change in changes if isinstance(change.event, PlantChanged)}:
            self._awake.refresh(plant_id)

    async def _wake_first_plants(self) -> None:
        try:
            of_each = [await self._store.list_plant_ids(name, self._awake_plants) for name in self._drivers]
            # One of each driver in turn: no driver takes all the room.
            in_turn = (plant_id for plant_id in chain.from_iterable(zip_longest(*of_each)) if plant_id is not None)
            await self._awake.wake(in_turn)
        except Exception as error:
            _log.error("plants not woken, they will be when they are asked", exc_info=error)

    # orders

    async def execute(self, order: Order) -> Report:
        """Carry the order out, once, and have it on disk. Raises DeviceOffline, DeviceTimeout, DeviceRefused, Internal."""
        known = self._outcomes.get(order.id)
        if known is not None:
            return _same(await asyncio.shield(known))
        outcome = self._outcomes[order.id] = asyncio.get_running_loop().create_future()
        if len(self._outcomes) > _REMEMBERED_ORDERS:
            self._outcomes.popitem(last=False)
        try:
            report = await self._carry_out(order)
        except Fault as fault:
            outcome.set_result(type(fault)(fault.message))
            raise
        except BaseException:
            # Cut off: perhaps done, perhaps not; in no case is it tried again.
            outcome.set_result(DeviceTimeout("the device did not confirm in time"))
            raise
        outcome.set_result(report)
        return report

    async def _carry_out(self, order: Order) -> Report:
        plant = await self._awake.borrow(order.plant_id)
        try:
            driver = self._driver_of(plant, order.module_id)
            if self._clock.now() >= order.deadline:
                raise DeviceTimeout("the device was not told: the time of the order was up")
            report = await _answer_of(driver, driver.execute(order), order.module_id)
            await self._recording.record(report)
            return report
        finally:
            self._awake.give_back(plant)

    # questions

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        """Ask the module; news is recorded. Raises DeviceOffline, DeviceTimeout, DeviceRefused."""
        plant = await self._awake.borrow(plant_id)
        try:
            driver = self._driver_of(plant, module_id)
            if self._clock.now() >= deadline:
                raise DeviceTimeout("the device was not asked: the time of the request was up")
            answer = await _answer_of(driver, driver.read(plant_id, module_id, deadline), module_id)
            report, *of_alerts = self._alerts.complete((answer,))
            await self._recording.push(of_alerts)
            if self._recording.is_news(report):
                # An answer that could not be recorded is still an answer; the recording has said so in the log.
                with suppress(Fault):
                    await self._recording.record(report)
            return report
        finally:
            self._awake.give_back(plant)

    def _driver_of(self, plant: AwakePlant, module_id: Id) -> Driver:
        name = plant.driver_of.get(module_id)
        if name is None:
            raise DeviceOffline("nobody drives this module: it is not in the plant any more")
        driver = self._drivers.get(name)
        if driver is None:
            raise DeviceOffline(f"nobody drives this module: no driver '{name}' is running")
        if name in plant.failed:
            raise DeviceOffline(f"nobody drives this module: its driver '{name}' could not take it on")
        return driver

    # reports

    async def _take_reports(self, reports: Sequence[Report]) -> None:
        await self._recording.push(self._alerts.complete(tuple(_within_limits(reports))))


def _within_limits(reports: Sequence[Report]) -> Iterator[Report]:
    for report in reports:
        breach = find_breach(report)
        if breach is None:
            yield report
        else:
            _log.warning("report passed over", module_id=report.module_id, breach=breach)


async def _answer_of(driver: Driver, asked: Awaitable[Report], module_id: Id) -> Report:
    try:
        report = await asked
    except (DeviceOffline, DeviceTimeout, DeviceRefused):
        raise
    except Exception as error:
        _log.error("driver failed", driver=driver.name, module_id=module_id, exc_info=error)
        raise DeviceRefused("the device's driver failed") from error
    breach = find_breach(report)
    if breach is not None:
        _log.warning("answer refused", driver=driver.name, module_id=module_id, breach=breach)
        raise DeviceRefused("the device answered with a value out of its bounds")
    return report


def _same(outcome: Report | Fault) -> Report:
    if isinstance(outcome, Fault):
        raise type(outcome)(outcome.message)
    return outcome
