"""The weather over all simulated plants: seasons, days and nights, warmer and colder spells, clear and cloudy days."""

from math import cos, floor, pi

from domogate.drivers.simulator.chance import Chance

_DAY = 86_400.0
_YEAR = 365.25


class Weather:
    """A function of the seed and of simulated time, so that it is the same in every run. Hours are UTC."""

    __slots__ = ("_chance", "_day", "_spell", "_sunny")

    SPELL = 4.0
    """How many degrees a day may be off the season's."""

    def __init__(self, seed: int) -> None:
        self._chance = Chance(seed, "the weather")
        self._day: int | None = None
        self._spell = (0.0, 0.0)
        self._sunny = 0.0

    def outdoors(self, at: float) -> float:
        """In Celsius: cold at five in the morning, warm at five in the afternoon, warmest in July."""
        days = at / _DAY
        self._turn_to(floor(days))
        begins, ends = self._spell
        season = 11.0 - 9.0 * cos(2 * pi * (days % _YEAR - 15) / _YEAR)
        return season - 5.0 * cos(2 * pi * (at % _DAY - 5 * 3600) / _DAY) + begins + (ends - begins) * (days % 1)

    def sun(self, at: float) -> float:
        """0 at night, 1 at noon of a clear summer's day."""
        return self.clearness(at) * self.daylight(at)

    def daylight(self, at: float) -> float:
        """The same above the clouds: 0 at night, at noon between a quarter (December) and all (June) of what it can be."""
        days = at / _DAY
        height = 0.3 - 0.35 * cos(2 * pi * (days % _YEAR + 10) / _YEAR) - 0.65 * cos(2 * pi * (at % _DAY) / _DAY)
        return min(max(height, 0.0), 1.0)

    def clearness(self, at: float) -> float:
        """How much of the sun that day's clouds let through."""
        self._turn_to(floor(at / _DAY))
        return self._sunny

    def _turn_to(self, day: int) -> None:
        if day != self._day:
            self._day = day
            self._spell = (self._spell_of(day), self._spell_of(day + 1))
            self._sunny = self._chance.between("clouds", 0.15, 1.0, day)

    def _spell_of(self, day: int) -> float:
        # Over three days, so that a spell lasts.
        return self.SPELL * sum(2 * self._chance.of("spell", day + late) - 1 for late in range(3)) / 3
