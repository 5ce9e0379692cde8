"""Simulated plugs, multisockets and energy meters: their power and energy, and the loads that are plugged in.

The consumption of a plug is in whole watts and watt-hours within 0..100000 (Spec 2.13). Above 100000 watt-hours, the counter of
a plug starts again at 0. The counter of an energy meter has no limit.
"""

from collections.abc import Callable
from math import ceil, floor, inf, pi, sin

import msgspec

from domogate.domain.commands import Command, SwitchPlug, SwitchSocket
from domogate.domain.faults import CommandNotSupported
from domogate.domain.plants import Module
from domogate.domain.states import EnergyMeterState, MultisocketState, PlugState, Unit
from domogate.drivers.simulator.device import Device, Start
from domogate.drivers.simulator.seeded_random import MeasureSchedule, SeededRandom

_NOISE = 0.03
_SAMPLES = 16


class Load(msgspec.Struct, frozen=True):
    """An appliance. From time to time it runs through its phases (each: seconds, watts). Between two runs it uses `idle` watts.

    The power of an appliance without phases rises and falls around `idle` watts, by at most the fraction `swing` of `idle`.
    """

    idle: float
    phases: tuple[tuple[float, float], ...] = ()
    every: float = 3600.0
    odds: float = 1.0
    swing: float = 0.0

    def watts_at(self, random: SeededRandom, at: float) -> float:
        """Return the power in watts at this time."""
        noise = 1 + _NOISE * (2 * random.of("noise", floor(at / 60)) - 1)
        if not self.phases:
            wave = sin(2 * pi * (at / self.every + random.of("wave")))
            return self.idle * (1 + self.swing * wave) * noise
        slot, into = divmod(at + random.of("load phase") * self.every, self.every)
        if self.odds >= 1 or random.of("runs", int(slot)) < self.odds:
            for lasts, watts in self.phases:
                if into < lasts:
                    return watts * noise
                into -= lasts
        return self.idle * noise

    def average_watts(self, random: SeededRandom, begin: float, end: float) -> float:
        """Return the average power in watts in a period.

        The average is computed from one sample for each minute, but from at most `_SAMPLES` samples.
        """
        if end - begin <= 60:
            return self.watts_at(random, begin + (end - begin) / 2)
        times = min(ceil((end - begin) / 60), _SAMPLES)
        step = (end - begin) / times
        return sum(self.watts_at(random, begin + (number + 0.5) * step) for number in range(times)) / times

    def could_draw(self, watts: float) -> bool:
        """Whether this appliance can use this power."""
        if self.phases:
            levels = (self.idle, *(level for _, level in self.phases))
            return any(abs(watts - level) <= level * _NOISE + 1 for level in levels)
        return abs(watts - self.idle) <= self.idle * (self.swing + 2 * _NOISE) + 1


LOADS: dict[str, Load] = {
    "lamp": Load(9),
    "router": Load(8, swing=0.15, every=900),
    "charger": Load(0.4, ((4500, 18), (2700, 6)), every=8 * 3600),
    "television": Load(0.6, ((9000, 95),), every=6 * 3600, odds=0.6),
    "computer": Load(130, swing=0.35, every=1500),
    "printer": Load(9, ((45, 640), (240, 60)), every=1500, odds=0.7),
    "fridge": Load(2, ((20, 310), (900, 92)), every=2700),
    "freezer": Load(3, ((20, 420), (1320, 118)), every=3600),
    "coffee machine": Load(4, ((55, 1150),), every=150),
    "kettle": Load(0, ((180, 2050),), every=3 * 3600, odds=0.7),
    "iron": Load(0, ((60, 2200),), every=180),
    "oven": Load(3, ((420, 2400), (90, 120), (240, 2400), (120, 120), (240, 2400)), every=12 * 3600, odds=0.6),
    "washing machine": Load(1, ((300, 90), (1500, 2050), (2400, 160), (900, 130), (600, 420)), every=24 * 3600, odds=0.7),
    "dishwasher": Load(1, ((240, 60), (1080, 2000), (2400, 70), (900, 2000), (1500, 30)), every=24 * 3600, odds=0.8),
    "radiator": Load(1, ((540, 1800),), every=900),
    "pump": Load(42, swing=0.1, every=1200),
    "wallbox": Load(5, ((4.5 * 3600, 3680),), every=12 * 3600, odds=0.6),
}
"""The appliances, by the word of the option `load`."""

COMMON = ("lamp", "router", "charger", "television", "computer", "fridge", "coffee machine", "washing machine", "radiator")
"""The appliances from which the seed chooses if the options name neither an appliance nor a power."""


MOST = 100_000
_SOCKETS = 4


class EnergyCounter:
    """Counts the watt-hours that a device shows, beginning with the value `watt_hours`. Above `end` it starts again at 0."""

    __slots__ = ("_end", "_from", "_watt_hours")

    def __init__(self, watt_hours: float, end: float) -> None:
        self._watt_hours = watt_hours
        self._from = 0.0
        self._end = end

    def read(self, used: float) -> float:
        """Return what the counter shows after `used` watt-hours were used in total.

        If a measured device was removed from the plant, `used` can be less than at the last call. Then the counter does not
        change.
        """
        self._watt_hours += max(0.0, used - self._from)
        self._from = used
        if self._watt_hours >= self._end + 1:
            self._watt_hours %= self._end + 1
        return float(int(self._watt_hours))


def _shown(watts: float, most: float = inf) -> float:
    return float(round(min(max(watts, 0.0), most)))


class Plug(Device[PlugState]):
    """A plug. It uses power while it is on.

    The option `load` names an appliance, or the option `watts` gives a power. Without these options, the seed of the simulator
    selects an appliance. But if the plug is on, and its stored power is one that this appliance can never use, the plug has no
    appliance: it uses the stored power whenever it is on. Noise raises or lowers each of these powers by at most 3 percent.
    """

    __slots__ = ("_counter", "_load", "_schedule")
    reports = PlugState

    def __init__(self, module: Module, state: PlugState | None, start: Start) -> None:
        super().__init__(module, state, start)
        power, energy = self.state.power, self.state.energy
        self._load = self._choose_load(power.value if power is not None and self.state.on else 0.0)
        self._counter = EnergyCounter(self.random.between("used", 0, 20_000) if energy is None else energy.value, end=MOST)
        self._schedule = MeasureSchedule(self.random, "measure", start.measure_every, start.now)
        if power is None or energy is None:
            self._measure(self.state.on, start.now)

    def _choose_load(self, watts: float) -> Load:
        if "load" in self.options:
            return LOADS[self.options["load"]]
        if "watts" in self.options:
            return Load(self.options["watts"])
        by_seed = LOADS[self.random.pick("load", COMMON)]
        return Load(watts) if watts and not by_seed.could_draw(watts) else by_seed

    def first_state(self) -> PlugState:
        return PlugState(on=self.random.of("on") < 0.5)

    @property
    def watts(self) -> float:
        return self.state.power.value if self.state.on and self.state.power is not None else 0.0

    def evolve(self, now: float) -> None:
        if now == self.used_until:
            return  # The plug has measured at this time.
        slot = self.residents.next_visit(now)
        if slot is not None:
            self._measure(self.random.of("plug", slot) < 0.6, now)
        elif self._schedule.is_due(now):
            self._measure(self.state.on, now)

    def execute(self, command: Command, now: float) -> None:
        if not isinstance(command, SwitchPlug):
            raise self.refusal(command)
        self._measure(command.on, now)
        self.residents.pause(now)

    def _measure(self, on: bool, now: float) -> None:
        before = self.state
        self.use(
            self._load.average_watts(self.random, self.used_until, now) if before.on and now > self.used_until else 0.0, now
        )
        power = _shown(self._load.watts_at(self.random, now), MOST) if on else 0.0
        self.state = PlugState(
            on=on,
            power=self.measured(before.power, power, Unit.WATT, now),
            energy=self.measured(before.energy, self._counter.read(self.used), Unit.WATT_HOUR, now),
        )


class Multisocket(Device[MultisocketState]):
    """A multisocket. It has four sockets unless its state or an option has another number.

    Each socket has a load: a simulated appliance that is plugged in. The power and energy of the multisocket are reported only
    as readings, because its state has no fields for them. So the stored state does not show the last energy, and the energy
    counter starts at 0 each time this object is made, for example after a restart.
    """

    __slots__ = ("_counter", "_drawn", "_loads", "_randoms", "_schedule")
    reports = MultisocketState

    def __init__(self, module: Module, state: MultisocketState | None, start: Start) -> None:
        super().__init__(module, state, start)
        count = len(self.state.sockets)
        named = self.options.get("loads", ())
        self._randoms = tuple(self.random.derive(f"socket {number}") for number in range(count))
        self._loads = tuple(
            LOADS[named[number] if number < len(named) else random.pick("load", COMMON)]
            for number, random in enumerate(self._randoms)
        )
        self._counter = EnergyCounter(0.0, inf)
        self._schedule = MeasureSchedule(self.random, "measure", start.measure_every, start.now)
        self._drawn = 0.0
        self._measure(start.now)

    def first_state(self) -> MultisocketState:
        sockets = self.options.get("sockets", len(self.options.get("loads", ())) or _SOCKETS)
        return MultisocketState(sockets=tuple(self.random.of("socket", socket) < 0.5 for socket in range(sockets)))

    @property
    def watts(self) -> float:
        return self._drawn

    def evolve(self, now: float) -> None:
        slot = self.residents.next_visit(now)
        if slot is not None and self.state.sockets:
            self._switch(int(self.random.of("which", slot) * len(self.state.sockets)), self.random.of("how", slot) < 0.5, now)
        elif self._schedule.is_due(now):
            self._measure(now)

    def execute(self, command: Command, now: float) -> None:
        if not isinstance(command, SwitchSocket):
            raise self.refusal(command)
        if not 0 <= command.socket < len(self.state.sockets):
            raise CommandNotSupported(f"socket must be within 0..{len(self.state.sockets) - 1}")
        self._switch(command.socket, command.on, now)
        self.residents.pause(now)

    def _switch(self, socket: int, on: bool, now: float) -> None:
        self._count(now)
        sockets = self.state.sockets
        self.state = MultisocketState(sockets=(*sockets[:socket], on, *sockets[socket + 1 :]))
        self._measure(now)

    def _running(self) -> list[tuple[Load, SeededRandom]]:
        return [(load, random) for on, load, random in zip(self.state.sockets, self._loads, self._randoms, strict=True) if on]

    def _count(self, now: float) -> None:
        begin = self.used_until
        self.use(sum(load.average_watts(random, begin, now) for load, random in self._running()) if now > begin else 0.0, now)

    def _measure(self, now: float) -> None:
        self._count(now)
        self._drawn = sum(load.watts_at(random, now) for load, random in self._running())
        power = self.measured(None, _shown(self._drawn), Unit.WATT, now)
        energy = self.measured(None, self._counter.read(self.used), Unit.WATT_HOUR, now)
        self.pending = (("power", power), ("energy", energy))


class EnergyMeter(Device[EnergyMeterState]):
    """A meter that measures the power of all devices of its plant, except energy meters.

    The option `base` is the average power in watts of devices that are not modules. The meter adds their power.
    """

    __slots__ = ("_base", "_counter", "_schedule", "read_consumption")
    reports = EnergyMeterState

    def __init__(self, module: Module, state: EnergyMeterState | None, start: Start) -> None:
        super().__init__(module, state, start)
        energy = self.state.energy
        self._base = Load(self.options.get("base", 0), swing=0.2, every=86_400)
        self._counter = EnergyCounter(self.random.between("used", 0, 50_000) if energy is None else energy.value, end=inf)
        self._schedule = MeasureSchedule(self.random, "measure", start.measure_every, start.now)
        self.read_consumption: Callable[[], tuple[float, float]] = lambda: (0.0, 0.0)
        """A function that the plant sets. It returns the present watts of the measured devices, and their total watt-hours."""

    def first_state(self) -> EnergyMeterState:
        return EnergyMeterState()

    @property
    def warmth(self) -> float:
        return 0.0

    def evolve(self, now: float) -> None:
        if self._schedule.is_due(now) or self.state.power is None or self.state.energy is None:
            before = self.state
            drawn, used = self.read_consumption()
            self.use(self._base.average_watts(self.random, self.used_until, now) if now > self.used_until else 0.0, now)
            self.state = EnergyMeterState(
                power=self.measured(before.power, _shown(drawn + self._base.watts_at(self.random, now)), Unit.WATT, now),
                energy=self.measured(before.energy, self._counter.read(used + self.used), Unit.WATT_HOUR, now),
            )
