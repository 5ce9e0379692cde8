"""Commands to lights: the properties to send, and the values to store until the light is switched on (Decision 0067)."""

from domogate.domain.commands import SetLight
from domogate.domain.states import LightState, LightTarget
from domogate.drivers.bounds import check_light, light_after
from domogate.drivers.mqtt.module import DrivenModule
from domogate.drivers.mqtt.properties import Properties


def needs_report(module: DrivenModule, command: SetLight) -> bool:
    """Whether the light must report before the command can be sent.

    The driver must know whether the light is on, and whether it has levels and colours. One message of the light
    may have only a part of this information.
    """
    if module.codec.confirmed_by_broker:
        return False
    if module.codec.settable is None:
        needed = {"on": command.on is None, "level": command.level is not None, "hue": command.color is not None}
        return any(is_needed and not module.has_reported(what) for what, is_needed in needed.items())
    return command.on is None and module.state is None and not module.has_reported("on")


def plan_light(module: DrivenModule, command: SetLight) -> tuple[Properties, LightTarget | None]:
    """Return the properties to send, and the level and colour to store for a light that is off.

    The second value is None if nothing is to be stored. Raises CommandNotSupported if the light cannot execute the command.
    """
    has_levels, has_colors = _can_set(module, "level"), _can_set(module, "hue")
    check_light(command, has_levels=has_levels, has_colors=has_colors)
    before = module.state if isinstance(module.state, LightState) else LightState(on=True)
    after = light_after(command, before)
    is_preset = not after.on and bool(command.brightness) and has_levels
    wanted = light_properties(command, before, has_levels=has_levels)
    return wanted, LightTarget(after.level, after.color) if is_preset else None


def light_properties(command: SetLight, before: LightState, *, has_levels: bool = True) -> Properties:
    """Return the properties to send to a light with the state `before`.

    If a light stays off, its level and colour are not sent, because they would switch the light on.
    """
    after = light_after(command, before)
    if not after.on:
        return Properties(on=False) if before.on or command.on is False or not command.brightness else Properties()
    preset = before.target
    wanted = Properties() if command.on is None else Properties(on=command.on)
    if has_levels and after.level is not None and (command.brightness is not None or preset is not None):
        wanted["level"] = after.level
    if after.color is not None and (command.color is not None or (preset is not None and preset.color is not None)):
        wanted["hue"], wanted["saturation"] = after.color.hue, after.color.saturation
    return wanted


def _can_set(module: DrivenModule, what: str) -> bool:
    """Whether the device can set this property.

    If a dialect does not list the properties that can be set, each reported property can be set.
    """
    settable = module.codec.settable
    return module.has_reported(what) if settable is None else what in settable
