"""The bounds of commands (Spec 8). A device refuses values outside them."""

from domogate.domain.commands import SetLight
from domogate.domain.faults import DeviceRefused


def check_bounds(what: str, value: float | None, low: float, high: float) -> None:
    """Raises DeviceRefused."""
    if value is not None and not low <= value <= high:
        raise DeviceRefused(f"{what} must be within {low:g}..{high:g}")


def check_light(command: SetLight) -> None:
    """Raises DeviceRefused."""
    check_bounds("level", command.level, 0, 100)
    if command.color is not None:
        check_bounds("hue", command.color.hue, 0, 360)
        check_bounds("saturation", command.color.saturation, 0, 100)
        check_bounds("value", command.color.value, 0, 100)
