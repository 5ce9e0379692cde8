"""Plugs, multisockets and energy meters: what runs, what it draws, and what it has used.

A plug's consumption is whole watts and watt-hours within 0..100000 (Spec 2.13); past that its counter starts again at 0. What a
meter counts has no such end.
"""

from collections.abc import Callable
from math import inf

from domogate.domain.commands import Command, SwitchPlug, SwitchSocket
from domogate.domain.faults import DeviceRefused
from domogate.domain.plants import Module
from domogate.domain.states import EnergyMeterState, MultisocketState, PlugState, Unit
from domogate.drivers.simulator.chance import Cadence, Chance
from domogate.drivers.simulator.device import Device, Start
from domogate.drivers.simulator.loads import COMMON, LOADS, Load

MOST = 100_000
_SOCKETS = 4


class Counter:
    """Watt-hours that are shown, counting on from those that were."""

    __slots__ = ("_end", "_from", "_watt_hours")

    def __init__(self, watt_hours: float, end: float) -> None:
        self._watt_hours = watt_hours
        self._from = 0.0
        self._end = end

    def read(self, used: float) -> float:
        """What it shows once so much has been used in all. Less than the last time (a plug is gone) adds nothing."""
        self._watt_hours += max(0.0, used - self._from)
        self._from = used
        if self._watt_hours >= self._end + 1:
            self._watt_hours %= self._end
        return float(int(self._watt_hours))


def _shown(watts: float, most: float = inf) -> float:
    return float(round(min(max(watts, 0.0), most)))


class Plug(Device[PlugState]):
    """Draws power while it is on: as the option `load` or `watts` says, as its state did, or else by chance."""

    __slots__ = ("_cadence", "_counter", "_load")
    reports = PlugState

    def __init__(self, module: Module, state: PlugState | None, start: Start) -> None:
        super().__init__(module, state, start)
        power, energy = self.state.power, self.state.energy
        self._load = self._choose_load(power.value if power is not None and self.state.on else 0.0)
        self._counter = Counter(self.chance.between("used", 0, 20_000) if energy is None else energy.value, end=MOST)
        self._cadence = Cadence(self.chance, "measure", start.measure_every, start.now)
        if power is None or energy is None:
            self._measure(self.state.on, start.now)

    def _choose_load(self, drawn: float) -> Load:
        if "load" in self.options:
            return LOADS[self.options["load"]]
        if "watts" in self.options:
            return Load(self.options["watts"])
        by_chance = LOADS[self.chance.pick("load", COMMON)]
        return Load(drawn) if drawn and not by_chance.would_draw(drawn) else by_chance

    def first_state(self) -> PlugState:
        return PlugState(on=self.chance.of("on") < 0.5)

    @property
    def watts(self) -> float:
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
        self.use(self._load.average(self.chance, self.used_until, now) if before.on and now > self.used_until else 0.0, now)
        power = _shown(self._load.draw(self.chance, now), MOST) if on else 0.0
        self.state = PlugState(
            on=on,
            power=self.measured(before.power, power, Unit.WATT, now),
            energy=self.measured(before.energy, self._counter.read(self.used), Unit.WATT_HOUR, now),
        )


class Multisocket(Device[MultisocketState]):
    """Four sockets unless its state or an option says otherwise, each with a load. Power and energy go to history only.

    Its counter begins at 0 each time the module is taken on: a multisocket's state has no place to keep it.
    """

    __slots__ = ("_cadence", "_chances", "_counter", "_drawn", "_loads")
    reports = MultisocketState

    def __init__(self, module: Module, state: MultisocketState | None, start: Start) -> None:
        super().__init__(module, state, start)
        count = len(self.state.sockets)
        told = self.options.get("loads", ())
        self._chances = tuple(self.chance.part(f"socket {number}") for number in range(count))
        self._loads = tuple(
            LOADS[told[number] if number < len(told) else chance.pick("load", COMMON)]
            for number, chance in enumerate(self._chances)
        )
        self._counter = Counter(0.0, inf)
        self._cadence = Cadence(self.chance, "measure", start.measure_every, start.now)
        self._drawn = 0.0
        self._measure(start.now)

    def first_state(self) -> MultisocketState:
        sockets = self.options.get("sockets", len(self.options.get("loads", ())) or _SOCKETS)
        return MultisocketState(sockets=tuple(self.chance.of("socket", socket) < 0.5 for socket in range(sockets)))

    @property
    def watts(self) -> float:
        return self._drawn

    def evolve(self, now: float) -> None:
        slot = self.residents.come_by(now)
        if slot is not None and self.state.sockets:
            self._switch(int(self.chance.of("which", slot) * len(self.state.sockets)), self.chance.of("how", slot) < 0.5, now)
        elif self._cadence.is_due(now):
            self._measure(now)

    def obey(self, command: Command, now: float) -> None:
        if not isinstance(command, SwitchSocket):
            raise self.refusal(command)
        if not 0 <= command.socket < len(self.state.sockets):
            raise DeviceRefused(f"socket must be within 0..{len(self.state.sockets) - 1}")
        self._switch(command.socket, command.on, now)
        self.residents.leave_alone(now)

    def _switch(self, socket: int, on: bool, now: float) -> None:
        self._count(now)
        sockets = self.state.sockets
        self.state = MultisocketState(sockets=(*sockets[:socket], on, *sockets[socket + 1 :]))
        self._measure(now)

    def _running(self) -> list[tuple[Load, Chance]]:
        return [(load, chance) for on, load, chance in zip(self.state.sockets, self._loads, self._chances, strict=True) if on]

    def _count(self, now: float) -> None:
        begin = self.used_until
        self.use(sum(load.average(chance, begin, now) for load, chance in self._running()) if now > begin else 0.0, now)

    def _measure(self, now: float) -> None:
        self._count(now)
        self._drawn = sum(load.draw(chance, now) for load, chance in self._running())
        power = self.measured(None, _shown(self._drawn), Unit.WATT, now)
        energy = self.measured(None, self._counter.read(self.used), Unit.WATT_HOUR, now)
        self.pending = (("power", power), ("energy", energy))


class EnergyMeter(Device[EnergyMeterState]):
    """Measures what all of its plant draws together, and beside it what the option `base` says: the rest of the building."""

    __slots__ = ("_base", "_cadence", "_counter", "supplied")
    reports = EnergyMeterState

    def __init__(self, module: Module, state: EnergyMeterState | None, start: Start) -> None:
        super().__init__(module, state, start)
        energy = self.state.energy
        self._base = Load(self.options.get("base", 0), swing=0.2, every=86_400)
        self._counter = Counter(self.chance.between("used", 0, 50_000) if energy is None else energy.value, end=inf)
        self._cadence = Cadence(self.chance, "measure", start.measure_every, start.now)
        self.supplied: Callable[[], tuple[float, float]] = lambda: (0.0, 0.0)
        """Set by the plant: the watts that all draw now, and the watt-hours that all have used."""

    def first_state(self) -> EnergyMeterState:
        return EnergyMeterState()

    @property
    def warmth(self) -> float:
        return 0.0

    def evolve(self, now: float) -> None:
        if self._cadence.is_due(now) or self.state.power is None or self.state.energy is None:
            before = self.state
            drawn, used = self.supplied()
            self.use(self._base.average(self.chance, self.used_until, now) if now > self.used_until else 0.0, now)
            self.state = EnergyMeterState(
                power=self.measured(before.power, _shown(drawn + self._base.draw(self.chance, now)), Unit.WATT, now),
                energy=self.measured(before.energy, self._counter.read(used + self.used), Unit.WATT_HOUR, now),
            )
