"""Announcements for Home Assistant (MQTT discovery): Home Assistant shows the modules of a bridge without our integration.

docs/home-assistant.md describes this integration.

Home Assistant executes templates. So templates contain no text that a person can choose. Names are plain JSON values.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.states import MultisocketState
from domogate.services.bridges.topics import OFFLINE, ONLINE, BridgeTopics
from domogate.services.homes.homes import Home
from domogate.services.plants.read_model import ModuleView

_Fields = Mapping[str, Any]
_MOST_SOCKETS = 32

_ON_OFF = "{{ 'ON' if value_json.state.on else 'OFF' }}"
_REACHABLE = "{{ 'online' if value_json.reachable else 'offline' }}"
_CELSIUS = (
    "{% set t = value_json.state.temperature %}"
    "{{ none if not t else ((t.value - 32) / 1.8) | round(1) if t.unit == 'F' else t.value }}"
)
_POWER = {
    "value_template": "{{ value_json.state.power.value if value_json.state.power else none }}",
    "unit_of_measurement": "W",
    "device_class": "power",
    "state_class": "measurement",
}
_ENERGY = {
    "value_template": "{{ value_json.state.energy.value if value_json.state.energy else none }}",
    "unit_of_measurement": "Wh",
    "device_class": "energy",
    "state_class": "total_increasing",
}
_TEMPERATURE = {
    "value_template": _CELSIUS,
    "unit_of_measurement": "°C",
    "device_class": "temperature",
    "state_class": "measurement",
}
_MODES = {"auto": "automatic", "heat": "manual", "off": "off"}
"""The modes of a thermostat in Home Assistant, each with the mode of Domogate that it stands for."""


def _json(**fields: Any) -> str:
    return msgspec.json.encode(fields).decode()


class _Entity(msgspec.Struct, frozen=True):
    """One entity of Home Assistant.

    It has the component (such as `sensor`), the end of its id, and the fields that not every entity has.
    """

    component: str
    fields: _Fields
    suffix: str = ""
    is_commanded: bool = False


def announce(home: Home, view: ModuleView, topics: BridgeTopics, *, area: str, commands: bool) -> Iterator[tuple[str, bytes]]:
    """Yield the topics and payloads that announce a module.

    `area` is the name of the module's room. If the module is in no room, `area` is the name of the plant. If `commands` is
    false, Home Assistant can only read the module.
    """
    module = view.module
    may_command = commands and home.find_command(module) is not None
    state = topics.state(module.id)
    for entity in _list_entities(view, topics, may_command=may_command):
        object_id = module.id.replace("-", "") + entity.suffix
        availability: list[_Fields] = [
            {"topic": topics.availability, "payload_available": ONLINE.decode(), "payload_not_available": OFFLINE.decode()}
        ]
        if module.kind is not DeviceKind.SCENE:
            availability.append({"topic": state, "value_template": _REACHABLE})
        yield (
            topics.announcement(entity.component, object_id),
            msgspec.json.encode(
                {
                    "name": None if not entity.suffix else entity.suffix.strip("_").capitalize(),
                    "unique_id": f"domogate_{object_id}",
                    "device": {
                        "identifiers": [f"domogate_{module.id}"],
                        "name": module.name,
                        "model": module.hardware.device_type,
                        "suggested_area": area,
                    },
                    "origin": {"name": "Domogate"},
                    "availability": availability,
                    "availability_mode": "all",
                    "qos": 1,
                    **({"command_topic": topics.set(module.id)} if entity.is_commanded else {}),
                    **entity.fields,
                }
            ),
        )


def _list_entities(view: ModuleView, topics: BridgeTopics, *, may_command: bool) -> Iterator[_Entity]:
    kind, state_topic = view.module.kind, topics.state(view.module.id)
    read = {"state_topic": state_topic}
    commanded = _commanded(view, topics) if may_command else ()
    yield from commanded
    if kind in _SWITCHED and not commanded:
        yield _Entity("binary_sensor", {**read, "value_template": _ON_OFF})
    if kind in (DeviceKind.PLUG, DeviceKind.ENERGYMETER):
        yield _Entity("sensor", {**read, **_POWER}, "_power")
        yield _Entity("sensor", {**read, **_ENERGY}, "_energy")
    if kind is DeviceKind.AUTOMATION and not commanded:
        yield _Entity("sensor", {**read, "value_template": "{{ value_json.state.position }}", "unit_of_measurement": "%"})
    if kind is DeviceKind.LOCK:
        unlocked = "{{ 'OFF' if value_json.state.locked else 'ON' }}"
        yield _Entity("binary_sensor", {**read, "value_template": unlocked, "device_class": "lock"}, "_state")
    if kind is DeviceKind.REMOTE:
        yield _Entity("sensor", {**read, "value_template": "{{ value_json.state.battery }}"}, "_battery")
    if kind is DeviceKind.CHRONOTHERMOSTAT:
        yield _Entity("sensor", {**read, **_TEMPERATURE}, "_temperature")


_SWITCHED = {DeviceKind.LIGHT: "set light", DeviceKind.PLUG: "switch plug", DeviceKind.HEATER: "switch heater"}
"""The kinds that can be switched on and off (a light may also have a level), with their commands."""


def _switch_fields(command: str, **more: Any) -> _Fields:
    return {"payload_on": _json(do=command, **more, on=True), "payload_off": _json(do=command, **more, on=False)}


def _commanded(view: ModuleView, topics: BridgeTopics) -> tuple[_Entity, ...]:
    module, read = view.module, {"state_topic": topics.state(view.module.id)}
    to = topics.set(module.id)
    state_words = {"state_on": "ON", "state_off": "OFF"}
    match module.kind:
        case DeviceKind.LIGHT:
            fields = {**read, **_switch_fields("set light"), "state_value_template": _LIGHT_STATE}
            level = {
                "brightness_scale": 100,
                "brightness_state_topic": topics.state(module.id),
                "brightness_value_template": "{{ value_json.state.level | default(100, true) }}",
                "brightness_command_topic": to,
                "brightness_command_template": '{"do": "set light", "level": {{ value | int }}}',
                "on_command_type": "last",
            }
            has_level = any(metric.label == "level" for metric in module.hardware.metrics)
            return (_Entity("light", {**fields, **(level if has_level else {})}, is_commanded=True),)
        case DeviceKind.PLUG | DeviceKind.HEATER:
            fields = {**read, **_switch_fields(_SWITCHED[module.kind]), **state_words, "value_template": _ON_OFF}
            return (_Entity("switch", fields, is_commanded=True),)
        case DeviceKind.MULTISOCKET:
            sockets = len(view.state.sockets) if isinstance(view.state, MultisocketState) else 0
            return tuple(_socket(number, {**read, **state_words}) for number in range(min(sockets, _MOST_SOCKETS)))
        case DeviceKind.AUTOMATION:
            return (_Entity("cover", _cover(topics, view), is_commanded=True),)
        case DeviceKind.CHRONOTHERMOSTAT:
            return (_Entity("climate", _climate(topics, view)),)
        case DeviceKind.SCENE:
            return (_Entity("scene", {"payload_on": _json(do="run scene")}, is_commanded=True),)
        case DeviceKind.LOCK:
            return (_Entity("button", {"payload_press": _json(do="open lock")}, "_open", is_commanded=True),)
        case DeviceKind.ACTIVATION:
            return (_Entity("button", {"payload_press": _json(do="activate")}, is_commanded=True),)
        case _:
            return ()


_LIGHT_STATE = f"{{{{ '{_json(do='set light', on=True)}' if value_json.state.on else '{_json(do='set light', on=False)}' }}}}"
"""A template that prints a light's state as the command that sets this state.

Home Assistant compares the printed text with `payload_on` and `payload_off`, which are the two commands.
"""


def _socket(number: int, fields: _Fields) -> _Entity:
    value = f"{{{{ 'ON' if value_json.state.sockets[{number}] else 'OFF' }}}}"
    switched = _switch_fields("switch socket", socket=number)
    return _Entity("switch", {**fields, **switched, "value_template": value}, f"_socket_{number}", is_commanded=True)


def _cover(topics: BridgeTopics, view: ModuleView) -> _Fields:
    return {
        "position_topic": topics.state(view.module.id),
        "position_template": "{{ value_json.state.position }}",
        "set_position_topic": topics.set(view.module.id),
        "set_position_template": '{"do": "move shutter", "position": {{ position }}}',
        "payload_open": _json(do="move shutter", position=100),
        "payload_close": _json(do="move shutter", position=0),
        "payload_stop": None,
    }


def _climate(topics: BridgeTopics, view: ModuleView) -> _Fields:
    state, to = topics.state(view.module.id), topics.set(view.module.id)
    ours = msgspec.json.encode(_MODES).decode()
    theirs = msgspec.json.encode(
        {mode: name for name, mode in _MODES.items()} | {"boost": "heat", "protection": "off"}
    ).decode()
    return {
        "modes": list(_MODES),
        "mode_state_topic": state,
        "mode_state_template": f"{{{{ {theirs}[value_json.state.mode] }}}}",
        "mode_command_topic": to,
        "mode_command_template": f'{{"do": "set thermostat", "mode": "{{{{ {ours}[value] }}}}"}}',
        "temperature_state_topic": state,
        "temperature_state_template": "{{ value_json.state.setPoint }}",
        "temperature_command_topic": to,
        "temperature_command_template": '{"do": "set thermostat", "setPoint": {{ value }}}',
        "current_temperature_topic": state,
        "current_temperature_template": _CELSIUS,
        "temperature_unit": "C",
        "min_temp": 3,
        "max_temp": 40,
        "temp_step": 0.5,
    }
