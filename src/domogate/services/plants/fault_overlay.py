"""Applies injected faults to states and reports.

Clients see the changed states, and drivers get the real states (Decision 0035).
"""

from collections.abc import Sequence

import msgspec

from domogate.domain.devices import EMERGENCY_KINDS, DeviceKind
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.reachability import Absence, AbsenceReason, Evidence
from domogate.domain.safety import Failure, FailureType
from domogate.domain.states import Battery, EmergencyState, RemoteState, Report, State
from domogate.ports import StoredPlant

COVERED_KINDS: dict[InjectedFault, frozenset[DeviceKind]] = {
    InjectedFault.BATTERY: frozenset({DeviceKind.REMOTE}),
    InjectedFault.FAILURE: EMERGENCY_KINDS,
}
"""The faults that change the state of a module, and the kinds of modules that can have each fault."""


class FaultOverlay:
    """The injected faults of one plant. A fault of a module has priority over the same fault of the whole plant."""

    __slots__ = ("_by_module", "_everywhere")

    def __init__(self, injections: Sequence[Injection]) -> None:
        self._everywhere = {injection.fault: injection for injection in injections if injection.module_id is None}
        self._by_module: dict[Id, dict[InjectedFault, Injection]] = {}
        for injection in injections:
            if injection.module_id is not None:
                self._by_module.setdefault(injection.module_id, {})[injection.fault] = injection

    def find(self, module_id: str, fault: InjectedFault, now: float | None = None) -> Injection | None:
        """Return the injection of this fault that is in effect at the time `now`.

        If `now` is None, an injection that has ended is also returned.
        """
        for injections in (self._by_module.get(Id(module_id)), self._everywhere):
            injection = injections.get(fault) if injections else None
            if injection is not None and (now is None or injection.holds(now)):
                return injection
        return None

    def faults_of(self, module_id: Id) -> set[InjectedFault]:
        return {fault for fault in _FAULTS_OF_DEVICES if self.find(module_id, fault) is not None}

    def true_state(self, module_id: Id, state: State | None) -> State | None:
        """Return the real state of the module.

        This is the state that an injected fault replaced. If no fault replaced the state, return `state`.
        """
        for fault in COVERED_KINDS:
            injection = self.find(module_id, fault)
            if injection is not None and injection.covers is not None:
                return injection.covers
        return state

    def cover_state(self, module_id: str, state: State | None, now: float | None = None) -> State | None:
        """Return the state with the injected battery level or failure.

        If `state` is None, make a state with only this value. Without such a fault, return `state`.
        """
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
        """Return the report with the injected faults.

        Return None if the fault `offline` or `slow` is injected into the module. Then clients get no reports of the module.
        """
        if self.find(report.module_id, InjectedFault.OFFLINE, now) or self.find(report.module_id, InjectedFault.SLOW, now):
            return None
        state = report.state and self.cover_state(report.module_id, report.state, now)
        return report if state is report.state else msgspec.structs.replace(report, state=state)

    def report_absence(self, plant_id: Id, module_id: Id, now: float) -> Report | None:
        """Return a report which says that the module cannot be reached.

        Return None if the fault `offline` is not injected into the module.
        """
        injection = self.find(module_id, InjectedFault.OFFLINE, now)
        if injection is None:
            return None
        absence = Absence.of(
            AbsenceReason.INJECTED, now, Evidence.MODULE_FAULT if injection.module_id else Evidence.PLANT_FAULT
        )
        return Report(plant_id, module_id, now, reachable=False, absence=absence)


_FAULTS_OF_DEVICES = (
    InjectedFault.OFFLINE,
    InjectedFault.SLOW,
    InjectedFault.REFUSING,
    InjectedFault.BATTERY,
    InjectedFault.FAILURE,
)


def overlay_of(injections: Sequence[Injection]) -> FaultOverlay | None:
    """Return the fault overlay of these injected faults, or None if there are no faults."""
    return FaultOverlay(injections) if injections else None


def cover_answer(overlay: FaultOverlay, answer: Report, now: float) -> Report:
    """Return the answer of a driver with the injected faults.

    Also apply the faults that were injected after the driver got the question or order.
    """
    absent = overlay.report_absence(Id(answer.plant_id), Id(answer.module_id), now)
    if absent is not None:
        return absent
    return msgspec.structs.replace(answer, state=answer.state and overlay.cover_state(answer.module_id, answer.state, now))


def is_injected(absence: Absence | None) -> bool:
    return absence is not None and absence.why is AbsenceReason.INJECTED


def list_covered(stored: StoredPlant, overlay: FaultOverlay, now: float) -> list[Report]:
    """Return one report for each module whose stored state does not show its injected fault yet.

    The report has the state or the absence that the fault causes.
    """
    reports = []
    for module in stored.topology.every_device():
        known = stored.states.get(module.id)
        offline = overlay.report_absence(stored.plant.id, module.id, now)
        if offline is not None:
            if known is None or not is_injected(known.absence):
                reports.append(offline)
            continue
        state = known.state if known is not None else None
        covered = overlay.cover_state(module.id, state, now)
        if covered != state:
            reachable, absence = (True, None) if known is None else (known.reachable, known.absence)
            reports.append(Report(stored.plant.id, module.id, now, state=covered, reachable=reachable, absence=absence))
    return reports


def list_uncovered(stored: StoredPlant, before: FaultOverlay | None, after: FaultOverlay | None) -> list[Id]:
    """Return the modules with a cleared fault. Such a fault is in the overlay `before`, but not in the overlay `after`.

    Also return the modules whose stored absence comes from a fault `offline` that is not in `after`.
    """
    uncovered = []
    for module in stored.topology.every_device():
        known = stored.states.get(module.id)
        faults_before = set() if before is None else before.faults_of(module.id)
        faults_after = set() if after is None else after.faults_of(module.id)
        still_absent = known is not None and is_injected(known.absence) and InjectedFault.OFFLINE not in faults_after
        if still_absent or faults_before - faults_after:
            uncovered.append(module.id)
    return uncovered
