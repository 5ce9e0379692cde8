"""Reads how Zigbee2MQTT and Tasmota announce their devices, and chooses the kind of module for each device.

Sources: Zigbee2MQTT's pages "MQTT Topics and Messages" (bridge/devices) and "Exposes", and Tasmota's discovery messages
(tasmota/discovery/MAC/config and sensors).
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from domogate.domain.devices import HARDWARE, DeviceKind
from domogate.drivers.mqtt.dialects.zigbee2mqtt import SET_POINTS
from domogate.drivers.mqtt.payloads import Unreadable, as_number


class Candidate(msgspec.Struct, frozen=True):
    """An announced device, or a part of it, that may become a module.

    If it cannot become a module, `why` is the reason. Otherwise `why` is empty. The id of the module is made from `key`.
    """

    key: str
    name: str
    kind: DeviceKind = DeviceKind.GATEWAY
    options: dict[str, Any] = {}
    about: str = ""
    why: str = ""
    hardware: dict[str, Any] = {}
    """The hardware of the module, with the keys of the estate file. Empty if it is the default hardware of the kind."""


# The default light has levels and colours. These lamps have only the first metrics and capabilities of the default light.
_LIGHT_METRICS, _LIGHT_CAPABILITIES = (
    msgspec.to_builtins(list(of)) for of in (HARDWARE[DeviceKind.LIGHT].metrics, HARDWARE[DeviceKind.LIGHT].capabilities)
)
_DIMMER = {"metrics": _LIGHT_METRICS[:2]}
_RELAY_LAMP = {
    "hwType": "light-relay",
    "deviceType": "Relay",
    "metrics": _LIGHT_METRICS[:1],
    "capabilities": _LIGHT_CAPABILITIES[:1],
}


def lamp_hardware(*, has_levels: bool, has_colors: bool) -> dict[str, Any]:
    """Return the hardware of a lamp. It is empty for a lamp with colours: the default hardware of a light has colours."""
    if has_colors:
        return {}
    return _DIMMER if has_levels else _RELAY_LAMP


# Zigbee2MQTT


def from_zigbee2mqtt(base: str, devices: Any) -> Iterator[Candidate]:
    """Yield a candidate for each device in the list that Zigbee2MQTT publishes.

    Yield several candidates for a device with several modules.

    `base` is the base topic of Zigbee2MQTT. Raises Unreadable if `devices` is not a list.
    """
    if not isinstance(devices, list):
        raise Unreadable("a list of devices is expected")
    for device in devices:
        if isinstance(device, dict) and isinstance(device.get("friendly_name"), str):
            yield from _of_zigbee_device(base, device)


def _of_zigbee_device(base: str, device: Mapping[str, Any]) -> Iterator[Candidate]:
    name, address = device["friendly_name"], str(device.get("ieee_address"))
    options: dict[str, Any] = {"dialect": "zigbee2mqtt", **({} if base == "zigbee2mqtt" else {"base": base})}
    if device.get("type") == "Coordinator":
        yield Candidate(f"zigbee:{address}", f"Zigbee2MQTT {base}"[:50], DeviceKind.GATEWAY, options, "the bridge")
        return
    definition = device.get("definition")
    if device.get("disabled") is True:
        yield Candidate(address, name, why="it is disabled in Zigbee2MQTT")
    elif not isinstance(definition, dict):
        yield Candidate(address, name, why="Zigbee2MQTT does not support it")
    else:
        about = " ".join(str(definition[what]) for what in ("vendor", "model", "description") if definition.get(what))
        exposes = [one for one in _list(definition.get("exposes")) if isinstance(one, dict)]
        for one in _modules_of(exposes):
            yield Candidate(
                f"zigbee:{address}:{one.suffix}",
                f"{name} {one.suffix}".rstrip(),
                one.kind,
                {**options, "name": name, **one.options},
                about,
                one.why,
                one.hardware,
            )


class _Possible(msgspec.Struct, frozen=True):
    """A part of a device that may become a module.

    The name of the module is the name of the device and `suffix`. If the part cannot become a module, `why` is the reason.
    """

    kind: DeviceKind = DeviceKind.GATEWAY
    options: dict[str, Any] = {}
    suffix: str = ""
    why: str = ""
    hardware: dict[str, Any] = {}


def _modules_of(exposes: list[dict[str, Any]]) -> Iterator[_Possible]:
    by_type: dict[str, list[dict[str, Any]]] = {}
    for one in exposes:
        if not _is_setting(one):
            by_type.setdefault(str(one.get("type")), []).append(one)
    if climates := by_type.get("climate"):
        yield _climate(climates[0])
    elif "lock" in by_type:
        yield _Possible(DeviceKind.LOCK)
    elif covers := by_type.get("cover"):
        for cover in covers:
            own, suffix = _endpoint_of(cover)
            if "position" in _names(_features(cover)):
                yield _Possible(DeviceKind.AUTOMATION, own, suffix)
            else:
                yield _Possible(suffix=suffix, why="a cover that does not report its position")
    elif lights := by_type.get("light"):
        for light in lights:
            own, suffix = _endpoint_of(light)
            yield _Possible(DeviceKind.LIGHT, own, suffix, hardware=_lamp(_names(_features(light))))
    elif switches := by_type.get("switch"):
        endpoints = [one["endpoint"] for one in switches if isinstance(one.get("endpoint"), str)]
        if len(endpoints) > 1:
            yield _Possible(DeviceKind.MULTISOCKET, {"endpoints": endpoints})
        else:
            yield _Possible(DeviceKind.PLUG, {"endpoint": endpoints[0]} if endpoints else {})
    else:
        yield _sensor(_names(exposes))


def _is_setting(expose: Mapping[str, Any]) -> bool:
    """Whether this entry of `exposes` is only a setting of the device.

    An example is the child lock of a plug or of a thermostat.

    The state of a setting has its own name, for example `child_lock`. The state of the device itself has the name `state`, or a
    name that begins with `state_`, for example `state_l1`.
    """
    states = [one for one in _features(expose) if isinstance(one, dict) and one.get("name") == "state"]
    names = [str(one.get("property", "state")) for one in states]
    return bool(names) and not any(name == "state" or name.startswith("state_") for name in names)


def _endpoint_of(expose: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the option `endpoint`, and the suffix of the module's name. Both are empty if `expose` has no endpoint."""
    endpoint = expose.get("endpoint")
    return ({"endpoint": endpoint} if endpoint else {}), str(endpoint or "")


def _lamp(features: set[str]) -> dict[str, Any]:
    has_colors = not features or bool(features & {"color_xy", "color_hs"})
    return lamp_hardware(has_levels="brightness" in features, has_colors=has_colors)


def _climate(climate: dict[str, Any]) -> _Possible:
    names = _names(_features(climate))
    set_point = next((name for name in SET_POINTS if name in names), None)
    if set_point is None:
        return _Possible(why="a thermostat without a known set point")
    return _Possible(DeviceKind.CHRONOTHERMOSTAT, {} if set_point == SET_POINTS[0] else {"setPoint": set_point})


def _sensor(names: set[str]) -> _Possible:
    if names & {"power", "energy"}:
        return _Possible(DeviceKind.ENERGYMETER)
    if "action" in names:
        return _Possible(DeviceKind.REMOTE)
    return _Possible(why=f"no kind of module has {', '.join(sorted(names)[:6]) or 'no properties'}")


def _features(expose: Mapping[str, Any]) -> list[Any]:
    return _list(expose.get("features"))


def _names(exposes: list[Any]) -> set[str]:
    return {one["name"] for one in exposes if isinstance(one, dict) and isinstance(one.get("name"), str)}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# Tasmota

_RELAY, _LIGHT, _SHUTTER = 1, 2, 3
_RGB, _RGBW = 3, 4
"""Values of Tasmota's field `lt_st`, the number of channels.

There are three values below `_RGB`. With 0, the lamp can only be switched on and off. With 1, it has a level. With 2, it has
a level and a colour temperature.
"""


def from_tasmota(config: Any, sensors: Any) -> Iterator[Candidate]:
    """Yield the parts of a Tasmota device that may become modules. `config` and `sensors` are its two discovery messages.

    Raises Unreadable if `config` does not describe a device.
    """
    if not isinstance(config, dict) or not isinstance(config.get("t"), str) or not isinstance(config.get("mac"), str):
        raise Unreadable("a device with t and mac is expected")
    name = str(config.get("dn") or config["t"])
    about = f"{config.get('md') or 'Tasmota'}, Tasmota {config.get('sw') or ''}".strip()
    options = _tasmota_options(config)
    answers_on_other_topics = _has_set_option(config, "4")
    candidates = list(_tasmota_kinds(config, _measures(sensors)))
    if not candidates:
        yield Candidate(config["mac"], name, why="it has no relay, light, shutter or energy meter")
    for key, kind, more in candidates:
        own = _tasmota_name(config, name, kind, more) if len(candidates) > 1 else name
        if answers_on_other_topics and kind in (DeviceKind.LIGHT, DeviceKind.AUTOMATION):
            yield Candidate(key, own, why="its SetOption4 is on, so it answers on other topics; set it to 0")
        else:
            hardware = _tasmota_lamp(config, more.get("part")) if kind is DeviceKind.LIGHT else {}
            yield Candidate(f"tasmota:{config['mac']}:{key}", own, kind, {**options, **more}, about, hardware=hardware)


def _tasmota_kinds(config: Mapping[str, Any], measures: bool) -> Iterator[tuple[str, DeviceKind, dict[str, Any]]]:
    relays = _list(config.get("rl"))
    switched = [number for number, what in enumerate(relays, start=1) if what == _RELAY]
    if len(switched) > 1 and switched == [*range(1, len(switched) + 1)]:
        yield "sockets", DeviceKind.MULTISOCKET, {"sockets": len(switched)}
    else:
        for number in switched:
            yield f"relay{number}", DeviceKind.PLUG, {} if number == 1 else {"relay": number}
    for number, what in enumerate(relays, start=1):
        if what == _LIGHT:
            part = _part_of_lamp(config, relays, number)
            yield f"light{number}", DeviceKind.LIGHT, ({} if number == 1 else {"relay": number}) | part
    for shutter in range(1, relays.count(_SHUTTER) // 2 + 1):  # A shutter has two relays: up and down.
        inverted = {"inverted": True} if _is_inverted(config, shutter) else {}
        yield f"shutter{shutter}", DeviceKind.AUTOMATION, ({} if shutter == 1 else {"shutter": shutter}) | inverted
    if measures and len(switched) != 1:
        yield "energy", DeviceKind.ENERGYMETER, {}


def _part_of_lamp(config: Mapping[str, Any], relays: list[Any], relay: int) -> dict[str, Any]:
    """Return the option `part`: the part of the lamp that this relay switches. No option means the whole lamp."""
    if _has_set_option(config, "68"):
        return {"part": "channel"}
    is_split = config.get("lk") == 0 and (as_number(config.get("lt_st")) or 0) >= _RGBW and relays.count(_LIGHT) == 2
    return {"part": "color" if relay == relays.index(_LIGHT) + 1 else "white"} if is_split else {}


def _tasmota_lamp(config: Mapping[str, Any], part: str | None) -> dict[str, Any]:
    channels = as_number(config.get("lt_st"))
    has_colors = part not in ("white", "channel") and (channels is None or channels >= _RGB)
    return lamp_hardware(has_levels=channels != 0, has_colors=has_colors)


def _has_set_option(config: Mapping[str, Any], number: str) -> bool:
    options = config.get("so")
    return isinstance(options, dict) and options.get(number) == 1


def _is_inverted(config: Mapping[str, Any], shutter: int) -> bool:
    """Whether 0 is the open position of the shutter. The lowest bit of the shutter's options says this (ShutterInvert)."""
    options = _list(config.get("sho"))[shutter - 1 : shutter]
    return bool(options) and isinstance(options[0], int) and bool(options[0] & 1)


def _measures(sensors: Any) -> bool:
    said = sensors.get("sn") if isinstance(sensors, dict) else None
    return isinstance(said, dict) and isinstance(said.get("ENERGY"), dict)


def _tasmota_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the dialect, the topic, and those options that differ from Tasmota's defaults."""
    options: dict[str, Any] = {"dialect": "tasmota", "topic": config["t"]}
    usual = {"ft": ("fullTopic", "%prefix%/%topic%/"), "tp": ("prefixes", ["cmnd", "stat", "tele"])}
    usual |= {"onln": ("online", "Online"), "ofln": ("offline", "Offline")}
    for field, (option, default) in usual.items():
        if field in config and config[field] != default:
            options[option] = config[field]
    if isinstance(full_topic := options.get("fullTopic"), str):
        named = full_topic.replace("%hostname%", str(config.get("hn") or "%hostname%"))
        options["fullTopic"] = named.replace("%id%", config["mac"])
    words = _list(config.get("state"))[:2]
    if len(words) == 2 and words != ["OFF", "ON"]:
        options["states"] = words
    return options


def _tasmota_name(config: Mapping[str, Any], device: str, kind: DeviceKind, options: Mapping[str, Any]) -> str:
    """Return the name of one part of a device with several parts. A relay can have its own name in Tasmota (`fn`)."""
    if kind is DeviceKind.AUTOMATION:
        return f"{device} shutter {options.get('shutter', 1)}"
    if kind is DeviceKind.MULTISOCKET:
        return f"{device} sockets"
    if kind is DeviceKind.ENERGYMETER:
        return f"{device} energy"
    relay, names = options.get("relay", 1), _list(config.get("fn"))
    named = names[relay - 1] if relay <= len(names) else None
    return str(named or f"{device} {relay}")
