"""Translates the announcement of a thermostat (Home Assistant's component `climate`): heating, cooling, or both."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from domogate.domain.devices import DeviceKind
from domogate.drivers.mqtt.home_assistant.entries import Translation, known, read_source, read_target
from domogate.drivers.mqtt.home_assistant.messages import Announcement
from domogate.drivers.mqtt.home_assistant.templates import Untranslatable

_EVERY_MODE = ("auto", "off", "cool", "heat")
"""The modes if the announcement has no field `modes`. Home Assistant also has `dry` and `fan_only`, which no module has."""
_MODES: Mapping[str, str] = MappingProxyType({"off": "off", "auto": "automatic", "heat_cool": "automatic", "heat": "manual"})
"""For each mode of Home Assistant: the mode of a module, for a thermostat that only heats."""
_OPERATIONS: Mapping[str, str] = MappingProxyType({**_MODES, "heat": "manual heating", "cool": "manual cooling"})
"""For each mode of Home Assistant: the mode and the function of a module, for a thermostat that can cool."""
_ACTIONS: Mapping[str, bool] = MappingProxyType(
    {
        "heating": True,
        "preheating": True,
        "cooling": True,
        "idle": False,
        "off": False,
        "fan": False,
        "drying": False,
        "defrosting": False,
    }
)


def translate_climate(said: Announcement) -> Translation:
    is_fahrenheit = said.text("temperature_unit").upper() == "F"
    scale, offset = (5 / 9, -160 / 9) if is_fahrenheit else (1.0, 0.0)
    set_point = read_source(said, "temperature_state_topic", "temperature_state_template", scale=scale, offset=offset)
    if not set_point:
        raise Untranslatable("a thermostat that does not report its set point")
    modes_state, modes_command = _modes(said)
    state = known(
        setPoint=set_point,
        temperature=read_source(said, "current_temperature_topic", "current_temperature_template", scale=scale, offset=offset),
        humidity=read_source(said, "current_humidity_topic", "current_humidity_template"),
        loadActive=read_source(said, "action_topic", "action_template", words=dict(_ACTIONS)),
    )
    command = read_target(
        said, "temperature_command_topic", "temperature_command_template", scale=1 / scale, offset=-offset / scale
    )
    return Translation(DeviceKind.CHRONOTHERMOSTAT, state | modes_state, known(setPoint=command) | modes_command)


def _modes(said: Announcement) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the entries for the tables `state` and `command` of the module.

    They say how the mode is read and set. If the thermostat can cool, they also say how its function (heating or cooling) is
    read and set. Both entries are empty if the thermostat does not report its mode. Raises Untranslatable, for example
    if such a thermostat can only cool.
    """
    modes = said.words("modes", _EVERY_MODE)
    cools = "cool" in modes
    name, words = ("operation", _OPERATIONS) if cools else ("mode", _MODES)
    heard = read_source(said, "mode_state_topic", "mode_state_template", words=dict(words))
    if not heard:
        if cools and "heat" not in modes:
            raise Untranslatable("a thermostat that only cools and does not report its mode")
        return {}, {}
    sent = {meaning: word for word, meaning in reversed([*words.items()]) if word in modes}
    if cools:
        # For an order that sets the mode manual and no function.
        sent["manual"] = "heat" if "heat" in modes else "cool"
    state = {name: heard}
    if cools and "heat" not in modes:
        # A thermostat that only cools has this function in all modes, also while it is off.
        state["function"] = {**{key: heard[key] for key in ("topic", "path") if key in heard}, "other": "cooling"}
    return state, known(**{name: read_target(said, "mode_command_topic", "mode_command_template", words=sent) if sent else {}})
