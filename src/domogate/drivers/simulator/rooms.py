"""Rooms: one temperature, shared by all that stands in a room, between the weather outside and the heat inside."""

from collections.abc import Sequence
from math import exp
from typing import Protocol

from domogate.drivers.simulator.chance import Chance
from domogate.drivers.simulator.weather import Weather

_STEP = 120.0
_STEPS = 100
"""What heats is looked at every so many seconds, or so many times when more time passes at once."""
_MEMORY = 2 * 86_400.0
"""What was longer ago than this no longer matters to a room's temperature."""
_SUN = 7.0
_DRAUGHT = 4.0
_AIRING_SPAN = 6 * 3600.0
_AIRING = 720.0


class Regulating(Protocol):
    """A thermostat in the room."""

    def regulate(self, at: float, celsius: float) -> float:
        """Decide what to do at this time and temperature: by how many degrees it would warm the room in the long run."""
        ...


class Furniture(Protocol):
    """Whatever else stands in the room."""

    @property
    def warmth(self) -> float:
        """By how many degrees it warms the room in the long run."""
        ...

    @property
    def openness(self) -> float | None:
        """Of a shutter before a window: 0 closed, 1 open. None: it is no shutter."""
        ...


class Room:
    """Nears what surrounds it, slowly: outdoors, made warmer by heating, appliances and the sun through its windows."""

    __slots__ = ("_chance", "_constant", "_furniture", "_leaves_open", "_weather", "celsius", "lived_until", "thermostats")

    def __init__(self, chance: Chance, weather: Weather, celsius: float, now: float) -> None:
        self._chance = chance
        self._weather = weather
        self._constant = chance.between("time constant", 12, 20) * 3600
        self._leaves_open = chance.of("airing") * (_AIRING_SPAN - _AIRING)
        self.lived_until = now
        self.celsius = celsius
        self.thermostats: list[Regulating] = []
        self._furniture: Sequence[Furniture] = ()

    def furnish(self, furniture: Sequence[Furniture]) -> None:
        """This is what stands in it now; its thermostats come after."""
        self._furniture = furniture
        self.thermostats = []

    def live(self, now: float) -> None:
        """Let time pass until `now`. What regulates has then decided for now."""
        at = max(self.lived_until, now - _MEMORY)
        if now > at:
            step = max(_STEP, (now - at) / _STEPS)
            inside = sum(one.warmth for one in self._furniture)
            shutters = [openness for one in self._furniture if (openness := one.openness) is not None]
            window = sum(shutters) / len(shutters) if shutters else 0.5
            while at < now:
                passing = min(step, now - at)
                heat = inside + sum(one.regulate(at, self.celsius) for one in self.thermostats)
                surrounded_by = self._weather.outdoors(at) + heat + _SUN * window * self._weather.sun(at)
                constant = self._constant / (_DRAUGHT if self._is_aired(at) else 1)
                self.celsius = surrounded_by + (self.celsius - surrounded_by) * exp(-passing / constant)
                at += passing
        self.lived_until = now
        for one in self.thermostats:
            one.regulate(now, self.celsius)

    def _is_aired(self, at: float) -> bool:
        """Now and then, by day, somebody opens a window for some minutes."""
        slot, into = divmod(at, _AIRING_SPAN)
        if not self._leaves_open <= into < self._leaves_open + _AIRING:
            return False
        return 6 <= at % 86_400 / 3600 < 22 and self._chance.of("air", int(slot)) < 0.5
