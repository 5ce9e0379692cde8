"""Giving the modules of a plant to their drivers: each driver by itself, under a deadline, again if it did not work out."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import structlog

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import FirstState
from domogate.domain.faults import DeviceOffline, Fault
from domogate.domain.ids import Id
from domogate.domain.plants import PlantStatus
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import Report
from domogate.ports import AttachedModule, Clock, Driver, PlantStore, StoredPlant
from domogate.services.driving.alerts import Alerts
from domogate.services.driving.calls import bounded
from domogate.services.driving.recording import Recording
from domogate.services.driving.supervisor import absence_after
from domogate.services.plants.fault_overlay import NO_FAULTS, FaultOverlay

_log = structlog.get_logger(__name__)

_ATTACH_DEADLINE = 5.0
_DETACH_DEADLINE = 5.0
_FIRST_RETRY, _LONGEST_RETRY = 1.0, 60.0


class DriverHouse(Protocol):
    """Where drivers are found while they run, and why not otherwise: the supervisor."""

    def find(self, name: str) -> Driver | None: ...
    def absence_of(self, name: str) -> Absence: ...


class AwakePlant:
    """A plant that drivers drive now, or will in a moment (`loading`, `attaching`)."""

    __slots__ = (
        "attached",
        "attaching",
        "devices_of",
        "driver_of",
        "failed",
        "has_room",
        "id",
        "is_lasting",
        "is_loaded",
        "loading",
        "overlay",
        "retries",
        "retry",
        "trouble",
        "users",
        "wanted",
    )

    def __init__(self, plant_id: Id) -> None:
        self.id = plant_id
        self.driver_of: dict[Id, str] = {}
        self.devices_of: dict[str, list[Id]] = {}
        """By driver, without the scenes, which are no devices."""
        self.overlay: FaultOverlay = NO_FAULTS
        self.attached: set[str] = set()
        self.attaching: dict[str, asyncio.Task[None]] = {}
        self.failed: dict[str, BaseException] = {}
        """Drivers that could not take their modules on."""
        self.retries = 0
        self.retry: asyncio.TimerHandle | None = None
        self.is_lasting = False
        """It has a real device: it never sleeps, and takes no room from those that do."""
        self.has_room = False
        self.is_loaded = False
        self.wanted: set[str] | None = set()
        """Which drivers are to be attached anew by the loading under way; None: all."""
        self.loading: asyncio.Task[None] | None = None
        self.trouble: Fault | None = None
        self.users = 0

    @property
    def idle(self) -> bool:
        return self.users == 0 and self.loading is None


class Attaching:
    """Loads plants and attaches them; says of modules nobody can drive that they are away, and why."""

    def __init__(
        self,
        store: PlantStore,
        drivers: DriverHouse,
        recording: Recording,
        alerts: Alerts,
        clock: Clock,
        *,
        tell: Callable[[Sequence[Report]], Awaitable[None]],
        on_lifted: Callable[[Id, Sequence[Id]], None],
        on_failed: Callable[[AwakePlant], None],
    ) -> None:
        """`on_lifted`: faults that covered these modules are gone. `on_failed`: a driver could not take the plant on."""
        self._store = store
        self._drivers = drivers
        self._recording = recording
        self._alerts = alerts
        self._clock = clock
        self._tell = tell
        self._on_lifted = on_lifted
        self._on_failed = on_failed

    # attaching

    async def load(self, plant: AwakePlant) -> StoredPlant:
        """Raises DeviceOffline when it is not one to drive."""
        stored = await self._store.find_plant(plant.id)
        if stored is None or stored.plant.status is PlantStatus.REMOVED:
            raise DeviceOffline("nobody drives this plant: it does not exist any more")
        return stored

    async def attach(self, plant: AwakePlant, stored: StoredPlant, wanted: set[str] | None) -> None:
        """Take up what is stored, and begin to attach the drivers (None: all); that goes on behind it."""
        placed = _by_driver(stored)
        before, covered_before = plant.driver_of, plant.overlay
        plant.driver_of = {place.module.id: name for name, places in placed.items() for place in places}
        plant.devices_of = {
            name: [place.module.id for place in places if place.module.kind is not DeviceKind.SCENE]
            for name, places in placed.items()
        }
        plant.overlay = FaultOverlay(stored.injections) if stored.injections else NO_FAULTS
        lifted = list(_lifted(stored, covered_before, plant.overlay))
        self._recording.forget([module_id for module_id in before if module_id not in plant.driver_of])
        self._recording.forget(lifted)
        self._recording.know(plant.driver_of, stored.states)
        now = self._clock.now()
        await self._recording.push(self._alerts.know(stored, now))
        if plant.overlay:
            news = [
                report
                for devices in plant.devices_of.values()
                for module_id in devices
                for report in _covered_news(plant, stored, module_id, now)
            ]
            await self._recording.push(self._alerts.complete(news))
        plant.is_loaded = True
        for name in plant.attached - placed.keys():
            self._begin(plant, name, None)
        for name, places in placed.items():
            if wanted is None or name in wanted:
                await self._begin_or_report(plant, name, places)
        if lifted:
            self._on_lifted(plant.id, lifted)

    async def _begin_or_report(self, plant: AwakePlant, name: str, places: list[AttachedModule]) -> None:
        plant.failed.pop(name, None)
        if self._drivers.find(name) is None:
            _log.warning("no such driver is running", driver=name, plant_id=plant.id, modules=len(places))
            await self.report_missing(plant, name)
        else:
            self._begin(plant, name, places)

    def _begin(self, plant: AwakePlant, name: str, places: list[AttachedModule] | None) -> None:
        earlier = plant.attaching.get(name)
        task = asyncio.create_task(self._attach_to(plant, name, places, earlier), name=f"attach plant {plant.id} to {name}")
        plant.attaching[name] = task

    async def _attach_to(
        self, plant: AwakePlant, name: str, places: list[AttachedModule] | None, earlier: asyncio.Task[None] | None
    ) -> None:
        """Attach these; None: detach."""
        try:
            if earlier is not None:
                await asyncio.wait((earlier,))
            if plant.attaching.get(name) is not asyncio.current_task():
                return  # something newer is to be attached already
            if places is None:
                await self.detach_from(plant, name)
            elif (driver := self._drivers.find(name)) is not None:
                plant.attached.add(name)
                await bounded(_ATTACH_DEADLINE, driver.attach(plant.id, places))
                plant.retries = 0
        except Exception as error:
            _log.error("driver could not attach the plant", driver=name, plant_id=plant.id, exc_info=error)
            plant.failed[name] = error
            await self._report_absent(plant, name, absence_after(error, self._clock.now()))
            self._on_failed(plant)
        finally:
            if plant.attaching.get(name) is asyncio.current_task():
                del plant.attaching[name]

    def retry_pause(self, plant: AwakePlant) -> float:
        """How long to wait before the next try, longer each time."""
        pause = min(_LONGEST_RETRY, _FIRST_RETRY * 2.0 ** min(plant.retries, 16))
        plant.retries += 1
        return pause

    async def detach_from(self, plant: AwakePlant, name: str) -> None:
        plant.attached.discard(name)
        driver = self._drivers.find(name)
        if driver is None:
            return
        try:
            await bounded(_DETACH_DEADLINE, driver.detach(plant.id))
        except Exception as error:
            _log.error("driver could not detach the plant", driver=name, plant_id=plant.id, exc_info=error)

    # modules nobody drives

    async def report_missing(self, plant: AwakePlant, name: str) -> None:
        """The driver is not running: its modules are away."""
        await self._report_absent(plant, name, self._drivers.absence_of(name))

    async def _report_absent(self, plant: AwakePlant, name: str, absence: Absence) -> None:
        """Say of all modules of this driver that they are away. Those that were before stay so for the reason they had."""
        now = self._clock.now()
        devices = [module_id for module_id in plant.devices_of.get(name, ()) if self._recording.is_reachable(module_id)]
        if devices:
            await self._tell([Report(plant.id, module_id, now, reachable=False, absence=absence) for module_id in devices])


def is_lasting(stored: StoredPlant, may_sleep: frozenset[str]) -> bool:
    """Whether it has a module that only a driver of real devices moves."""
    return any(module.driver not in may_sleep for module in stored.topology.every_module())


def _by_driver(stored: StoredPlant) -> dict[str, list[AttachedModule]]:
    """What a driver is to go on from is what is true, not what an injected fault makes of it."""
    overlay = FaultOverlay(stored.injections) if stored.injections else NO_FAULTS
    placed: dict[str, list[AttachedModule]] = {}
    for module in stored.topology.every_module():
        known = stored.states.get(module.id)
        if known is None:
            last = FirstState(module.id)
        else:
            state = overlay.true_state(module.id, known.state) if overlay else known.state
            last = FirstState(module.id, state, known.reachable or _is_injected(known.absence))
        placed.setdefault(module.driver, []).append(AttachedModule(module, last, 0.0 if known is None else known.at))
    return placed


def _is_injected(absence: Absence | None) -> bool:
    return absence is not None and absence.why is AbsenceReason.INJECTED


def _covered_news(plant: AwakePlant, stored: StoredPlant, module_id: Id, now: float) -> Sequence[Report]:
    """What an injected fault makes of the module, if nobody was told yet."""
    known = stored.states.get(module_id)
    absence = plant.overlay.report_absence(plant.id, module_id, now)
    if absence is not None:
        return () if known is not None and _is_injected(known.absence) else (absence,)
    state = known.state if known is not None else None
    covered = plant.overlay.cover_state(module_id, state, now)
    if covered == state:
        return ()
    if known is None:
        return (Report(plant.id, module_id, now, state=covered),)
    return (Report(plant.id, module_id, now, state=covered, reachable=known.reachable, absence=known.absence),)


def _lifted(stored: StoredPlant, before: FaultOverlay, after: FaultOverlay) -> Sequence[Id]:
    """Modules of which something was covered, or said to be away, that is not any more."""
    lifted = []
    for module in stored.topology.every_module():
        if module.kind is DeviceKind.SCENE:
            continue
        known = stored.states.get(module.id)
        left_over = known is not None and _is_injected(known.absence) and not after.is_offline(module.id)
        if left_over or (before and before.faults_of(module.id) - after.faults_of(module.id)):
            lifted.append(module.id)
    return lifted
