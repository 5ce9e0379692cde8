"""The weekly programs of simulated thermostats, one for each program number (Spec 8). Each program has seven days of periods.

A period lasts until the next period begins, even over midnight and over the end of the week. The names of the programs
are only for our documentation (docs/simulator.md). An estate gives its own names to the numbers.
"""

from bisect import bisect_right
from enum import StrEnum
from typing import NamedTuple

from domogate.domain.states import ThermostatFunction


class Level(StrEnum):
    """The comfort level of a period."""

    COMFORT = "comfort"
    ECO = "eco"
    NIGHT = "night"


SET_POINTS: dict[ThermostatFunction, dict[Level, float]] = {
    ThermostatFunction.HEATING: {Level.COMFORT: 20.5, Level.ECO: 18.5, Level.NIGHT: 16.5},
    ThermostatFunction.COOLING: {Level.COMFORT: 24.0, Level.ECO: 27.0, Level.NIGHT: 25.5},
}
"""The set point of each comfort level, in Celsius."""

_DAY = 1440
_WEEK = 7 * _DAY
_MONDAY = 3 * _DAY
"""In minutes: the time from Monday, 29 December 1969, to Thursday, 1 January 1970."""

Day = tuple[tuple[str, Level], ...]


class Week(NamedTuple):
    """A weekly program. `begins` has the minute of the week at which each period begins, and `levels` the level of each period.

    `name` is used only in the documentation.
    """

    name: str
    begins: tuple[int, ...]
    levels: tuple[Level, ...]


class Period(NamedTuple):
    """A period of a program. `began` identifies it: its start in minutes since 1970, in the thermostat's local time."""

    began: int
    level: Level


def _week(name: str, *days: Day) -> Week:
    assert len(days) == 7
    periods = [(day * _DAY + _minutes(at), level) for day, periods in enumerate(days) for at, level in periods]
    assert periods == sorted(periods)
    return Week(name, tuple(at for at, _ in periods), tuple(level for _, level in periods))


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


_C, _E, _N = Level.COMFORT, Level.ECO, Level.NIGHT
_AT_WORK: Day = (("06:00", _C), ("08:30", _E), ("17:00", _C), ("22:30", _N))
_AT_HOME: Day = (("08:00", _C), ("23:30", _N))
_EARLY: Day = (("04:30", _C), ("06:30", _E), ("14:00", _C), ("21:00", _N))
_LATE: Day = (("08:00", _C), ("13:00", _E), ("21:30", _C), ("23:59", _N))
_NOBODY: Day = (("00:00", _N),)
_OFFICE: Day = (("06:30", _C), ("19:00", _E), ("22:00", _N))
_SCHOOL: Day = (("06:00", _C), ("14:00", _E), ("16:30", _N))
_SHOP: Day = (("08:30", _C), ("13:00", _E), ("15:00", _C), ("20:00", _N))
_THREE_MEALS: Day = (("06:30", _C), ("09:00", _E), ("11:30", _C), ("14:00", _E), ("18:00", _C), ("22:30", _N))

PROGRAMS: tuple[Week, ...] = (
    _week("Comfort", *([(("06:00", _C), ("23:00", _E))] * 7)),
    _week("Working week", *([_AT_WORK] * 5), _AT_HOME, _AT_HOME),
    _week("Holidays", *([(("07:00", _E), ("21:00", _N))] * 7)),
    _week("Early shift", *([_EARLY] * 5), _AT_HOME, _AT_HOME),
    _week("Late shift", *([_LATE] * 5), _AT_HOME, _AT_HOME),
    _week("Home office", *([(("07:00", _C), ("22:30", _N))] * 5), _AT_HOME, _AT_HOME),
    _week("Weekend house", *([_NOBODY] * 4), (("16:00", _C), ("23:30", _E)), _AT_HOME, (("08:00", _C), ("18:00", _N))),
    _week("Office", *([_OFFICE] * 5), _NOBODY, _NOBODY),
    _week("School", *([_SCHOOL] * 5), _NOBODY, _NOBODY),
    _week("Shop", (("14:30", _C), ("20:00", _N)), *([_SHOP] * 5), _NOBODY),
    _week("Three meals", *([_THREE_MEALS] * 7)),
    _week("Always", *([(("00:00", _C),)] * 7)),
)
"""The programs by number, each from Monday to Sunday."""


def period_at(program: int, local_time: float) -> Period:
    """Return the period of the program at this time.

    `local_time` is the local time of the thermostat: the seconds since 1970-01-01 00:00 in this local time.
    """
    week = PROGRAMS[program]
    minute = int(local_time // 60)
    of_week = (minute + _MONDAY) % _WEEK
    index = bisect_right(week.begins, of_week) - 1
    began = week.begins[index] if index >= 0 else week.begins[-1] - _WEEK
    return Period(minute - of_week + began, week.levels[index])
