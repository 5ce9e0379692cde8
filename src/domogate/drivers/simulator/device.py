"""The base of all simulated devices: the state, how it changes with time, and how commands are executed.

Simulated time may run faster than real time (Decision 0036). Devices use only simulated time. Reports and readings have real
time. Freshness and history depend on the time at which the gateway received a value.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from domogate.domain.commands import Command
from domogate.domain.faults import CommandNotSupported
from domogate.domain.plants import Module
from domogate.domain.states import Reading, State, Unit
from domogate.drivers.simulator.seeded_random import ResidentActivity, SeededRandom


class TimeScale:
    """Converts real time to simulated time and back.

    Both times are equal until `origin`. After `origin`, simulated time runs `speed` times as fast as real time.
    """

    __slots__ = ("_origin", "speed")

    def __init__(self, speed: float = 1.0, origin: float = 0.0) -> None:
        if not speed > 0:
            raise ValueError("the speed of simulated time must be greater than 0")
        self.speed = speed
        self._origin = origin

    def simulated(self, real: float) -> float:
        return real if self.speed == 1 or real <= self._origin else self._origin + (real - self._origin) * self.speed

    def real(self, simulated: float) -> float:
        if self.speed == 1 or simulated <= self._origin:
            return simulated
        return self._origin + (simulated - self._origin) / self.speed

    def interval(self, seconds: float, *, at_least: float) -> float:
        """Return an interval of simulated time: `seconds`, or longer if needed to take `at_least` seconds of real time.

        Because of this minimum, a plant whose simulated time is fast does not send too many reports.
        """
        return max(seconds, at_least * self.speed)


REAL_TIME = TimeScale()


S = TypeVar("S", bound=State)

MEASURE_EVERY = 60.0
MEASURE_EVERY_REAL = 10.0
"""A device measures once in a simulated minute, but at most once in this number of real seconds."""


class Start(msgspec.Struct, frozen=True):
    """The values with which a device starts: its random numbers, the simulated time, and the time of its last known state."""

    random: SeededRandom
    now: float
    since: float
    time_scale: TimeScale = REAL_TIME

    @property
    def measure_every(self) -> float:
        return self.time_scale.interval(MEASURE_EVERY, at_least=MEASURE_EVERY_REAL)


class Device(ABC, Generic[S]):
    """Base class of simulated devices. A change replaces `state`; a state is never modified."""

    __slots__ = ("kind", "made_at", "options", "pending", "random", "residents", "state", "time_scale", "used", "used_until")

    reports: ClassVar[type[Any]]
    """The class of the device's state."""

    def __init__(self, module: Module, state: S | None, start: Start) -> None:
        self.kind = module.kind
        self.options = module.options
        self.random = start.random
        self.made_at = start.now
        self.time_scale = start.time_scale
        self.residents = ResidentActivity(start.random, start.now)
        self.pending: tuple[tuple[str, Reading], ...] = ()
        """Readings that are not part of the state. Each is reported once."""
        self.used = 0.0
        """Watt-hours that were used since this object was made."""
        self.used_until = start.now
        self.state: S = self.first_state() if state is None else state

    @abstractmethod
    def first_state(self) -> S:
        """Return a plausible state, for a module without a known state."""

    @property
    def watts(self) -> float:
        """The power of the device in watts. For a plug or multisocket, this is the last measured power."""
        return 0.0

    @property
    def warmth(self) -> float:
        """The number of degrees by which the device warms its room if it runs for a long time. All its power becomes heat."""
        return self.watts * 0.005

    @property
    def openness(self) -> float | None:
        """How far a shutter is open: 0 is closed, 1 is open. None for other devices."""
        return None

    @property
    def moving(self) -> bool:
        """Whether the device is changing from one state to another. The state of such a device is computed more often."""
        return False

    def evolve(self, now: float) -> None:
        """Apply the changes of the state that happen without a command until the time `now`.

        `now` may be much later than at the last call, or earlier if the clock was set back.
        """

    def execute(self, command: Command, _now: float) -> None:
        """Change the state as the command says. Raises CommandNotSupported if the device can never execute it."""
        raise self.refusal(command)

    def use(self, watts: float, now: float) -> None:
        """Count the energy that the device has used since the last call. `watts` is its power during this time."""
        if now > self.used_until:
            self.used += watts * (now - self.used_until) / 3600
        self.used_until = now

    def refusal(self, command: Command) -> CommandNotSupported:
        return CommandNotSupported(f"a module of kind {self.kind} cannot '{command.__struct_config__.tag}'")

    def measured(self, before: Reading | None, value: float, unit: Unit, now: float) -> Reading:
        """Return a reading of the value with the present time.

        If the value is the same as in the reading `before`, return that reading.
        """
        if before is not None and before.value == value and before.unit is unit:
            return before
        return Reading(value, unit, self.time_scale.real(now))


class Countdown:
    """Measures the time after which a device switches itself off."""

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


class Transition:
    """A slow change, which goes from 0 to 1 in some seconds."""

    __slots__ = ("_began", "_lasts")

    def __init__(self, lasts: float, now: float) -> None:
        self._lasts = lasts
        self._began = now

    @property
    def ends_at(self) -> float:
        return self._began + self._lasts

    def progress(self, now: float) -> float:
        """Return which part of this slow change is done: 0 is the beginning, 1 is the end."""
        if now < self._began:  # the clock was set back
            self._began = now
        return 1.0 if self._lasts <= 0 else min((now - self._began) / self._lasts, 1.0)
