"""The bounds of Spec 8 on what drivers report, and on pictures: what is outside them never gets past the door."""

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
"""What a browser shows and nothing can run in, and how each begins."""

_Measured = Iterator[tuple[str, float, float, float]]
"""What, its value, and its bounds."""


def _light(state: LightState) -> _Measured:
    if state.level is not None:
        yield "level", state.level, 0, 100
    if state.color is not None:
        yield "hue", state.color.hue, 0, 360
        yield "saturation", state.color.saturation, 0, 100
        yield "value", state.color.value, 0, 100


def _automation(state: AutomationState) -> _Measured:
    yield "position", state.position, 0, 100


def _thermostat(state: ThermostatState) -> _Measured:
    yield "set point", state.set_point, 3, 40
    if state.program is not None:
        yield "program", state.program, 0, 11
    yield from _reading("humidity", state.humidity)


def _plug(state: PlugState) -> _Measured:
    for what, reading in (("power", state.power), ("energy", state.energy)):
        if reading is not None:
            yield what, reading.value, 0, 100_000


def _meter(state: EnergyMeterState) -> _Measured:
    yield from _reading("power", state.power)
    yield from _reading("energy", state.energy)


# What a meter counts has no upper bound in the contract; a plug's consumption has (Spec 2.13).
_UPPER = {Unit.WATT: math.inf, Unit.WATT_HOUR: math.inf, Unit.PERCENT: 100}


def _reading(what: str, reading: Reading | None) -> _Measured:
    if reading is not None and reading.unit in _UPPER:
        yield what, reading.value, 0, _UPPER[reading.unit]


_BOUNDED: dict[type, Callable[[Any], _Measured]] = {
    LightState: _light,
    AutomationState: _automation,
    ThermostatState: _thermostat,
    PlugState: _plug,
    EnergyMeterState: _meter,
}


def find_breach(report: Report) -> str | None:
    """Says which value is out of its bounds, or is no number at all; None when all is well."""
    try:
        for what, value, low, high in _measured(report):
            if not low <= value <= high:
                return f"{what} is {value}, outside {low}..{high}"
    except (AttributeError, TypeError) as error:
        return f"not of the form of a report: {error}"
    return None


def _measured(report: Report) -> _Measured:
    bounded = _BOUNDED.get(type(report.state))
    if bounded is not None:
        yield from bounded(report.state)
    for what, reading in report.readings:
        yield from _reading(what, reading)


def find_picture_breach(picture: Picture) -> str | None:
    """What of it is no picture that may be handed on, if anything is."""
    begins = _IMAGES.get(picture.media_type)
    if begins is None:
        return f"a picture of type {picture.media_type!r}, which is none of {', '.join(_IMAGES)}"
    if not picture.content.startswith(begins):
        return f"what is said to be {picture.media_type} does not begin like it"
    if len(picture.content) > LARGEST_PICTURE:
        return f"a picture of {len(picture.content)} bytes, and {LARGEST_PICTURE} are the most"
    return None
