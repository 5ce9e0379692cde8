"""The limits of Spec 8 for reports and pictures. A value outside them is refused."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from domogate.domain.states import (
    AutomationState,
    EnergyMeterState,
    LightState,
    PlugState,
    Reading,
    Report,
    ThermostatState,
    Unit,
)
from domogate.ports import Picture

LARGEST_PICTURE = 1_048_576
_IMAGES = {"image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG\r\n\x1a\n"}
"""Formats that browsers show and that cannot contain scripts, each with its first bytes."""

_Values = Iterator[tuple[str, float, float, float]]
"""A name, its value, and its lower and upper limit."""


def _light(state: LightState) -> _Values:
    if state.level is not None:
        yield "level", state.level, 0, 100
    if state.color is not None:
        yield "hue", state.color.hue, 0, 360
        yield "saturation", state.color.saturation, 0, 100
        yield "value", state.color.value, 0, 100


def _automation(state: AutomationState) -> _Values:
    yield "position", state.position, 0, 100


def _thermostat(state: ThermostatState) -> _Values:
    yield "set point", state.set_point, 3, 40
    if state.program is not None:
        yield "program", state.program, 0, 11
    yield from _reading("humidity", state.humidity)


def _plug(state: PlugState) -> _Values:
    for what, reading in (("power", state.power), ("energy", state.energy)):
        if reading is not None:
            yield what, reading.value, 0, 100_000


def _meter(state: EnergyMeterState) -> _Values:
    yield from _reading("power", state.power)
    yield from _reading("energy", state.energy)


# The contract limits the consumption of a plug (Spec 2.13), but not the count of a meter.
_UPPER = {Unit.WATT: math.inf, Unit.WATT_HOUR: math.inf, Unit.PERCENT: 100}


def _reading(what: str, reading: Reading | None) -> _Values:
    if reading is not None and reading.unit in _UPPER:
        yield what, reading.value, 0, _UPPER[reading.unit]


_LIMITED: dict[type, Callable[[Any], _Values]] = {
    LightState: _light,
    AutomationState: _automation,
    ThermostatState: _thermostat,
    PlugState: _plug,
    EnergyMeterState: _meter,
}


def find_breach(report: Report) -> str | None:
    """The first value outside its limits, or not a number. None: the report is valid."""
    try:
        for what, value, low, high in _values(report):
            if not low <= value <= high:
                return f"{what} is {value}, outside {low}..{high}"
    except (AttributeError, TypeError) as error:
        return f"not a valid report: {error}"
    return None


def _values(report: Report) -> _Values:
    bounded = _LIMITED.get(type(report.state))
    if bounded is not None:
        yield from bounded(report.state)
    for what, reading in report.readings:
        yield from _reading(what, reading)


def find_picture_breach(picture: Picture) -> str | None:
    """Why the picture must not be shown. None: the picture is valid."""
    first_bytes = _IMAGES.get(picture.media_type)
    if first_bytes is None:
        return f"the type is {picture.media_type!r}; allowed are {', '.join(_IMAGES)}"
    if not picture.content.startswith(first_bytes):
        return f"the content is not {picture.media_type}"
    if len(picture.content) > LARGEST_PICTURE:
        return f"the picture has {len(picture.content)} bytes; the limit is {LARGEST_PICTURE}"
    return None
