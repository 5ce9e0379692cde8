"""Refuses commands that a device can never execute: values outside the limits of Spec 8, and levels or colours for a light that
has no levels or colours. `light_after` computes the state of a light after a command.
"""

import msgspec

from domogate.domain.commands import SetLight
from domogate.domain.faults import CommandNotSupported
from domogate.domain.states import LightState

NO_LEVELS = "this light has no levels: it can only be switched on and off"
NO_COLORS = "this light has no colours"


def check_bounds(what: str, value: float | None, low: float, high: float) -> None:
    """Raises CommandNotSupported if the value is outside the bounds, but not if it is None. `what` is the name of the value."""
    if value is not None and not low <= value <= high:
        raise CommandNotSupported(f"{what} must be within {low:g}..{high:g}")


def check_light(command: SetLight, *, has_levels: bool, has_colors: bool) -> None:
    """Raises CommandNotSupported if the light can never execute the command.

    No light can execute a command that is empty, that contradicts itself, or that has a value outside its limits. A light
    without levels cannot set a level, and a light without colours cannot set a colour.
    """
    check_bounds("level", command.level, 0, 100)
    if command.color is not None:
        check_bounds("hue", command.color.hue, 0, 360)
        check_bounds("saturation", command.color.saturation, 0, 100)
        check_bounds("value", command.color.value, 0, 100)
    if (contradiction := command.find_contradiction()) is not None:
        raise CommandNotSupported(contradiction)
    if command.level is not None and not has_levels:
        raise CommandNotSupported(NO_LEVELS)
    if command.color is not None and not has_colors:
        raise CommandNotSupported(NO_COLORS)


def light_after(command: SetLight, before: LightState) -> LightState:
    """Return the state of the light after the command. Values that are not in the command do not change (Decision 0067).

    A command with level 0 and without `on` switches the light off, but the stored level does not change. The level and the
    field `value` of the colour are both the brightness. So a command that sets one of them changes both. If a light is on after
    the command and has level 0, it gets level 100.
    """
    brightness = command.brightness
    on = command.on if command.on is not None else before.on and brightness != 0
    level = brightness or before.level
    if on and level == 0:
        level = 100  # The light was off, and the level that it had before is not known.
    color = command.color or before.color
    if color is not None and level is not None and brightness is not None:
        color = msgspec.structs.replace(color, value=float(level))
    return LightState(on=on, level=level, color=color)
