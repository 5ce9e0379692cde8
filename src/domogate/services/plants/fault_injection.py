"""Injects and clears faults. Faults with an end are cleared automatically (Decision 0035)."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Protocol

from domogate.common.log import get_logger
from domogate.common.tasks import cancel, wait_for_event
from domogate.domain.devices import DeviceKind
from domogate.domain.events import Change, ChangesLost, PlantChanged
from domogate.domain.faults import NoSuchModule, NoSuchPlant, ValueOutOfRange
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.plants import PlantStatus
from domogate.domain.safety import FailureType
from domogate.domain.states import Battery
from domogate.ports import Audit, Clock, FaultStore, PlantStore, StoredPlant
from domogate.services.audit import COMMAND_LINE, GATEWAY, AuditAction, AuditResult
from domogate.services.plants.fault_overlay import COVERED_KINDS

_log = get_logger(__name__)

_CHECK_EVERY = 60.0
"""The longest time in seconds between two searches for ended faults."""
_RETRY = 5.0

_VALUES: dict[InjectedFault, frozenset[str]] = {
    InjectedFault.BATTERY: frozenset(Battery),
    InjectedFault.FAILURE: frozenset(FailureType),
}


class InjectionStore(FaultStore, PlantStore, Protocol):
    """The parts of the store that have the plants and the injected faults."""


class FaultInjector:
    """Injects, lists and clears faults, for operators and for developers of applications."""

    def __init__(self, store: InjectionStore, clock: Clock, audit: Audit) -> None:
        self._store = store
        self._clock = clock
        self._audit = audit

    async def inject(
        self,
        plant_id: Id,
        module_id: Id | None,
        fault: InjectedFault,
        value: str = "",
        until: float | None = None,
        *,
        who: str = COMMAND_LINE,
        address: str = "",
    ) -> Sequence[Injection]:
        """Inject a fault into a module, or into the whole plant if `module_id` is None. Return the injections.

        Usually there is one injection. But BATTERY or FAILURE can be injected into a whole plant. Then each module that can
        have this fault gets its own injection.

        Raises NoSuchPlant if the plant does not exist or was removed. Raises ValueOutOfRange if the fault cannot have this
        value, or if `until` has passed. Raises NoSuchModule if there is no such module, or if the module cannot have the fault
        with this value. For a whole plant, raises NoSuchModule if no module can have the fault with this value.
        """
        _check_value(fault, value)
        if until is not None and not self._clock.now() < until:
            raise ValueOutOfRange("the end of the fault is in the past")
        stored = await self._store.find_plant(plant_id)
        if stored is None or stored.plant.status is PlantStatus.REMOVED:
            raise NoSuchPlant("no such plant")
        targets = _find_targets(stored, module_id, fault, value)
        injections = tuple(Injection(fault, target, value, until) for target in targets)
        if not await self._store.inject(plant_id, injections):
            raise NoSuchModule("the plant or module was removed meanwhile")
        self._note(AuditResult.OK, who, address, plant_id, module_id, inject=fault, value=value)
        return injections

    async def clear(
        self,
        plant_id: Id | None = None,
        module_id: Id | None = None,
        fault: InjectedFault | None = None,
        *,
        who: str = COMMAND_LINE,
        address: str = "",
    ) -> int:
        """Clear the faults that match all given arguments; None matches everything. Return the number of cleared faults."""
        cleared = await self._store.clear_injections(plant_id, module_id, fault)
        if cleared:
            self._note(AuditResult.OK, who, address, plant_id, module_id, clear=fault or "all", faults=str(cleared))
        return cleared

    async def list(self) -> Sequence[tuple[Id, Injection]]:
        """Return the faults that have not ended, each with its plant."""
        now = self._clock.now()
        return [(plant_id, injection) for plant_id, injection in await self._store.list_injections() if injection.holds(now)]

    async def clear_ended(self) -> float | None:
        """Clear ended faults. Return the time at which the next fault ends, or None if no other fault has an end."""
        injections = await self._store.list_injections()
        now = self._clock.now()
        ended = [(plant_id, injection) for plant_id, injection in injections if not injection.holds(now)]
        if ended:
            await self._store.clear_injections(None, ended_by=now)
            for plant_id, injection in ended:
                self._note(AuditResult.OK, GATEWAY, "", plant_id, injection.module_id, clear=injection.fault, why="over")
        return min((injection.until for _, injection in injections if injection.until and injection.holds(now)), default=None)

    def _note(
        self, result: AuditResult, who: str, address: str, plant_id: Id | None, module_id: Id | None, **detail: str
    ) -> None:
        what = f"plant:{plant_id}" if plant_id else "all plants"
        if module_id is not None:
            what += f" module:{module_id}"
        given = {name: text for name, text in detail.items() if text}
        self._audit.note(AuditAction.PLANT_CHANGED, who=who, what=what, result=result, address=address, detail=given)


def _check_value(fault: InjectedFault, value: str) -> None:
    values = _VALUES.get(fault)
    if values is None:
        if value:
            raise ValueOutOfRange(f"the fault {fault} takes no value")
    elif value not in values:
        raise ValueOutOfRange(f"the value of the fault {fault} is one of: {', '.join(sorted(values))}")


def _find_targets(stored: StoredPlant, module_id: Id | None, fault: InjectedFault, value: str) -> Sequence[Id | None]:
    kinds = _find_kinds(fault, value)
    modules = {module.id: module for module in stored.topology.every_module()}
    if module_id is not None:
        module = modules.get(module_id)
        if module is None:
            raise NoSuchModule("no such module in this plant")
        if kinds is not None and module.kind not in kinds:
            raise NoSuchModule(
                f"the fault {fault} {value} is for modules of kind {' or '.join(sorted(kinds))}; this is a {module.kind}"
            )
        return (module_id,)
    if kinds is None:
        return (None,)
    found = [module.id for module in modules.values() if module.kind in kinds]
    if not found:
        raise NoSuchModule(f"the plant has no module that can have the fault {fault} {value}")
    return found


def _find_kinds(fault: InjectedFault, value: str) -> Collection[DeviceKind] | None:
    """Return the kinds of modules that can have this fault. None means all kinds.

    Failure types BLOCK.… are for units, REMOTE.… for controllers (Spec 2.15).
    """
    if fault is InjectedFault.FAILURE:
        return (DeviceKind.EMERGENCY_UNIT if value.startswith("BLOCK.") else DeviceKind.EMERGENCY_CONTROLLER,)
    return COVERED_KINDS.get(fault)


class FaultExpiry:
    """Removes each injected fault when the time of the fault is over."""

    def __init__(self, injector: FaultInjector, clock: Clock) -> None:
        self._injector = injector
        self._clock = clock
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._clear_in_time(), name="clear injected faults")

    async def stop(self) -> None:
        await cancel(self._task)

    def apply(self, changes: Sequence[Change]) -> None:
        """Wake the task that removes ended faults, if a plant changed. This method is a listener of the store.

        The task sleeps until the next fault ends. The change may be a new fault that ends earlier, also one of another process.
        """
        if any(isinstance(change.event, PlantChanged | ChangesLost) for change in changes):
            self._changed.set()

    async def _clear_in_time(self) -> None:
        while True:
            self._changed.clear()
            try:
                next_end = await self._injector.clear_ended()
                pause = _CHECK_EVERY if next_end is None else min(_CHECK_EVERY, max(0.0, next_end - self._clock.now()))
            except Exception as error:
                _log.error("injected faults not cleared; will retry", exc_info=error)
                pause = _RETRY
            await wait_for_event(self._changed, pause)
