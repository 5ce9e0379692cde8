"""Simulated rooms: the devices of a room share one temperature, which depends on the weather and on heating."""

from collections.abc import Sequence
from math import exp
from typing import Protocol

from domogate.drivers.simulator.seeded_random import SeededRandom
from domogate.drivers.simulator.weather import Weather

_STEP = 120.0
_STEPS = 100
"""`advance` computes in steps of `_STEP` seconds. If it would need more than `_STEPS` steps, it makes longer steps."""
_MEMORY = 2 * 86_400.0
"""In seconds. If more time has passed since the last computation, only the last `_MEMORY` seconds are computed.

What happened before has nearly no effect on the temperature of the room.
"""
_SUN = 7.0
_AIRED_FACTOR = 4.0
_AIRING_SPAN = 6 * 3600.0
_AIRING = 720.0


class Regulator(Protocol):
    """A thermostat that heats or cools the room."""

    def regulate(self, at: float, celsius: float) -> float:
        """Switch the heating or cooling on or off, as this time and this room temperature require.

        Return the number of degrees by which the thermostat would warm the room if nothing changed for a long time. The number
        is below 0 if the thermostat cools, and 0 if its heating or cooling is off.
        """
        ...


class RoomDevice(Protocol):
    """A device whose option `room` names the room. It may warm the room, or be a shutter or a thermostat."""

    @property
    def warmth(self) -> float:
        """The number of degrees by which the device warms the room if it runs for a long time."""
        ...

    @property
    def openness(self) -> float | None:
        """How far a shutter is open: 0 is closed, 1 is open. None for other devices."""
        ...


class Room:
    """A room. Its temperature slowly follows the weather, heating, appliances and the sun through its windows."""

    __slots__ = ("_airing_starts", "_constant", "_devices", "_random", "_weather", "advanced_until", "celsius", "thermostats")

    def __init__(self, random: SeededRandom, weather: Weather, celsius: float, now: float) -> None:
        self._random = random
        self._weather = weather
        self._constant = random.between("time constant", 12, 20) * 3600
        self._airing_starts = random.of("airing") * (_AIRING_SPAN - _AIRING)
        self.advanced_until = now
        self.celsius = celsius
        self.thermostats: list[Regulator] = []
        self._devices: Sequence[RoomDevice] = ()

    def set_devices(self, devices: Sequence[RoomDevice]) -> None:
        """Replace the devices of the room, and empty `thermostats`. The caller then adds the thermostats of the room."""
        self._devices = devices
        self.thermostats = []

    def advance(self, now: float) -> None:
        """Let time pass up to the given time, then let the thermostats switch the heating or cooling."""
        at = max(self.advanced_until, now - _MEMORY)
        if now > at:
            step = max(_STEP, (now - at) / _STEPS)
            inside = sum(one.warmth for one in self._devices)
            shutters = [openness for one in self._devices if (openness := one.openness) is not None]
            window = sum(shutters) / len(shutters) if shutters else 0.5
            while at < now:
                passing = min(step, now - at)
                heat = inside + sum(one.regulate(at, self.celsius) for one in self.thermostats)
                surroundings = self._weather.outdoors(at) + heat + _SUN * window * self._weather.sun(at)
                constant = self._constant / (_AIRED_FACTOR if self._is_aired(at) else 1)
                self.celsius = surroundings + (self.celsius - surroundings) * exp(-passing / constant)
                at += passing
        self.advanced_until = now
        for one in self.thermostats:
            one.regulate(now, self.celsius)

    def _is_aired(self, at: float) -> bool:
        """Whether a window is open at this time. Residents open a window for some minutes, a few times between 6 and 22 h."""
        slot, into = divmod(at, _AIRING_SPAN)
        if not self._airing_starts <= into < self._airing_starts + _AIRING:
            return False
        return 6 <= at % 86_400 / 3600 < 22 and self._random.of("air", int(slot)) < 0.5
