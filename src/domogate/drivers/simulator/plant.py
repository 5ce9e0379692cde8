"""A simulated plant: its devices, how each behaves, and what has been reported of it."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import structlog

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import FirstState
from domogate.domain.faults import DeviceOffline
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.reachability import Absence, Why
from domogate.domain.states import Reading, Report, State
from domogate.drivers.simulator.behaviour import Behaviour, behaviour_of
from domogate.drivers.simulator.chance import Chance
from domogate.drivers.simulator.comfort import Heater, Light, Shutter
from domogate.drivers.simulator.device import Device
from domogate.drivers.simulator.entrance import Activation, Camera, Lock
from domogate.drivers.simulator.options import find_option_problems
from domogate.drivers.simulator.power import EnergyMeter, Multisocket, Plug
from domogate.drivers.simulator.thermal import Thermostat
from domogate.drivers.simulator.wear import Emergency, Gateway, Remote
from domogate.ports import Placed

_log = structlog.get_logger(__name__)

DEVICES: dict[DeviceKind, type[Device[Any]]] = {
    DeviceKind.LIGHT: Light,
    DeviceKind.AUTOMATION: Shutter,
    DeviceKind.PLUG: Plug,
    DeviceKind.HEATER: Heater,
    DeviceKind.ENERGYMETER: EnergyMeter,
    DeviceKind.REMOTE: Remote,
    DeviceKind.GATEWAY: Gateway,
    DeviceKind.LOCK: Lock,
    DeviceKind.ACTIVATION: Activation,
    DeviceKind.AUDIOVIDEO_UNIT: Camera,
    DeviceKind.CHRONOTHERMOSTAT: Thermostat,
    DeviceKind.MULTISOCKET: Multisocket,
    DeviceKind.EMERGENCY_CONTROLLER: Emergency,
    DeviceKind.EMERGENCY_UNIT: Emergency,
}
"""By kind. A scene is no device: it has no state and takes no order."""

_MEASURES = ("power", "energy", "temperature", "humidity")


class Simulated:
    """A module in its plant: its device (none for a scene), how it behaves, and what was last reported of it."""

    __slots__ = ("absence", "behaviour", "device", "id", "reachable", "reported")

    def __init__(self, module: Module, device: Device[Any] | None, reported: State | None, reachable: bool) -> None:
        self.id = module.id
        self.device = device
        self.reported = reported
        self.reachable = reachable
        self.behaviour = Behaviour.NORMAL
        self.absence: Absence | None = None

    def behave(self, module: Module, now: float) -> None:
        """As the module's options say. Since when it is absent is kept for as long as the reason is the same."""
        self.behaviour = behaviour_of(module.options)
        problems = [f"{'.'.join(map(str, path))}: {words}" for path, words in find_option_problems(module.kind, module.options)]
        if problems:
            told = Absence(Why.MISCONFIGURED, now, "; ".join(problems))
        elif self.behaviour is Behaviour.OFFLINE:
            told = Absence(Why.SIMULATED, now, "options: {simulate: offline}")
        else:
            self.absence = None
            return
        before = self.absence
        if before is None or (before.why, before.evidence) != (told.why, told.evidence):
            self.absence = told

    def still_is(self, module: Module) -> bool:
        """Whether the device may go on: it is of that kind, and no option but its behaviour is different."""
        if self.device is None:
            return module.kind not in DEVICES
        return self.device.kind is module.kind and _lasting(self.device.options) == _lasting(module.options)

    @property
    def is_heard(self) -> bool:
        return self.absence is None and self.behaviour is not Behaviour.SLOW

    @property
    def has_news(self) -> bool:
        if not self.is_heard or self.device is None:
            return False
        state = self.device.state
        return not self.reachable or (state is not self.reported and state != self.reported)


class SimulatedPlant:
    """All simulated modules of one plant."""

    def __init__(self, plant_id: Id, seed: int) -> None:
        self.id = plant_id
        self._seed = seed
        self._modules: dict[Id, Simulated] = {}

    def find(self, module_id: Id) -> Simulated:
        found = self._modules.get(module_id)
        if found is None:
            raise DeviceOffline("the simulator does not drive this module")
        return found

    def place(self, modules: Sequence[Placed], now: float) -> list[Report]:
        """Simulate these modules and only these; one that is simulated already goes on as it is. Gives what is news."""
        before, self._modules = self._modules, {}
        reports: list[Report] = []
        # Meters last: they measure what the others draw.
        for placed in sorted(modules, key=lambda placed: placed.module.kind is DeviceKind.ENERGYMETER):
            module = placed.module
            there = before.get(module.id)
            was_silent = there is not None and not there.is_heard
            if there is None:
                there = self._create(module, placed.last, now)
            elif not there.still_is(module):
                there = self._create(module, FirstState(module.id, there.reported, there.reachable), now)
            there.behave(module, now)
            self._modules[module.id] = there
            if isinstance(there.device, EnergyMeter):
                there.device.evolve(now)
            if there.absence is not None:
                reports.append(self.report_absence(there, now))
            elif there.has_news or (there.is_heard and (was_silent or not placed.reported_at)):
                reports.append(self.report(there, now))
        return reports

    def _create(self, module: Module, last: FirstState, now: float) -> Simulated:
        kind = DEVICES.get(module.kind)
        if kind is None:
            return Simulated(module, None, None, last.reachable)
        state = last.state
        if state is not None and not isinstance(state, kind.reports):
            _log.warning("state of another kind ignored", module_id=module.id, kind=module.kind, state=type(state).__name__)
            state = None
        device = kind(module, _dated(state, now), Chance(self._seed, module.id), now)
        if isinstance(device, EnergyMeter):
            device.drawn = self._drawn
        return Simulated(module, device, last.state, last.reachable)

    def _drawn(self) -> float:
        return sum(there.device.watts for there in self._modules.values() if isinstance(there.device, Plug))

    def evolve(self, now: float) -> Iterator[None]:
        """Let time pass, a part of the plant at each step of the iterator."""
        for count, there in enumerate(tuple(self._modules.values()), start=1):
            if there.device is not None and there.absence is None:
                there.device.evolve(now)
            if count % 100 == 0:
                yield

    def take_news(self, now: float) -> list[Report]:
        """What is different from what was reported. It counts as reported now."""
        return [self.report(there, now) for there in self._modules.values() if there.has_news]

    def report(self, there: Simulated, now: float) -> Report:
        """All that is to be said of the module, with the measures taken since it was last reported."""
        if there.device is None:
            return Report(self.id, there.id, now)
        state = there.device.state
        readings = tuple(_new_readings(there.reported, state))
        there.reported, there.reachable = state, True
        return Report(self.id, there.id, now, state=state, readings=readings)

    def report_absence(self, there: Simulated, now: float) -> Report:
        """It cannot be reached. What it was last in is said only if nobody was ever told."""
        state = None if there.reported is not None or there.device is None else there.device.state
        there.reported, there.reachable = there.reported or state, False
        return Report(self.id, there.id, now, state=state, reachable=False, absence=there.absence)


def _dated(state: State | None, now: float) -> State | None:
    """An estate may give measures without their time: they are of now."""
    undated = {
        what: msgspec.structs.replace(reading, at=now)
        for what in _MEASURES
        if (reading := getattr(state, what, None)) is not None and not reading.at
    }
    return state if state is None or not undated else msgspec.structs.replace(state, **undated)


def _lasting(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "simulate"}


def _new_readings(before: State | None, state: State) -> Iterator[tuple[str, Reading]]:
    for what in _MEASURES:
        reading = getattr(state, what, None)
        if reading is not None and reading != getattr(before, what, None):
            yield what, reading
