"""Plugs, multisockets and energy meters: what runs, what it draws, and what it has used.

A plug's consumption is whole watts and watt-hours within 0..100000 (Spec 2.13); past that its counter starts again at 0. What a
meter counts has no such end.
"""

from collections.abc import Callable
from math import inf, pi, sin
from typing import Any

import msgspec

from domogate.domain.commands import Command, SwitchPlug, SwitchSocket
from domogate.domain.faults import DeviceRefused
from domogate.domain.plants import Module
from domogate.domain.states import EnergyMeterState, MultisocketState, PlugState, Reading, Unit
from domogate.drivers.simulator.chance import Cadence, Chance
from domogate.drivers.simulator.device import Device

_MOST = 100_000
_MEASURE_EVERY = 60.0


class Load(msgspec.Struct, frozen=True):
    """Something that is plugged in: what it draws, and by which part of that it swings, over how many seconds."""

    watts: float
    swing: float
    period: float

    def draw(self, chance: Chance, now: float) -> float:
        wave = sin(2 * pi * (now / self.period + chance.of("wave")))
        noise = 2 * chance.of("noise", int(now // _MEASURE_EVERY)) - 1
        return self.watts * (1 + self.swing * (0.6 * wave + 0.4 * noise))

    def would_draw(self, watts: float) -> bool:
        return abs(watts - self.watts) <= self.watts * self.swing + 1


LOADS = (
    Load(9, 0.05, 3600),  # a lamp
    Load(60, 0.4, 1800),  # a charger
    Load(95, 0.3, 2400),  # a television
    Load(140, 0.6, 2700),  # a refrigerator
    Load(450, 0.2, 5400),  # a computer and its screens
    Load(1200, 0.5, 4200),  # a washing machine
    Load(1800, 0.1, 900),  # a radiator
)


class Counter:
    """Watt-hours, counted from what was drawn since the last time."""

    __slots__ = ("_end", "_until", "_watt_hours")

    def __init__(self, watt_hours: float, now: float, end: float) -> None:
        self._watt_hours = watt_hours
        self._until = now
        self._end = end

    def count(self, watts: float, now: float) -> None:
        self._watt_hours += watts * max(0.0, now - self._until) / 3600
        self._until = now
        if self._watt_hours > self._end:
            self._watt_hours %= self._end

    def read(self) -> float:
        return float(int(self._watt_hours))


def _measured(before: Reading | None, value: float, unit: Unit, now: float, most: float) -> Reading:
    """A reading of now, or the one before if nothing is different."""
    value = float(round(min(max(value, 0.0), most)))
    return before if before is not None and before.value == value else Reading(value, unit, now)


class Plug(Device[PlugState]):
    """Draws power while it is on. What draws it is what the state or the option `watts` says, else it is by chance."""

    __slots__ = ("_cadence", "_counter", "_load")
    reports = PlugState

    def __init__(self, module: Module, state: PlugState | None, chance: Chance, now: float) -> None:
        super().__init__(module, state, chance, now)
        power, energy = self.state.power, self.state.energy
        self._load = _load_of(self.options, chance, power.value if power is not None and self.state.on else 0.0)
        self._counter = Counter(chance.between("used", 0, 20_000) if energy is None else energy.value, now, end=_MOST)
        self._cadence = Cadence(chance, "measure", _MEASURE_EVERY, now)
        if power is None or energy is None:
            self._measure(self.state.on, now)

    def first_state(self) -> PlugState:
        return PlugState(on=self.chance.of("on") < 0.5)

    @property
    def watts(self) -> float:
        """What it drew when it was last measured."""
        return self.state.power.value if self.state.on and self.state.power is not None else 0.0

    def evolve(self, now: float) -> None:
        slot = self.residents.come_by(now)
        if slot is not None:
            self._measure(self.chance.of("plug", slot) < 0.6, now)
        elif self._cadence.is_due(now):
            self._measure(self.state.on, now)

    def obey(self, command: Command, now: float) -> None:
        if not isinstance(command, SwitchPlug):
            raise self.refusal(command)
        self._measure(command.on, now)
        self.residents.leave_alone(now)

    def _measure(self, on: bool, now: float) -> None:
        before = self.state
        self._counter.count(self.watts, now)
        self.state = PlugState(
            on=on,
            power=_measured(before.power, self._load.draw(self.chance, now) if on else 0.0, Unit.WATT, now, _MOST),
            energy=_measured(before.energy, self._counter.read(), Unit.WATT_HOUR, now, _MOST),
        )


def _load_of(options: dict[str, Any], chance: Chance, drawn: float) -> Load:
    watts = options.get("watts")
    if isinstance(watts, int | float) and 0 <= watts <= _MOST:
        return Load(float(watts), 0.03, 3600)
    by_chance = chance.pick("load", LOADS)
    return Load(drawn, 0.03, 3600) if drawn and not by_chance.would_draw(drawn) else by_chance


class Multisocket(Device[MultisocketState]):
    """Four sockets, unless the option `sockets` says otherwise."""

    __slots__ = ()
    reports = MultisocketState

    def first_state(self) -> MultisocketState:
        wanted = self.options.get("sockets")
        sockets = wanted if isinstance(wanted, int) and 1 <= wanted <= 32 else 4
        return MultisocketState(sockets=tuple(self.chance.of("socket", socket) < 0.5 for socket in range(sockets)))

    def evolve(self, now: float) -> None:
        slot = self.residents.come_by(now)
        if slot is not None and self.state.sockets:
            self._switch(int(self.chance.of("which", slot) * len(self.state.sockets)), self.chance.of("how", slot) < 0.5)

    def obey(self, command: Command, now: float) -> None:
        if not isinstance(command, SwitchSocket):
            raise self.refusal(command)
        if not 0 <= command.socket < len(self.state.sockets):
            raise DeviceRefused(f"socket must be within 0..{len(self.state.sockets) - 1}")
        self._switch(command.socket, command.on)
        self.residents.leave_alone(now)

    def _switch(self, socket: int, on: bool) -> None:
        sockets = self.state.sockets
        self.state = MultisocketState(sockets=(*sockets[:socket], on, *sockets[socket + 1 :]))


class EnergyMeter(Device[EnergyMeterState]):
    """Measures what the plant's plugs draw together."""

    __slots__ = ("_cadence", "_counter", "drawn")
    reports = EnergyMeterState

    def __init__(self, module: Module, state: EnergyMeterState | None, chance: Chance, now: float) -> None:
        super().__init__(module, state, chance, now)
        energy = self.state.energy
        self._counter = Counter(chance.between("used", 0, 50_000) if energy is None else energy.value, now, end=inf)
        self._cadence = Cadence(chance, "measure", _MEASURE_EVERY, now)
        self.drawn: Callable[[], float] = float
        """Set by the plant: the watts of all its plugs."""

    def first_state(self) -> EnergyMeterState:
        return EnergyMeterState()

    def evolve(self, now: float) -> None:
        if self._cadence.is_due(now) or self.state.power is None or self.state.energy is None:
            before = self.state
            self._counter.count(0.0 if before.power is None else before.power.value, now)
            self.state = EnergyMeterState(
                power=_measured(before.power, self.drawn(), Unit.WATT, now, inf),
                energy=_measured(before.energy, self._counter.read(), Unit.WATT_HOUR, now, inf),
            )
