"""What every simulated device is: a state, how it moves with time, and what it does when it is told to."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from domogate.domain.commands import Command
from domogate.domain.faults import DeviceRefused
from domogate.domain.plants import Module
from domogate.domain.states import Reading, State, Unit
from domogate.drivers.simulator.chance import Chance, Residents
from domogate.drivers.simulator.pace import REAL_TIME, Pace

S = TypeVar("S", bound=State)

MEASURE_EVERY = 60.0
MEASURE_REALLY = 10.0
"""A device measures once a simulated minute, and never more often than so many real seconds."""


class Start(msgspec.Struct, frozen=True):
    """What a device begins with: its luck, the simulated time of now and of when its state was last vouched for."""

    chance: Chance
    now: float
    since: float
    pace: Pace = REAL_TIME

    @property
    def measure_every(self) -> float:
        return self.pace.spaced(MEASURE_EVERY, at_least=MEASURE_REALLY)


class Device(ABC, Generic[S]):
    """One simulated device. `state` is replaced, never altered: who compares it sees whether it moved."""

    __slots__ = ("chance", "kind", "made_at", "options", "pace", "pending", "residents", "state", "used", "used_until")

    reports: ClassVar[type[Any]]
    """The class of state that this kind of device reports."""

    def __init__(self, module: Module, state: S | None, start: Start) -> None:
        self.kind = module.kind
        self.options = module.options
        self.chance = start.chance
        self.made_at = start.now
        self.pace = start.pace
        self.residents = Residents(start.chance, start.now)
        self.pending: tuple[tuple[str, Reading], ...] = ()
        """Measures that its state has no place for, to be reported once."""
        self.used = 0.0
        """Watt-hours since it was made."""
        self.used_until = start.now
        self.state: S = self.first_state() if state is None else state

    @abstractmethod
    def first_state(self) -> S:
        """Something plausible, for a module that nothing is known of."""

    @property
    def watts(self) -> float:
        """What it draws, as last measured."""
        return 0.0

    @property
    def warmth(self) -> float:
        """By how many degrees it warms its room in the long run: what it draws ends as heat."""
        return self.watts * 0.005

    @property
    def openness(self) -> float | None:
        """Of a shutter: 0 closed, 1 open."""
        return None

    @property
    def moving(self) -> bool:
        """Whether it is on its way from one state to another, so that it is worth a closer look."""
        return False

    def evolve(self, now: float) -> None:
        """Let time pass until `now`, however long that is; back, if the clock was set back."""

    def obey(self, command: Command, now: float) -> None:  # noqa: ARG002 (those that can obey need it)
        """Carry out the command. Raises DeviceRefused."""
        raise self.refusal(command)

    def use(self, watts: float, now: float) -> None:
        """Count what was drawn since the last time."""
        if now > self.used_until:
            self.used += watts * (now - self.used_until) / 3600
        self.used_until = now

    def refusal(self, command: Command) -> DeviceRefused:
        return DeviceRefused(f"a module of kind {self.kind} cannot '{command.__struct_config__.tag}'")

    def measured(self, before: Reading | None, value: float, unit: Unit, now: float) -> Reading:
        """A reading of now, or the one before if nothing is different."""
        if before is not None and before.value == value and before.unit is unit:
            return before
        return Reading(value, unit, self.pace.real(now))


class Countdown:
    """Something that goes back by itself after a while."""

    __slots__ = ("_lasts", "_until")

    def __init__(self, lasts: float, now: float) -> None:
        self._lasts = lasts
        self._until = now + lasts

    def start(self, now: float) -> None:
        self._until = now + self._lasts

    def is_over(self, now: float) -> bool:
        if self._until > now + self._lasts:  # the clock was set back
            self._until = now + self._lasts
        return now >= self._until


class Travel:
    """A way from 0 to 1 that takes its time."""

    __slots__ = ("_began", "_lasts")

    def __init__(self, lasts: float, now: float) -> None:
        self._lasts = lasts
        self._began = now

    def part(self, now: float) -> float:
        """How much of the way is behind it."""
        if now < self._began:  # the clock was set back
            self._began = now
        return 1.0 if self._lasts <= 0 else min((now - self._began) / self._lasts, 1.0)


def check_bounds(what: str, value: float | None, low: float, high: float) -> None:
    """A device refuses what is outside its bounds (Spec 8). Raises DeviceRefused."""
    if value is not None and not low <= value <= high:
        raise DeviceRefused(f"{what} must be within {low}..{high}")
