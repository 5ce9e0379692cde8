"""Translates the components of Home Assistant to kinds of modules and to options of the dialect `generic`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from domogate.domain.devices import DeviceKind
from domogate.drivers.mqtt.home_assistant.climate import translate_climate
from domogate.drivers.mqtt.home_assistant.entries import (
    Translation,
    known,
    meanings,
    on_and_off,
    read_source,
    read_target,
    state_template,
)
from domogate.drivers.mqtt.home_assistant.lights import translate_light
from domogate.drivers.mqtt.home_assistant.messages import Announcement
from domogate.drivers.mqtt.home_assistant.templates import Untranslatable

_FAN = {"hwType": "fan-relay", "deviceType": "Fan"}
_HUMIDIFIER = {"hwType": "humidifier-relay", "deviceType": "Humidifier"}
_VALVE = {"hwType": "valve-motor", "deviceType": "Valve"}


def _switched(hardware: dict[str, Any]) -> Callable[[Announcement], Translation]:
    """Return a function that translates the announcement of a component that can be switched on and off.

    The component becomes a plug with this hardware.
    """

    def translate(said: Announcement) -> Translation:
        heard, sent = on_and_off(said)
        state = known(on=read_source(said, "state_topic", state_template(said), words=heard))
        command = known(on=read_target(said, "command_topic", "command_template", words=sent))
        return Translation(DeviceKind.PLUG, state, command, hardware)

    return translate


def _ends(said: Announcement) -> tuple[float, float]:
    """Return the numbers that the device uses for a closed and for an open cover or valve.

    Raises Untranslatable if the two numbers are equal or too large.
    """
    closed, opened = said.number("position_closed", 0), said.number("position_open", 100)
    if closed == opened or not all(abs(end) <= 1e6 for end in (closed, opened)):
        raise Untranslatable("position_open and position_closed are not two numbers")
    return closed, opened


def _movement(said: Announcement) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two entries for the option `state` of the generic dialect.

    One entry reads the position, the other one reads the target.

    Both read the topic on which the component reports whether it is open, closed, opening or closing.
    """
    ends = {said.text("state_open", "open"): 100, said.text("state_closed", "closed"): 0}
    moving = {said.text("state_opening", "opening"): 100, said.text("state_closing", "closing"): 0}
    position, target = (read_source(said, "state_topic", "value_template", words=words) for words in (ends, moving))
    return position, target


def _to_ends(said: Announcement, template: str = "") -> dict[str, Any]:
    ends = {"0": said.text("payload_close", "CLOSE"), "100": said.text("payload_open", "OPEN")}
    return read_target(said, "command_topic", template, words=ends)


def _cover(said: Announcement) -> Translation:
    closed, opened = _ends(said)
    span = (opened - closed) / 100
    position, target = _movement(said)
    if said.text("position_topic"):
        position = read_source(said, "position_topic", "position_template", scale=1 / span, offset=-closed / span)
    command = read_target(said, "set_position_topic", "set_position_template", scale=span, offset=closed, name="position")
    # A cover that cannot move to a position, or does not report it, can still be opened and closed.
    to_ends = _to_ends(said)
    chosen = (command or to_ends) if said.text("position_topic") or not to_ends else to_ends
    return Translation(DeviceKind.AUTOMATION, known(position=position, target=target), known(position=chosen))


def _valve(said: Announcement) -> Translation:
    if said.config.get("reports_position") is not True:
        position, target = _movement(said)
        command = _to_ends(said, "command_template")
        return Translation(DeviceKind.AUTOMATION, known(position=position, target=target), known(position=command), _VALVE)
    closed, opened = _ends(said)
    span = (opened - closed) / 100
    return Translation(
        DeviceKind.AUTOMATION,
        known(position=read_source(said, "state_topic", "value_template", scale=1 / span, offset=-closed / span)),
        known(position=read_target(said, "command_topic", "command_template", scale=span, offset=closed)),
        _VALVE,
    )


def _lock(said: Announcement) -> Translation:
    heard = {said.text("state_locked", "LOCKED"): True, said.text("state_unlocked", "UNLOCKED"): False}
    sent = {"true": said.text("payload_lock", "LOCK"), "false": said.text("payload_unlock", "UNLOCK")}
    return Translation(
        DeviceKind.LOCK,
        known(locked=read_source(said, "state_topic", "value_template", words=meanings(heard))),
        known(locked=read_target(said, "command_topic", "command_template", words=sent)),
    )


def _pressed(payload: str, default: str) -> Callable[[Announcement], Translation]:
    """Return a function that translates the announcement of a component that can only be activated.

    The component has no state.

    `payload` is the field of the announcement with the text that activates the component. `default` is this text if the field
    is missing.
    """

    def translate(said: Announcement) -> Translation:
        target = read_target(said, "command_topic", "command_template", words={"true": said.text(payload, default)})
        return Translation(DeviceKind.ACTIVATION, {}, known(active=target))

    return translate


TRANSLATIONS: Mapping[str, Callable[[Announcement], Translation]] = MappingProxyType(
    {
        "switch": _switched({}),
        "fan": _switched(_FAN),
        "humidifier": _switched(_HUMIDIFIER),
        "light": translate_light,
        "cover": _cover,
        "valve": _valve,
        "lock": _lock,
        "climate": translate_climate,
        "button": _pressed("payload_press", "PRESS"),
        "scene": _pressed("payload_on", "ON"),
    }
)
"""For each component that takes commands and can become a module: the function that translates it.

The function may raise Untranslatable.
"""

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "camera": "a camera must say whether it is on, because the gateway gives pictures only of a camera that is on",
        "siren": "a siren would be switched on together with the plugs of its room",
        "water_heater": "the set point of a thermostat is 3 to 40 °C",
        "alarm_control_panel": "no kind of module is an alarm system",
    }
)
"""For some components: the reason why they cannot become modules."""
