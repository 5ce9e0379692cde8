"""Attaches the modules of a plant to their drivers. Each driver has its own task and deadline."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from copy import copy
from typing import NoReturn, Protocol

from domogate.common.log import get_logger
from domogate.common.tasks import bounded
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import FirstState
from domogate.domain.faults import DeviceOffline, Fault, Internal
from domogate.domain.ids import Id
from domogate.domain.reachability import Absence
from domogate.ports import AttachedModule, Clock, Driver, Holdings, PlantStore, StoredPlant, StoreUnavailable
from domogate.services.driving.recorder import Orders, Recorder
from domogate.services.driving.slots import PlantSlots
from domogate.services.driving.supervisor import absence_after
from domogate.services.plants.fault_overlay import is_injected, overlay_of

_log = get_logger(__name__)

_ATTACH_DEADLINE = 5.0
_DETACH_DEADLINE = 5.0
_FIRST_RETRY, _LONGEST_RETRY = 1.0, 60.0
_LOST_PAUSE = 10.0
"""Seconds until a plant is attached again after the store could not write its reports."""
STOPPING = "the module is offline: the gateway is stopping"


class RunningDrivers(Protocol):
    """Finds running drivers, and says why a driver is not running. The supervisor implements this interface."""

    def find(self, name: str) -> Driver | None: ...
    def absence_of(self, name: str) -> Absence: ...


class DrivingContext:
    """The objects that all driven plants share."""

    def __init__(
        self,
        store: PlantStore,
        drivers: RunningDrivers,
        recorder: Recorder,
        orders: Orders,
        slots: PlantSlots,
        clock: Clock,
        holdings: Holdings | None,
    ) -> None:
        self.store = store
        self.drivers = drivers
        self.recorder = recorder
        self.orders = orders
        self.slots = slots
        self.clock = clock
        self.uses = itertools.count(1)
        self.holdings = holdings


class Attachment:
    """Attaches one plant to its drivers. It does this again after a change of the plant, and retries after a failure."""

    def __init__(
        self,
        plant_id: Id,
        context: DrivingContext,
        earlier: asyncio.Task[None] | None,
        *,
        load: Callable[[], Awaitable[StoredPlant]],
        after_load: Callable[[], None],
        on_absent: Callable[[str, Absence], Awaitable[None]],
    ) -> None:
        """`earlier` is the task that ends the earlier attachment of this plant.

        The new attachment waits for this task before it reads the plant from the store. `detach_all` also waits for this task
        before it detaches the plant.

        `load` reads the plant from the store. `after_load` is called after `load`, even if `load` failed.

        `on_absent` is called if a driver is not running or could not attach its modules.
        """
        self._plant_id = plant_id
        self._drivers = context.drivers
        self._clock = context.clock
        self._load = load
        self._after_load = after_load
        self._on_absent = on_absent
        self._earlier = earlier
        self.driver_of: dict[Id, str] = {}
        self.devices_of: dict[str, list[Id]] = {}
        """The modules of each driver. Scenes are not included, because they are not devices."""
        self.attached: dict[str, Driver] = {}
        self.failed: dict[str, BaseException] = {}
        """The drivers that could not attach the plant, with the reason."""
        self.pending: dict[str, asyncio.Task[None]] = {}
        """For each driver, the running task that attaches or detaches the plant."""
        self.loading: asyncio.Task[None] | None = None
        self.problem: Fault | None = None
        """The reason why the plant could not be loaded."""
        self.is_real = False
        """True if the plant has a real device. Then the plant is loaded even if no request needs it."""
        self.is_loaded = False
        self._to_attach: set[str] | None = None
        """The drivers to which the plant is attached when the running or next load ends; None means all drivers."""
        self._retry: asyncio.TimerHandle | None = None
        self._retries = 0
        self._retry_all = False
        """True if the next retry must attach the plant to all drivers, not only to those that failed."""
        self._ended = False

    # loading

    def renew(self, driver: str | None = None) -> None:
        """In the background, read the plant from the store again and attach it to this driver (None means all drivers)."""
        if driver is None:
            self._to_attach = None
        elif self._to_attach is not None:
            self._to_attach.add(driver)
        if self.loading is None and not self._ended:
            self.loading = asyncio.create_task(self._renew(), name=f"load plant {self._plant_id}")

    async def _renew(self) -> None:
        self.problem = None
        try:
            if self._earlier is not None:
                await asyncio.wait((self._earlier,))
            while self._to_attach is None or self._to_attach:
                names, self._to_attach = self._to_attach, set()
                stored = await self._load()
                if not self.is_loaded:
                    if not self._retry_all:
                        self._cancel_retry()
                    self.is_loaded = True
                await self._attach(stored, names)
        except Fault as fault:
            self._cancel_retry()
            self.problem = fault
        except asyncio.CancelledError:
            self.problem = DeviceOffline(STOPPING)
            raise
        except Exception as error:
            _log.error("plant not loaded", plant_id=self._plant_id, exc_info=error)
            self._to_attach = None  # Perhaps every driver needs the changes that this load did not read.
            if not self.is_loaded:
                self.problem = Internal("the plant could not be loaded", is_temporary=isinstance(error, StoreUnavailable))
            if self.is_loaded or self.is_real:
                self._retry_later()
        finally:
            self.loading = None
            self._after_load()

    @property
    def has_given_up(self) -> bool:
        """Whether the plant could not be loaded and no retry is planned."""
        return self.problem is not None and self._retry is None

    def renew_later(self) -> None:
        """After `_LOST_PAUSE` seconds, read the plant from the store again and attach it to all drivers.

        Call this if reports could not be written to the store. The drivers get the stored states, and report each
        module whose present state differs from its stored state.
        """
        self._retry_all = True
        self._plan_retry(_LOST_PAUSE)

    def _retry_later(self) -> None:
        """After a pause, read the plant from the store again, and attach it to the drivers in `failed`.

        If `failed` is empty, attach the plant to all drivers. The pauses become longer, up to `_LONGEST_RETRY` seconds.
        """
        if self._retry is None:
            self._plan_retry(min(_LONGEST_RETRY, _FIRST_RETRY * 2.0 ** min(self._retries, 16)))
            self._retries += 1

    def _plan_retry(self, pause: float) -> None:
        if self._retry is None and not self._ended:
            self._retry = asyncio.get_running_loop().call_later(pause, self._retry_now)

    def _retry_now(self) -> None:
        self._retry = None
        if self._retry_all or not self.failed:
            self._retry_all = False
            self.renew()
        for name in self.failed:
            self.renew(name)

    def _cancel_retry(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def end(self) -> None:
        """Never read the plant from the store again. If a retry is planned, cancel it."""
        self._ended = True
        self._cancel_retry()

    def list_work(self) -> list[asyncio.Task[None]]:
        return [*((self.loading,) if self.loading is not None else ()), *self.pending.values()]

    def raise_problem(self) -> NoReturn:
        """Raise a copy of the exception that says why the plant could not be read from the store."""
        assert self.problem is not None
        raise copy(self.problem)

    # which driver has a module

    def explain(self, module_id: Id) -> DeviceOffline:
        """Return the fault that says why the gateway cannot call a driver for the module."""
        name = self.driver_of.get(module_id)
        if name is None:
            return DeviceOffline("the module is offline: it was removed from the plant")
        if name in self.failed:
            return DeviceOffline(f"the module is offline: its driver '{name}' could not attach it")
        return DeviceOffline(f"the module is offline: its driver '{name}' is not running")

    def find_absence(self, module_id: Id) -> Absence | None:
        """Return the reason why the driver of the module cannot be asked, or None if the driver can be asked.

        Also return None if the plant does not have the module.
        """
        name = self.driver_of.get(module_id)
        if name is None:
            return None
        if name not in self.attached:
            return self._drivers.absence_of(name)
        error = self.failed.get(name)
        return None if error is None else absence_after(error, self._clock.now())

    def can_retry(self, name: str) -> bool:
        """Whether this driver can be asked again now to attach its modules.

        Return False if the last attempt ended with a timeout. Then only the planned retry (`_retry_later`) asks the driver.
        """
        if name in self.failed:
            return not isinstance(self.failed[name], TimeoutError)
        return self._drivers.find(name) is not None

    # attaching

    def assign(self, stored: StoredPlant) -> list[Id]:
        """Remember which driver has which module. Return the modules that the plant does not have any more."""
        before = self.driver_of
        modules = list(stored.topology.every_module())
        self.driver_of = {module.id: module.driver for module in modules}
        self.devices_of = {module.driver: [] for module in modules}
        for module in modules:
            if module.kind is not DeviceKind.SCENE:
                self.devices_of[module.driver].append(module.id)
        return [module_id for module_id in before if module_id not in self.driver_of]

    async def _attach(self, stored: StoredPlant, names: set[str] | None) -> None:
        """Start to attach the plant to these drivers (None means all drivers).

        Also start to detach the plant from drivers that have no modules of the plant any more.
        """
        for name in self.attached.keys() - self.devices_of.keys():
            self._begin(name, None)
        for name, modules in _modules_by_driver(stored).items():
            if names is not None and name not in names:
                continue
            self.failed.pop(name, None)
            if self._drivers.find(name) is None:
                _log.warning("driver of a plant is not running", driver=name, plant_id=self._plant_id, modules=len(modules))
                await self._on_absent(name, self._drivers.absence_of(name))
            else:
                self._begin(name, modules)

    def _begin(self, name: str, modules: list[AttachedModule] | None) -> None:
        earlier = self.pending.get(name)
        work = self._attach_or_detach(name, modules, earlier)
        self.pending[name] = asyncio.create_task(work, name=f"attach plant {self._plant_id} to {name}")

    async def _attach_or_detach(
        self, name: str, modules: list[AttachedModule] | None, earlier: asyncio.Task[None] | None
    ) -> None:
        try:
            if earlier is not None:
                await asyncio.wait((earlier,))
            if self.pending.get(name) is not asyncio.current_task():
                return  # a newer task attaches the newer modules
            if modules is None:
                await self._detach(name)
            elif (driver := self._drivers.find(name)) is not None:
                self.attached[name] = driver
                await bounded(_ATTACH_DEADLINE, driver.attach(self._plant_id, modules))
                self._retries = 0
        except Exception as error:
            _log.error("driver could not attach the plant", driver=name, plant_id=self._plant_id, exc_info=error)
            self.failed[name] = error
            await self._on_absent(name, absence_after(error, self._clock.now()))
            self._retry_later()
        finally:
            if self.pending.get(name) is asyncio.current_task():
                del self.pending[name]

    async def detach_all(self) -> None:
        if self._earlier is not None:
            await asyncio.gather(self._earlier, return_exceptions=True)  # If this is cancelled, so is the earlier end.
        if self.pending:
            await asyncio.wait(tuple(self.pending.values()))
        for name in tuple(self.attached):
            await self._detach(name)

    async def _detach(self, name: str) -> None:
        self.attached.pop(name, None)
        driver = self._drivers.find(name)
        if driver is None:
            return
        try:
            await bounded(_DETACH_DEADLINE, driver.detach(self._plant_id))
        except Exception as error:
            _log.error("driver could not detach the plant", driver=name, plant_id=self._plant_id, exc_info=error)


def _modules_by_driver(stored: StoredPlant) -> dict[str, list[AttachedModule]]:
    """Return the modules of each driver. Their states are the true states, without injected faults."""
    overlay = overlay_of(stored.injections)
    by_driver: dict[str, list[AttachedModule]] = {}
    for module in stored.topology.every_module():
        known = stored.states.get(module.id)
        if known is None:
            last = FirstState(module.id)
        else:
            state = known.state if overlay is None else overlay.true_state(module.id, known.state)
            last = FirstState(module.id, state, known.reachable or is_injected(known.absence))
        by_driver.setdefault(module.driver, []).append(AttachedModule(module, last, 0.0 if known is None else known.at))
    return by_driver
