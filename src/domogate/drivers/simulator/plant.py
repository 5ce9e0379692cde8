"""A simulated plant: its rooms, its modules and their reports."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from domogate.common.log import get_logger
from domogate.domain.commands import Command
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import FirstState
from domogate.domain.faults import CommandNotSupported, DeviceOffline, DeviceRefused
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import Reading, Report, State
from domogate.drivers.simulator.behaviour import Behaviour, behaviour_of
from domogate.drivers.simulator.comfort import Heater, Light, Shutter
from domogate.drivers.simulator.device import Device, Start, TimeScale
from domogate.drivers.simulator.emergency import Emergency, EmergencyUnit
from domogate.drivers.simulator.entrance import Activation, Camera, Lock
from domogate.drivers.simulator.options import find_option_problems, without_bad_options
from domogate.drivers.simulator.power import EnergyMeter, Multisocket, Plug
from domogate.drivers.simulator.remote import Gateway, Remote
from domogate.drivers.simulator.rooms import Room
from domogate.drivers.simulator.seeded_random import SeededRandom
from domogate.drivers.simulator.thermostat import Thermostat
from domogate.drivers.simulator.weather import Weather
from domogate.ports import AttachedModule, Picture

MEASURES = ("power", "energy", "temperature", "humidity")


class SimulatedModule:
    """A simulated module: its device, and the values that were last reported. A scene has no device."""

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
        """Whether a report confirmed the state. Reports from before an absence or `simulate: slow` do not count."""
        self.behaviour = Behaviour.NORMAL
        self.absence: Absence | None = None

    def matches(self, module: Module) -> bool:
        """Whether the module still has the kind and the options with which its device was made. If so, the device is kept.

        The option `simulate` is not compared.
        """
        return self._kind is module.kind and self._options == _permanent(module.options)

    def apply_options(self, module: Module, now: float) -> None:
        """Apply the option `simulate`, and check all options of the module.

        `simulate: offline` or wrong options make a module absent. If the module was already absent for the same reason, the
        start time of its absence does not change.
        """
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
    def is_moving(self) -> bool:
        return self.device is not None and self.absence is None and self.device.moving

    @property
    def has_changes(self) -> bool:
        if self.device is None or not self.responds:
            return False
        state = self.device.state
        return bool(self.device.pending) or not self.reachable or (state is not self.reported and state != self.reported)

    def report(self, plant_id: Id, now: float, *, whole: bool) -> Report:
        """Return a report with all readings since the last report. It has the state if the state changed or `whole` is true.

        It also has the state if the module was unreachable in the last report. The report of an absent module has no readings,
        and it has a state only if no state of the module was ever reported.
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
        readings = tuple(_new_readings(before, device.state)) + device.pending
        device.pending, self.reported = (), device.state
        unchanged = not whole and was_reachable and device.state == before
        return Report(plant_id, self.id, now, state=None if unchanged else device.state, readings=readings)


def _permanent(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "simulate"}


def _new_readings(before: State | None, state: State) -> list[tuple[str, Reading]]:
    return [
        (what, reading)
        for what in _list_measures(type(state))
        if (reading := getattr(state, what)) is not None and reading != getattr(before, what, None)
    ]


@cache
def _list_measures(kind: type[State]) -> tuple[str, ...]:
    """Return the measures of a class of states."""
    return tuple(what for what in MEASURES if hasattr(kind, what))


_log = get_logger(__name__)

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
    DeviceKind.EMERGENCY_UNIT: EmergencyUnit,
}
"""The class of device for each kind. A scene is not a device: it has no state and accepts no orders."""

_BATCH = 25
"""After this number of modules, other tasks may run."""


class SimulatedPlant:
    """All simulated modules of one plant. The argument `now` of a public method is real time; devices use simulated time."""

    def __init__(self, plant_id: Id, seed: int, weather: Weather, time_scale: TimeScale) -> None:
        self.id = plant_id
        self._seed = seed
        self._weather = weather
        self._time_scale = time_scale
        self._modules: dict[Id, SimulatedModule] = {}
        self._rooms: dict[str, Room] = {}
        self._moving: dict[Id, SimulatedModule] = {}

    def find(self, module_id: Id) -> SimulatedModule:
        found = self._modules.get(module_id)
        if found is None:
            raise DeviceOffline("the simulator does not drive this module")
        return found

    # modules

    def attach(self, modules: Sequence[AttachedModule], now: float) -> Iterator[None]:
        """Simulate exactly these modules.

        A module that is already simulated keeps its device. If its kind or its options have changed, it gets a new device (see
        `matches`). This method returns an iterator: each of its steps makes the devices of some modules, and the last step also
        does the rest.
        """
        # Meters are last, because they measure the power of the other devices.
        modules = sorted(modules, key=lambda attached: attached.module.kind is DeviceKind.ENERGYMETER)
        new: dict[Id, SimulatedModule] = {}
        for attached in modules:
            if attached.module.id not in self._modules:
                new[attached.module.id] = self._create(attached, now)
                if len(new) % _BATCH == 0:
                    yield
        # No pause from here on: a module that already exists may get an order in between, and the order must not be lost.
        kept = {attached.module.id: new.get(attached.module.id) or self._keep(attached, now) for attached in modules}
        for attached in modules:
            module = kept[attached.module.id]
            module.apply_options(attached.module, now)
            module.confirmed = module.confirmed and attached.reported_at > 0
        self._modules = kept
        self._moving = {module_id: module for module_id, module in kept.items() if module.is_moving}
        self._assign_rooms(self._time_scale.simulated(now))

    def _keep(self, attached: AttachedModule, now: float) -> SimulatedModule:
        module = self._modules[attached.module.id]
        if module.matches(attached.module):
            if module.device is None or module.device.state != attached.last.state:  # The last report may not be stored yet.
                module.reported = attached.last.state
            module.reachable = attached.last.reachable
            return module
        last = FirstState(attached.module.id, module.reported, module.reachable)
        renewed = self._create(AttachedModule(attached.module, last, attached.reported_at), now)
        renewed.absence, renewed.behaviour, renewed.confirmed = module.absence, module.behaviour, module.confirmed
        return renewed

    def _create(self, attached: AttachedModule, now: float) -> SimulatedModule:
        module, last = attached.module, attached.last
        kind = DEVICES.get(module.kind)
        if kind is None:
            return SimulatedModule(module, None, None, last.reachable)
        state = last.state
        if state is not None and not isinstance(state, kind.reports):
            _log.warning(
                "a state of another kind was ignored", module_id=module.id, kind=module.kind, state=type(state).__name__
            )
            state = None
        simulated_now = self._time_scale.simulated(now)
        since = self._time_scale.simulated(attached.reported_at) if attached.reported_at else simulated_now
        start = Start(SeededRandom(self._seed, module.id), simulated_now, min(since, simulated_now), self._time_scale)
        return SimulatedModule(
            module, kind(without_bad_options(module), _with_times(state, now), start), last.state, last.reachable
        )

    def _assign_rooms(self, now: float) -> None:
        """Assign devices to the rooms that their option `room` names, and let the meters measure all devices.

        Only a room with a thermostat is simulated. A thermostat without this option has a room of its own.
        """
        devices = [module.device for module in self._modules.values() if module.device is not None]
        rooms: dict[str, Room] = {}
        for module in self._modules.values():
            if isinstance(module.device, Thermostat):
                name = module.device.options.get("room", module.id)
                if name not in rooms:
                    rooms[name] = self._rooms.get(name) or self._make_room(name, module.device, now)
                    rooms[name].set_devices([device for device in devices if device.options.get("room") == name])
                rooms[name].thermostats.append(module.device)
                module.device.enter(rooms[name], now)
        self._rooms = rooms
        for device in devices:
            if isinstance(device, EnergyMeter):
                device.read_consumption = self._total_consumption
                device.evolve(now)

    def _make_room(self, name: str, first: Thermostat, now: float) -> Room:
        celsius = first.likely_celsius if first.measured_celsius is None else first.measured_celsius
        return Room(SeededRandom(self._seed, f"{self.id}/{name}"), self._weather, celsius, now)

    def _total_consumption(self) -> tuple[float, float]:
        watts = used = 0.0
        for module in self._modules.values():
            if module.device is not None and module.device.kind is not DeviceKind.ENERGYMETER:
                watts += module.device.watts
                used += module.device.used
        return watts, used

    # time

    def evolve(self, now: float) -> Iterator[None]:
        """Let time pass up to `now`. This method returns an iterator: each of its steps handles a part of the plant."""
        simulated = self._time_scale.simulated(now)
        for count, module in enumerate(tuple(self._modules.values()), start=1):
            self._evolve(module, simulated)
            if count % _BATCH == 0:
                yield

    def _evolve(self, module: SimulatedModule, simulated: float) -> None:
        if module.device is not None and module.absence is None:
            module.device.evolve(simulated)
            if module.device.moving:
                self._moving[module.id] = module

    @property
    def in_motion(self) -> bool:
        return bool(self._moving)

    def evolve_moving(self, now: float) -> list[Report]:
        """Let time pass for devices that are moving. Return their changes, which then count as reported."""
        moving, self._moving = self._moving, {}
        for module in moving.values():
            self._evolve(module, self._time_scale.simulated(now))
        return [self.report(module, now) for module in moving.values() if module.has_changes]

    def read(self, module: SimulatedModule, now: float) -> Report:
        self._evolve(module, self._time_scale.simulated(now))
        return self.report(module, now)

    def execute(self, module: SimulatedModule, command: Command, now: float) -> Report:
        """Let the device execute the command. Raises CommandNotSupported if the device can never execute it."""
        if module.device is None:
            raise CommandNotSupported("a scene takes no commands")
        simulated = self._time_scale.simulated(now)
        module.device.evolve(simulated)
        module.device.execute(command, simulated)
        if module.device.moving:
            self._moving[module.id] = module
        return self.report(module, now)

    def take_picture(self, module: SimulatedModule, now: float) -> Picture:
        """Return a picture of a camera that is on. Raises DeviceRefused if the camera is off or the module is not a camera."""
        simulated = self._time_scale.simulated(now)
        if not isinstance(module.device, Camera):
            raise DeviceRefused("the device is not a camera")
        self._evolve(module, simulated)
        if not module.device.state.on:
            raise DeviceRefused("the camera is off")
        # Imported here, because it loads Pillow: most gateways show no simulated picture.
        from domogate.drivers.simulator.picture import draw_entrance

        return Picture("image/png", draw_entrance(module.device.random, self._weather, module.name, simulated))

    # reports

    def take_changes(self, now: float) -> list[Report]:
        """Return a report for each module that changed since its last report. These changes then count as reported."""
        return [self.report(module, now, whole=False) for module in self._modules.values() if module.has_changes]

    def take_first_reports(self, now: float) -> list[Report]:
        """Return the reports after `attach`: of modules that changed, are absent, respond again, or never reported."""
        return [
            self.report(module, now)
            for module in self._modules.values()
            if module.has_changes or module.absence is not None or (module.responds and not module.confirmed)
        ]

    def report(self, module: SimulatedModule, now: float, *, whole: bool = True) -> Report:
        """Return the report of a module. See `SimulatedModule.report`."""
        return module.report(self.id, now, whole=whole)


def _with_times(state: State | None, now: float) -> State | None:
    """Return the state. Its readings without a time (from an estate file) get the present time."""
    undated = {
        what: msgspec.structs.replace(reading, at=now)
        for what in MEASURES
        if (reading := getattr(state, what, None)) is not None and not reading.at
    }
    return state if state is None or not undated else msgspec.structs.replace(state, **undated)
