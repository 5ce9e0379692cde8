"""The weather of all simulated plants: seasons, day and night, warm and cold days, clear and cloudy days."""

from math import cos, floor, pi

from domogate.drivers.simulator.seeded_random import SeededRandom

_DAY = 86_400.0
_YEAR = 365.25


class Weather:
    """The weather of a simulation.

    It depends only on the seed and on simulated time, so it is the same in every run. Hours are UTC.
    """

    __slots__ = ("_day", "_random", "_spell", "_sunny")

    SPELL = 4.0
    """By how many degrees Celsius a day can be warmer or colder than the mean for this time of the year."""

    def __init__(self, seed: int) -> None:
        self._random = SeededRandom(seed, "the weather")
        self._day: int | None = None
        self._spell = (0.0, 0.0)
        self._sunny = 0.0

    def outdoors(self, at: float) -> float:
        """Return the temperature in Celsius: lowest at 5:00 and in January, highest at 17:00 and in July."""
        days = at / _DAY
        self._turn_to(floor(days))
        begins, ends = self._spell
        season = 11.0 - 9.0 * cos(2 * pi * (days % _YEAR - 15) / _YEAR)
        return season - 5.0 * cos(2 * pi * (at % _DAY - 5 * 3600) / _DAY) + begins + (ends - begins) * (days % 1)

    def sun(self, at: float) -> float:
        """Return the strength of the sun: 0 at night, 1 at noon on a clear summer day."""
        return self.clearness(at) * self.daylight(at)

    def daylight(self, at: float) -> float:
        """Return the strength of the sun without clouds: 0 at night; at noon from 0.6 (December) to 1 (June)."""
        days = at / _DAY
        height = 0.3 - 0.35 * cos(2 * pi * (days % _YEAR + 10) / _YEAR) - 0.65 * cos(2 * pi * (at % _DAY) / _DAY)
        return min(max(height, 0.0), 1.0)

    def clearness(self, at: float) -> float:
        """Return the part of the sunlight that passes the clouds, from 0.15 to 1. It is the same for the whole day (UTC)."""
        self._turn_to(floor(at / _DAY))
        return self._sunny

    def _turn_to(self, day: int) -> None:
        if day != self._day:
            self._day = day
            self._spell = (self._spell_of(day), self._spell_of(day + 1))
            self._sunny = self._random.between("clouds", 0.15, 1.0, day)

    def _spell_of(self, day: int) -> float:
        # The mean of three days, so that the weather changes slowly.
        return self.SPELL * sum(2 * self._random.of("spell", day + late) - 1 for late in range(3)) / 3
