"""A simulated module in its plant: its device, how it behaves, and what was last reported of it."""

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


class Simulated:
    """A module (a scene has no device), and what the world knows of it."""

    __slots__ = ("_kind", "_options", "absence", "behaviour", "device", "id", "name", "reachable", "reported", "vouched_for")

    def __init__(self, module: Module, device: Device[Any] | None, reported: State | None, reachable: bool) -> None:
        self.id = module.id
        self.name = module.name
        self._kind = module.kind
        self._options = _lasting(module.options)
        self.device = device
        self.reported = reported
        self.reachable = reachable
        self.vouched_for = True
        """Whether what was reported came from a driver, and has not been unheard of since."""
        self.behaviour = Behaviour.NORMAL
        self.absence: Absence | None = None

    def still_is(self, module: Module) -> bool:
        """Whether the device may go on: it is of that kind, and no option but its behaviour is different."""
        return self._kind is module.kind and self._options == _lasting(module.options)

    def behave(self, module: Module, now: float) -> None:
        """As the module's options say. Since when it is absent is kept for as long as the reason is the same."""
        self.name = module.name
        if not self.is_heard:
            self.vouched_for = False
        self.behaviour = behaviour_of(module.options)
        problems = [f"{'.'.join(map(str, path))}: {words}" for path, words in find_option_problems(module.kind, module.options)]
        if problems:
            told = Absence(AbsenceReason.MISCONFIGURED, now, "; ".join(problems))
        elif self.behaviour is Behaviour.OFFLINE:
            told = Absence(AbsenceReason.SIMULATED, now, "options: {simulate: offline}")
        else:
            self.absence = None
            return
        before = self.absence
        if before is None or (before.why, before.evidence) != (told.why, told.evidence):
            self.absence = told

    @property
    def is_heard(self) -> bool:
        return self.absence is None and self.behaviour is not Behaviour.SLOW

    @property
    def has_news(self) -> bool:
        if self.device is None or not self.is_heard:
            return False
        state = self.device.state
        return bool(self.device.pending) or not self.reachable or (state is not self.reported and state != self.reported)

    def report(self, plant_id: Id, now: float, *, whole: bool) -> Report:
        """What it is in, with the measures since the last time; not `whole`: without the state if that is the same.

        Of an absent one, what it was last in is said only if nobody was ever told.
        """
        device = self.device
        if self.absence is not None:
            state = None if device is None or self.reported is not None else device.state
            self.reported, self.reachable = self.reported or state, False
            return Report(plant_id, self.id, now, state=state, reachable=False, absence=self.absence)
        was_reachable, before = self.reachable, self.reported
        self.reachable = self.vouched_for = True
        if device is None:
            return Report(plant_id, self.id, now)
        readings = (*_new_readings(before, device.state), *device.pending)
        device.pending, self.reported = (), device.state
        unchanged = not whole and was_reachable and device.state == before
        return Report(plant_id, self.id, now, state=None if unchanged else device.state, readings=readings)


def _lasting(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "simulate"}


def _new_readings(before: State | None, state: State) -> Iterator[tuple[str, Reading]]:
    for what in MEASURES:
        reading = getattr(state, what, None)
        if reading is not None and reading != getattr(before, what, None):
            yield what, reading
