"""Colours in messages: hue and saturation (`hs`), red, green and blue (`rgb`), or chromaticity (`xy`)."""

from collections.abc import Mapping
from typing import Any, Literal

from domogate.drivers.mqtt.colors import chromaticity, hue_and_saturation, hue_and_saturation_of_rgb, rgb
from domogate.drivers.mqtt.payloads import as_number, as_text, within
from domogate.drivers.mqtt.properties import Properties
from domogate.drivers.mqtt.template import as_scalar

ColorFormat = Literal["hs", "rgb", "xy"]

_LONGEST_TEXT = 50
_MOST_CHANNELS = 5
_WHITE = ("w", "c")
"""The names of white channels in an object with r, g and b."""


def read_color(color_format: ColorFormat, value: Any) -> Properties:
    """Return the properties `hue` and `saturation` from a text, a list or an object.

    Examples of values are `120,50.5` and {"r": 255, "g": 0, "b": 0}. `color_format` says what the numbers in the value are.
    The result has no properties if the value cannot be read, or if it is black in the format `rgb`.
    """
    parts = _parts_of(color_format, value)
    if color_format == "hs" and len(parts) == 2:
        hue, saturation = within(parts[0], 0, 360), within(parts[1], 0, 100)
        return Properties() if hue is None or saturation is None else Properties(hue=hue, saturation=saturation)
    if color_format == "xy" and len(parts) == 2:
        x, y = within(parts[0], 0, 1), within(parts[1], 0.001, 1)
        return Properties() if x is None or y is None else _properties(hue_and_saturation(x, y))
    if color_format == "rgb" and 3 <= len(parts) <= _MOST_CHANNELS:
        channels = [one for one in (within(part, 0, 255) for part in parts) if one is not None]
        # Without light there is no colour. A white channel makes the colour paler.
        if len(channels) == len(parts) and any(channels):
            red, green, blue, *white = channels
            return _properties(hue_and_saturation_of_rgb(*(part + sum(white) for part in (red, green, blue))))
    return Properties()


def fill_color(color_format: ColorFormat, payload: str, hue: float, saturation: float) -> str:
    """Return the payload in which `{value}` is replaced by the colour.

    A name in braces, such as `{hue}`, `{red}` or `{x}`, is replaced by the part of the colour with this name.
    """
    if color_format == "hs":
        parts: dict[str, float] = {"hue": round(hue, 1), "saturation": round(saturation, 1)}
    elif color_format == "rgb":
        parts = dict(zip(("red", "green", "blue"), rgb(hue, saturation), strict=True))
    else:
        parts = dict(zip("xy", chromaticity(hue, saturation), strict=True))
    texts = {name: as_text(part) for name, part in parts.items()}
    for name, text in texts.items():
        payload = payload.replace(f"{{{name}}}", text)
    return payload.replace("{value}", ",".join(texts.values()))


def _parts_of(color_format: ColorFormat, value: Any) -> list[float | None]:
    if isinstance(value, Mapping):
        names = (*color_format, *(name for name in _WHITE if color_format == "rgb" and name in value))
        return [as_number(value.get(name)) for name in names]
    if isinstance(value, list):
        return [as_number(one) for one in value[: _MOST_CHANNELS + 1]]
    if isinstance(value, str):
        return [as_number(as_scalar(part.strip())) for part in value[:_LONGEST_TEXT].split(",")]
    return []


def _properties(found: tuple[float, float]) -> Properties:
    return Properties(hue=found[0], saturation=found[1])
