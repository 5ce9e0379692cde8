"""Translates lights of Home Assistant: the schemas basic, json and template."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from domogate.domain.devices import DeviceKind
from domogate.drivers.mqtt.announcements import lamp_hardware
from domogate.drivers.mqtt.home_assistant.entries import (
    Translation,
    known,
    on_and_off,
    read_source,
    read_target,
    state_template,
)
from domogate.drivers.mqtt.home_assistant.messages import Announcement
from domogate.drivers.mqtt.home_assistant.templates import Untranslatable, fill_names

_HIGHEST_BRIGHTNESS = 255.0
_Tables = tuple[dict[str, Any], dict[str, Any], str]
"""The options `state`, `command` (both are tables) and `colorAs` of a light of the dialect `generic`."""
_NAMES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "hs": {"hue": "{hue}", "sat": "{saturation}"},
        "rgb": {"red": "{red}", "green": "{green}", "blue": "{blue}"},
        "xy": {"x": "{x}", "y": "{y}"},
        "rgbw": {"red": "{red}", "green": "{green}", "blue": "{blue}", "white": "0"},
        "rgbww": {"red": "{red}", "green": "{green}", "blue": "{blue}", "cold_white": "0", "warm_white": "0"},
    }
)
"""For each colour mode: the names that its command template can contain, each with the text that replaces the name.

The modes are in the order of preference: of the modes that a light has, the first is used.
"""
_JSON_KEYS: Mapping[str, str] = MappingProxyType({"hs": "hs", "rgb": "rgb", "xy": "xy", "rgbw": "rgbw", "rgbww": "rgbcw"})
"""For each colour mode: the keys of a colour in JSON. Each letter is one key: `hs` stands for the keys `h` and `s`."""


def translate_light(said: Announcement) -> Translation:
    schema = said.text("schema", "basic")
    translate = _SCHEMAS.get(schema)
    if translate is None:
        raise Untranslatable(f"lights of the schema {schema[:20]!r} cannot be translated")
    state, command, color_as = translate(said)
    # Nothing would confirm a command for a level or a colour that the lamp does not report.
    if state:
        command = {name: target for name, target in command.items() if name in state}
    hardware = lamp_hardware(has_levels="level" in command, has_colors="color" in command)
    more = {"colorAs": color_as} if "color" in state and color_as != "hs" else {}
    return Translation(DeviceKind.LIGHT, state, command, hardware, more)


def _basic(said: Announcement) -> _Tables:
    if said.text("on_command_type") == "brightness":
        raise Untranslatable("a light that is switched on by its brightness cannot be translated")
    heard, sent = on_and_off(said)
    highest = _highest_brightness(said)
    mode = next((one for one in _NAMES if said.text(f"{one}_command_topic")), "hs")
    state = known(
        on=read_source(said, "state_topic", state_template(said), words=heard),
        level=read_source(said, "brightness_state_topic", "brightness_value_template", scale=100 / highest),
        color=read_source(said, f"{mode}_state_topic", f"{mode}_value_template"),
    )
    level = read_target(said, "brightness_command_topic", "brightness_command_template", scale=highest / 100)
    color: dict[str, Any] = {}
    if topic := said.text(f"{mode}_command_topic"):
        # Without a template, the parts are separated by commas.
        written = said.text(f"{mode}_command_template")
        payload = fill_names(written, _NAMES[mode]) if written else ",".join(_NAMES[mode].values())
        color = {"topic": topic, "payload": payload}
    return state, known(on=read_target(said, "command_topic", "", words=sent), level=level, color=color), mode.rstrip("w")


def _json(said: Announcement) -> _Tables:
    modes = {*said.words("supported_color_modes"), *(one for one in _JSON_KEYS if said.config.get(one) is True)}
    highest = _highest_brightness(said)
    state, command = said.text("state_topic"), said.text("command_topic")
    if not state or not command:
        raise Untranslatable("a light without a state topic or a command topic")
    heard: dict[str, Any] = {"on": {"topic": state, "path": "state", "map": {"ON": True, "OFF": False}}}
    sent: dict[str, Any] = {"on": {"topic": command, "payload": '{"state": "{value}"}', "map": {"true": "ON", "false": "OFF"}}}
    if said.config.get("brightness") is True or modes - {"onoff"}:
        heard["level"] = {"topic": state, "path": "brightness", "scale": 100 / highest}
        payload = '{"state": "ON", "brightness": {value}}'
        sent["level"] = {"topic": command, "payload": payload, "scale": highest / 100}
    mode = next((one for one in _JSON_KEYS if one in modes), None)
    if mode is None:
        return heard, sent, "hs"
    heard["color"] = {"topic": state, "path": "color"}
    parts = ", ".join(f'"{key}": {text}' for key, text in zip(_JSON_KEYS[mode], _NAMES[mode].values(), strict=True))
    sent["color"] = {"topic": command, "payload": f'{{"state": "ON", "color": {{{parts}}}}}'}
    return heard, sent, mode.rstrip("w")


def _template(said: Announcement) -> _Tables:
    """Translate a light whose commands `on` and `off` are constant texts. Raises Untranslatable for any other light.

    The level and colour of the light are left out, because their templates cannot be translated.
    """
    words = {"true": said.text("command_on_template"), "false": said.text("command_off_template")}
    if not all(words.values()) or any(sign in word for word in words.values() for sign in ("{{", "{%", "{#")):
        raise Untranslatable("a light of the schema 'template' whose commands are not constant texts cannot be translated")
    state = read_source(said, "state_topic", "state_template", words={"on": True, "off": False})
    return known(on=state), known(on=read_target(said, "command_topic", "", words=words)), "hs"


def _highest_brightness(said: Announcement) -> float:
    highest = said.number("brightness_scale", _HIGHEST_BRIGHTNESS)
    return highest if 1 <= highest <= 1e6 else _HIGHEST_BRIGHTNESS


_SCHEMAS: Mapping[str, Callable[[Announcement], _Tables]] = MappingProxyType(
    {"basic": _basic, "default": _basic, "json": _json, "template": _template}
)
