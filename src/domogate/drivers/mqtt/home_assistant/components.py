"""Translates the components of Home Assistant to kinds of modules and to options of the dialect generic."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.drivers.mqtt.announcements import lamp_hardware
from domogate.drivers.mqtt.home_assistant.messages import Announcement
from domogate.drivers.mqtt.home_assistant.templates import Untranslatable, read_command_template, read_value_template

_HIGHEST_BRIGHTNESS = 255.0


class Translation(msgspec.Struct, frozen=True):
    """A kind of module, with the tables `state` and `command` of its options."""

    kind: DeviceKind
    state: dict[str, Any]
    command: dict[str, Any]
    hardware: dict[str, Any] = {}


def read_source(
    said: Announcement,
    topic: str,
    template: str,
    *,
    scale: float = 1.0,
    offset: float = 0.0,
    words: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the entry of the table `state`. It is empty if the announcement has no such topic. Raises Untranslatable.

    `topic` and `template` are names in the announcement. `words` are the meanings of the words in payloads.
    """
    if not said.text(topic):
        return {}
    value = read_value_template(said.text(template))
    usual = {"path": "", "scale": 1.0, "offset": 0.0, "map": None}
    return {"topic": said.text(topic)} | _unusual(usual, value.path, value.scale * scale, offset, words)


def _target(
    said: Announcement,
    topic: str,
    template: str,
    *,
    scale: float = 1.0,
    offset: float = 0.0,
    words: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the entry of the table `command`, as `read_source` does it for the table `state`. Raises Untranslatable."""
    if not said.text(topic):
        return {}
    command = read_command_template(said.text(template))
    usual = {"payload": "{value}", "scale": 1.0, "offset": 0.0, "map": None}
    values = (command.payload, command.scale * scale, command.scale * offset, words)
    return {"topic": said.text(topic)} | _unusual(usual, *values)


def _unusual(usual: Mapping[str, Any], *values: Any) -> dict[str, Any]:
    """Return the values that differ from their defaults, in the order of the defaults."""
    return {name: value for (name, default), value in zip(usual.items(), values, strict=True) if value != default}


def _known(**entries: dict[str, Any]) -> dict[str, Any]:
    """Return the entries that are not empty."""
    return {name: entry for name, entry in entries.items() if entry}


def _meanings(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the meanings of words in payloads. In a payload of JSON, the word `True` of a template is `true`."""
    return {**words, **{word.lower(): meaning for word, meaning in words.items() if word in ("True", "False")}}


def _on_and_off(said: Announcement) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the `map` of the state and the `map` of the command of something that is on or off."""
    on, off = said.text("payload_on", "ON"), said.text("payload_off", "OFF")
    heard = {said.text("state_on", on): True, said.text("state_off", off): False}
    return _meanings(heard), {"true": on, "false": off}


def _switch(said: Announcement) -> Translation:
    heard, sent = _on_and_off(said)
    state = _known(on=read_source(said, "state_topic", "value_template", words=heard))
    return Translation(DeviceKind.PLUG, state, _known(on=_target(said, "command_topic", "command_template", words=sent)))


def _light(said: Announcement) -> Translation:
    schema = said.text("schema", "basic")
    translate = {"basic": _basic_light, "default": _basic_light, "json": _json_light}.get(schema)
    if translate is None:
        raise Untranslatable(f"lights of the schema {schema[:20]!r} cannot be translated")
    state, command = translate(said)
    # Nothing would confirm a command for a level or a colour that the lamp does not report.
    reported = {*state, *(("color",) if "hue" in state else ())}
    if state:
        command = {name: target for name, target in command.items() if name in reported}
    hardware = lamp_hardware(has_levels="level" in command, has_colors="color" in command)
    return Translation(DeviceKind.LIGHT, state, command, hardware)


def _basic_light(said: Announcement) -> tuple[dict[str, Any], dict[str, Any]]:
    if said.text("on_command_type") == "brightness":
        raise Untranslatable("a light that is switched on by its brightness cannot be translated")
    heard, sent = _on_and_off(said)
    highest = _highest_brightness(said)
    template = "state_value_template" if said.text("state_value_template") else "value_template"
    state = _known(
        on=read_source(said, "state_topic", template, words=heard),
        level=read_source(said, "brightness_state_topic", "brightness_value_template", scale=100 / highest),
        color=read_source(said, "hs_state_topic", "hs_value_template"),
    )
    level = _target(said, "brightness_command_topic", "brightness_command_template", scale=highest / 100)
    color = {} if said.text("hs_command_template") else _target(said, "hs_command_topic", "")
    return state, _known(on=_target(said, "command_topic", "", words=sent), level=level, color=color)


def _json_light(said: Announcement) -> tuple[dict[str, Any], dict[str, Any]]:
    modes = said.words("supported_color_modes")
    highest = _highest_brightness(said)
    state, command = said.text("state_topic"), said.text("command_topic")
    if not state or not command:
        raise Untranslatable("a light without a state topic or a command topic")
    heard: dict[str, Any] = {"on": {"topic": state, "path": "state", "map": {"ON": True, "OFF": False}}}
    sent: dict[str, Any] = {"on": {"topic": command, "payload": '{"state": "{value}"}', "map": {"true": "ON", "false": "OFF"}}}
    if said.config.get("brightness") is True or set(modes) - {"onoff"}:
        heard["level"] = {"topic": state, "path": "brightness", "scale": 100 / highest}
        payload = '{"state": "ON", "brightness": {value}}'
        sent["level"] = {"topic": command, "payload": payload, "scale": highest / 100}
    if "hs" in modes or said.config.get("hs") is True:
        heard |= {"hue": {"topic": state, "path": "color.h"}, "saturation": {"topic": state, "path": "color.s"}}
        sent["color"] = {"topic": command, "payload": '{"state": "ON", "color": {"h": {hue}, "s": {saturation}}}'}
    return heard, sent


def _highest_brightness(said: Announcement) -> float:
    highest = said.number("brightness_scale", _HIGHEST_BRIGHTNESS)
    return highest if 1 <= highest <= 1e6 else _HIGHEST_BRIGHTNESS


def _cover(said: Announcement) -> Translation:
    closed, opened = said.number("position_closed", 0), said.number("position_open", 100)
    if closed == opened or not all(abs(end) <= 1e6 for end in (closed, opened)):
        raise Untranslatable("position_open and position_closed are not two numbers")
    span = (opened - closed) / 100
    position = read_source(said, "position_topic", "position_template", scale=1 / span, offset=-closed / span)
    if not position:
        raise Untranslatable("a cover that does not report its position")
    # A cover that cannot move to a position can still be opened and closed.
    ends = {"0": said.text("payload_close", "CLOSE"), "100": said.text("payload_open", "OPEN")}
    to_end = _target(said, "command_topic", "", words=ends)
    command = _target(said, "set_position_topic", "set_position_template", scale=span, offset=closed) or to_end
    return Translation(DeviceKind.AUTOMATION, _known(position=position), _known(position=command))


def _lock(said: Announcement) -> Translation:
    heard = {said.text("state_locked", "LOCKED"): True, said.text("state_unlocked", "UNLOCKED"): False}
    sent = {"true": said.text("payload_lock", "LOCK"), "false": said.text("payload_unlock", "UNLOCK")}
    return Translation(
        DeviceKind.LOCK,
        _known(locked=read_source(said, "state_topic", "value_template", words=_meanings(heard))),
        _known(locked=_target(said, "command_topic", "command_template", words=sent)),
    )


_EVERY_MODE = ("auto", "off", "cool", "heat")
_MODES = MappingProxyType({"off": "off", "auto": "automatic", "heat_cool": "automatic", "heat": "manual"})
"""The modes of Home Assistant as modes of a thermostat that heats."""
_ACTIONS = MappingProxyType({"heating": True, "idle": False, "off": False, "cooling": False, "fan": False, "drying": False})


def _climate(said: Announcement) -> Translation:
    is_fahrenheit = said.text("temperature_unit").upper() == "F"
    scale, offset = (5 / 9, -160 / 9) if is_fahrenheit else (1.0, 0.0)
    set_point = read_source(said, "temperature_state_topic", "temperature_state_template", scale=scale, offset=offset)
    if not set_point:
        raise Untranslatable("a thermostat that does not report its set point")
    modes = said.words("modes", _EVERY_MODE)
    if "heat" not in modes and "cool" in modes:
        raise Untranslatable("a thermostat that only cools")
    state = _known(
        setPoint=set_point,
        temperature=read_source(said, "current_temperature_topic", "current_temperature_template", scale=scale, offset=offset),
        humidity=read_source(said, "current_humidity_topic", "current_humidity_template"),
        mode=read_source(said, "mode_state_topic", "mode_state_template", words=dict(_MODES)),
        loadActive=read_source(said, "action_topic", "action_template", words=dict(_ACTIONS)),
    )
    words = {meaning: word for word, meaning in reversed([*_MODES.items()]) if word in modes}
    mode = _target(said, "mode_command_topic", "mode_command_template", words=words) if "mode" in state and words else {}
    command = _target(
        said, "temperature_command_topic", "temperature_command_template", scale=1 / scale, offset=-offset / scale
    )
    return Translation(DeviceKind.CHRONOTHERMOSTAT, state, _known(setPoint=command, mode=mode))


def _pressed(payload: str, default: str) -> Callable[[Announcement], Translation]:
    """Return the translation of something that can only be activated, and that has no state."""

    def translate(said: Announcement) -> Translation:
        target = _target(said, "command_topic", "command_template", words={"true": said.text(payload, default)})
        return Translation(DeviceKind.ACTIVATION, {}, _known(active=target))

    return translate


TRANSLATIONS: Mapping[str, Callable[[Announcement], Translation]] = MappingProxyType(
    {
        "switch": _switch,
        "light": _light,
        "cover": _cover,
        "lock": _lock,
        "climate": _climate,
        "button": _pressed("payload_press", "PRESS"),
        "scene": _pressed("payload_on", "ON"),
    }
)
"""For each component that can become a module: its translation, which may raise Untranslatable."""
