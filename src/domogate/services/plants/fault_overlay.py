"""What injected faults make of what is true of a module: for who reads it, and for who drives it (Decision 0035)."""

from collections.abc import Sequence

import msgspec

from domogate.domain.devices import EMERGENCY_KINDS, DeviceKind
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.safety import Failure, FailureType
from domogate.domain.states import Battery, EmergencyState, RemoteState, Report, State

COVERED_KINDS: dict[InjectedFault, frozenset[DeviceKind]] = {
    InjectedFault.BATTERY: frozenset({DeviceKind.REMOTE}),
    InjectedFault.FAILURE: EMERGENCY_KINDS,
}
"""Faults that show in the state of a module, and the kinds of module whose state has room for them."""


class FaultOverlay:
    """The injected faults of one plant, by module. One of a module comes before one of the whole plant."""

    __slots__ = ("_by_module", "_everywhere")

    def __init__(self, injections: Sequence[Injection] = ()) -> None:
        self._everywhere = {injection.fault: injection for injection in injections if injection.module_id is None}
        self._by_module: dict[Id, dict[InjectedFault, Injection]] = {}
        for injection in injections:
            if injection.module_id is not None:
                self._by_module.setdefault(injection.module_id, {})[injection.fault] = injection

    def __bool__(self) -> bool:
        return bool(self._everywhere or self._by_module)

    def find(self, module_id: str, fault: InjectedFault, now: float | None = None) -> Injection | None:
        """The one that holds now (None: whatever is kept, over or not)."""
        for of in (self._by_module.get(Id(module_id)), self._everywhere):
            injection = of.get(fault) if of else None
            if injection is not None and (now is None or injection.holds(now)):
                return injection
        return None

    def faults_of(self, module_id: Id) -> set[InjectedFault]:
        """Those that stand between the module and whoever asks it."""
        return {fault for fault in _OF_DEVICES if self.find(module_id, fault) is not None}

    def is_offline(self, module_id: Id) -> bool:
        return self.find(module_id, InjectedFault.OFFLINE) is not None

    def true_state(self, module_id: Id, state: State | None) -> State | None:
        """What the module had before it was covered, or else this."""
        for fault in COVERED_KINDS:
            injection = self.find(module_id, fault)
            if injection is not None and injection.covers is not None:
                return injection.covers
        return state

    def cover_state(self, module_id: str, state: State | None, now: float | None = None) -> State | None:
        """With the battery or failure that was injected, if there is one."""
        battery = self.find(module_id, InjectedFault.BATTERY, now)
        if battery is not None and (state is None or isinstance(state, RemoteState)):
            level = Battery(battery.value)
            return RemoteState(battery=level) if state is None else msgspec.structs.replace(state, battery=level)
        failure = self.find(module_id, InjectedFault.FAILURE, now)
        if failure is not None and (state is None or isinstance(state, EmergencyState)):
            failures = (Failure(FailureType(failure.value)),)
            return EmergencyState(failures=failures) if state is None else msgspec.structs.replace(state, failures=failures)
        return state

    def cover(self, report: Report, now: float) -> Report | None:
        """What may be heard of it: nothing of a module that is silenced."""
        if self.find(report.module_id, InjectedFault.OFFLINE, now) or self.find(report.module_id, InjectedFault.SLOW, now):
            return None
        state = report.state and self.cover_state(report.module_id, report.state, now)
        return report if state is report.state else msgspec.structs.replace(report, state=state)

    def report_absence(self, plant_id: Id, module_id: Id, now: float) -> Report | None:
        """For a module that was injected to be offline: that it is."""
        injection = self.find(module_id, InjectedFault.OFFLINE, now)
        if injection is None:
            return None
        evidence = "injected for this module" if injection.module_id else "injected for the whole plant"
        return Report(plant_id, module_id, now, reachable=False, absence=Absence(AbsenceReason.INJECTED, now, evidence))


_OF_DEVICES = (
    InjectedFault.OFFLINE,
    InjectedFault.SLOW,
    InjectedFault.REFUSING,
    InjectedFault.BATTERY,
    InjectedFault.FAILURE,
)

NO_FAULTS = FaultOverlay()
