"""A simulated module: its device, its behaviour, and its last report."""

from collections.abc import Iterator, Mapping
from typing import Any

from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import Reading, Report, State
from domogate.drivers.simulator.behaviour import Behaviour, behaviour_of
from domogate.drivers.simulator.device import Device
from domogate.drivers.simulator.options import find_option_problems

MEASURES = ("power", "energy", "temperature", "humidity")


class SimulatedModule:
    """A module and what was reported about it. A scene has no device."""

    __slots__ = ("_kind", "_options", "absence", "behaviour", "confirmed", "device", "id", "name", "reachable", "reported")

    def __init__(self, module: Module, device: Device[Any] | None, reported: State | None, reachable: bool) -> None:
        self.id = module.id
        self.name = module.name
        self._kind = module.kind
        self._options = _permanent(module.options)
        self.device = device
        self.reported = reported
        self.reachable = reachable
        self.confirmed = True
        """Whether a driver reported its state, and it has responded since."""
        self.behaviour = Behaviour.NORMAL
        self.absence: Absence | None = None

    def matches(self, module: Module) -> bool:
        """Whether the device can be kept: same kind, and no option differs except its behaviour."""
        return self._kind is module.kind and self._options == _permanent(module.options)

    def apply_options(self, module: Module, now: float) -> None:
        """Apply the behaviour from the module's options. The start of an absence is kept while its reason is the same."""
        self.name = module.name
        if not self.responds:
            self.confirmed = False
        self.behaviour = behaviour_of(module.options)
        problems = [f"{'.'.join(map(str, path))}: {words}" for path, words in find_option_problems(module.kind, module.options)]
        if problems:
            absence = Absence(AbsenceReason.MISCONFIGURED, now, "; ".join(problems))
        elif self.behaviour is Behaviour.OFFLINE:
            absence = Absence(AbsenceReason.SIMULATED, now, "options: {simulate: offline}")
        else:
            self.absence = None
            return
        before = self.absence
        if before is None or (before.why, before.evidence) != (absence.why, absence.evidence):
            self.absence = absence

    @property
    def responds(self) -> bool:
        return self.absence is None and self.behaviour is not Behaviour.SLOW

    @property
    def has_changes(self) -> bool:
        if self.device is None or not self.responds:
            return False
        state = self.device.state
        return bool(self.device.pending) or not self.reachable or (state is not self.reported and state != self.reported)

    def report(self, plant_id: Id, now: float, *, whole: bool) -> Report:
        """Its state and its readings since the last report. Without `whole` an unchanged state is left out.

        The report of an absent module has its last state only if that was never reported.
        """
        device = self.device
        if self.absence is not None:
            state = None if device is None or self.reported is not None else device.state
            self.reported, self.reachable = self.reported or state, False
            return Report(plant_id, self.id, now, state=state, reachable=False, absence=self.absence)
        was_reachable, before = self.reachable, self.reported
        self.reachable = self.confirmed = True
        if device is None:
            return Report(plant_id, self.id, now)
        readings = (*_new_readings(before, device.state), *device.pending)
        device.pending, self.reported = (), device.state
        unchanged = not whole and was_reachable and device.state == before
        return Report(plant_id, self.id, now, state=None if unchanged else device.state, readings=readings)


def _permanent(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "simulate"}


def _new_readings(before: State | None, state: State) -> Iterator[tuple[str, Reading]]:
    for what in MEASURES:
        reading = getattr(state, what, None)
        if reading is not None and reading != getattr(before, what, None):
            yield what, reading
