"""A simulated plant: its rooms and devices, and what has been reported of it."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import structlog

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import FirstState
from domogate.domain.faults import DeviceOffline, DeviceRefused
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.states import Report, State
from domogate.drivers.simulator.chance import Chance
from domogate.drivers.simulator.comfort import Heater, Light, Shutter
from domogate.drivers.simulator.device import Device, Start
from domogate.drivers.simulator.emergency import Emergency, EmergencyUnit
from domogate.drivers.simulator.entrance import Activation, Camera, Lock
from domogate.drivers.simulator.module import MEASURES, Simulated
from domogate.drivers.simulator.options import find_option_problems
from domogate.drivers.simulator.pace import Pace
from domogate.drivers.simulator.power import EnergyMeter, Multisocket, Plug
from domogate.drivers.simulator.rooms import Room
from domogate.drivers.simulator.scenery import Scenery
from domogate.drivers.simulator.thermal import Thermostat
from domogate.drivers.simulator.wear import Gateway, Remote
from domogate.drivers.simulator.weather import Weather
from domogate.ports import AttachedModule, Picture

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
    DeviceKind.EMERGENCY_UNIT: EmergencyUnit,
}
"""By kind. A scene is no device: it has no state and takes no order."""

_AT_ONCE = 25
"""So many modules are made or moved before others get their turn."""


class SimulatedPlant:
    """All simulated modules of one plant. It is given real time, and its devices live in simulated time."""

    def __init__(self, plant_id: Id, seed: int, weather: Weather, pace: Pace) -> None:
        self.id = plant_id
        self._seed = seed
        self._weather = weather
        self._pace = pace
        self._modules: dict[Id, Simulated] = {}
        self._rooms: dict[str, Room] = {}
        self._moving: dict[Id, Simulated] = {}

    def find(self, module_id: Id) -> Simulated:
        found = self._modules.get(module_id)
        if found is None:
            raise DeviceOffline("the simulator does not drive this module")
        return found

    # what stands in it

    def place(self, modules: Sequence[AttachedModule], now: float) -> Iterator[None]:
        """Simulate these modules and only these; one that is simulated already goes on as it is. A few at each step."""
        # Meters last: they measure what the others draw.
        modules = sorted(modules, key=lambda place: place.module.kind is DeviceKind.ENERGYMETER)
        new: dict[Id, Simulated] = {}
        for place in modules:
            if place.module.id not in self._modules:
                new[place.module.id] = self._create(place, now)
                if len(new) % _AT_ONCE == 0:
                    yield
        # From here on in one go: what is there already may be told something in between, and must not forget it.
        placed = {place.module.id: new.get(place.module.id) or self._go_on(place, now) for place in modules}
        for place in modules:
            there = placed[place.module.id]
            there.behave(place.module, now)
            there.vouched_for = there.vouched_for and place.reported_at > 0
        self._modules = placed
        self._moving = {module_id: there for module_id, there in self._moving.items() if placed.get(module_id) is there}
        self._furnish(self._pace.simulated(now))

    def _go_on(self, place: AttachedModule, now: float) -> Simulated:
        there = self._modules[place.module.id]
        if there.still_is(place.module):
            return there
        so_far = FirstState(place.module.id, there.reported, there.reachable)
        return self._create(AttachedModule(place.module, so_far, place.reported_at), now)

    def _create(self, place: AttachedModule, now: float) -> Simulated:
        module, last = place.module, place.last
        kind = DEVICES.get(module.kind)
        if kind is None:
            return Simulated(module, None, None, last.reachable)
        state = last.state
        if state is not None and not isinstance(state, kind.reports):
            _log.warning("state of another kind ignored", module_id=module.id, kind=module.kind, state=type(state).__name__)
            state = None
        simulated_now = self._pace.simulated(now)
        since = self._pace.simulated(place.reported_at) if place.reported_at else simulated_now
        start = Start(Chance(self._seed, module.id), simulated_now, min(since, simulated_now), self._pace)
        return Simulated(module, kind(_sound(module), _dated(state, now), start), last.state, last.reachable)

    def _furnish(self, now: float) -> None:
        """Put what shares a room into it, and the meters before it all. A room that nobody measures needs no temperature."""
        devices = [there.device for there in self._modules.values() if there.device is not None]
        rooms: dict[str, Room] = {}
        for there in self._modules.values():
            if isinstance(there.device, Thermostat):
                name = there.device.options.get("room", there.id)
                if name not in rooms:
                    rooms[name] = self._rooms.get(name) or self._build(name, there.device, now)
                    rooms[name].furnish([device for device in devices if device.options.get("room") == name])
                rooms[name].thermostats.append(there.device)
                there.device.enter(rooms[name], now)
        self._rooms = rooms
        for device in devices:
            if isinstance(device, EnergyMeter):
                device.supplied = self._supply
                device.evolve(now)

    def _build(self, name: str, first: Thermostat, now: float) -> Room:
        celsius = first.likely if first.felt is None else first.felt
        return Room(Chance(self._seed, f"{self.id}/{name}"), self._weather, celsius, now)

    def _supply(self) -> tuple[float, float]:
        watts = used = 0.0
        for there in self._modules.values():
            if there.device is not None and there.device.kind is not DeviceKind.ENERGYMETER:
                watts += there.device.watts
                used += there.device.used
        return watts, used

    # time

    def evolve(self, now: float) -> Iterator[None]:
        """Let time pass, a part of the plant at each step of the iterator."""
        simulated = self._pace.simulated(now)
        for count, there in enumerate(tuple(self._modules.values()), start=1):
            self._move(there, simulated)
            if count % _AT_ONCE == 0:
                yield

    def _move(self, there: Simulated, simulated: float) -> None:
        if there.device is not None and there.absence is None:
            there.device.evolve(simulated)
            if there.device.moving:
                self._moving[there.id] = there

    @property
    def in_motion(self) -> bool:
        return bool(self._moving)

    def evolve_moving(self, now: float) -> list[Report]:
        """Let time pass for what is on its way from one state to another; what is different counts as reported now."""
        moving, self._moving = self._moving, {}
        for there in moving.values():
            self._move(there, self._pace.simulated(now))
        return [self.report(there, now) for there in moving.values() if there.has_news]

    def ask(self, there: Simulated, now: float) -> Report:
        self._move(there, self._pace.simulated(now))
        return self.report(there, now)

    def look_through(self, there: Simulated, now: float) -> Picture:
        """What a camera that is on sees. Raises DeviceRefused."""
        simulated = self._pace.simulated(now)
        if not isinstance(there.device, Camera):
            raise DeviceRefused("the device is no camera")
        self._move(there, simulated)
        if not there.device.state.on:
            raise DeviceRefused("the camera is off")
        return Picture("image/png", Scenery(there.device.chance, self._weather).draw(there.name, simulated))

    # reports

    def take_news(self, now: float) -> list[Report]:
        """What is different from what was reported. It counts as reported now."""
        return [self.report(there, now, whole=False) for there in self._modules.values() if there.has_news]

    def take_first_news(self, now: float) -> list[Report]:
        """After modules were placed: also who is absent, and what nobody has vouched for yet."""
        return [
            self.report(there, now)
            for there in self._modules.values()
            if there.has_news or there.absence is not None or (there.is_heard and not there.vouched_for)
        ]

    def report(self, there: Simulated, now: float, *, whole: bool = True) -> Report:
        """All that is to be said of the module, with the measures taken since it was last reported."""
        return there.report(self.id, now, whole=whole)


def _sound(module: Module) -> Module:
    """The module without the options that cannot be: it is absent, but what it is in is kept."""
    bad = {path[0] for path, _ in find_option_problems(module.kind, module.options)}
    if not bad:
        return module
    return msgspec.structs.replace(module, options={name: told for name, told in module.options.items() if name not in bad})


def _dated(state: State | None, now: float) -> State | None:
    """An estate may give measures without their time: they are of now."""
    undated = {
        what: msgspec.structs.replace(reading, at=now)
        for what in MEASURES
        if (reading := getattr(state, what, None)) is not None and not reading.at
    }
    return state if state is None or not undated else msgspec.structs.replace(state, **undated)
