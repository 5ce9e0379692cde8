"""Zigbee2MQTT: a JSON object on `base/name` has the state of a device.

A message to `base/name/set` changes the state, and a message to `base/name/get` requests it. Source: the documentation of
Zigbee2MQTT, pages "MQTT Topics and Messages", "Exposes" and "Device Availability".
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.states import Battery, ThermostatFunction, ThermostatMode
from domogate.drivers.declaration import OptionProblem
from domogate.drivers.mqtt.colors import hue_and_saturation
from domogate.drivers.mqtt.dialects.options import DialectOptions, find_problem_of_topic
from domogate.drivers.mqtt.payloads import Unreadable, as_number, battery_of, read_object, within
from domogate.drivers.mqtt.properties import Codec, Properties, Publication, QueuePolicy, Subscription, Unsupported

KINDS = frozenset(
    (
        *(DeviceKind.LIGHT, DeviceKind.PLUG, DeviceKind.HEATER, DeviceKind.MULTISOCKET, DeviceKind.ENERGYMETER),
        *(DeviceKind.AUTOMATION, DeviceKind.LOCK, DeviceKind.ACTIVATION, DeviceKind.REMOTE),
        *(DeviceKind.CHRONOTHERMOSTAT, DeviceKind.GATEWAY),
    )
)
SET_POINTS = ("occupied_heating_setpoint", "current_heating_setpoint", "occupied_cooling_setpoint")

_BRIGHTEST = 254
_ON_OFF = {"ON": True, "OFF": False}
_MODES: Mapping[str, tuple[ThermostatMode, ThermostatFunction | None]] = MappingProxyType(
    {
        "off": (ThermostatMode.OFF, None),
        "auto": (ThermostatMode.AUTOMATIC, None),
        "heat": (ThermostatMode.MANUAL, ThermostatFunction.HEATING),
        "emergency_heating": (ThermostatMode.MANUAL, ThermostatFunction.HEATING),
        "cool": (ThermostatMode.MANUAL, ThermostatFunction.COOLING),
    }
)
_SYSTEM_MODES = {ThermostatMode.OFF: "off", ThermostatMode.AUTOMATIC: "auto"}
_HEAT_OR_COOL = {ThermostatFunction.HEATING: "heat", ThermostatFunction.COOLING: "cool"}
_FAILED = re.compile(r"(?:z2m: )?Publish '(?:set|get)' '[^']*' to '(?P<name>.+?)' failed: '?(?P<why>.*)", re.DOTALL)
_LONGEST_REFUSAL = 300


class Zigbee2MqttOptions(DialectOptions, tag="zigbee2mqtt", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of the dialect Zigbee2MQTT. They say which Zigbee2MQTT device a module is, and which endpoints it uses."""

    kinds: ClassVar[frozenset[DeviceKind]] = KINDS
    name: str = ""
    """The friendly name or the address of the device. A module of kind gateway is Zigbee2MQTT itself, so it needs no name."""
    base: str = "zigbee2mqtt"
    endpoint: str | None = None
    """The endpoint that the module uses, such as l1 or left, if the device has several endpoints."""
    endpoints: tuple[str, ...] = ()
    """The endpoints of a multisocket, in the order of its sockets."""
    set_point: str = SET_POINTS[0]
    """The name that Zigbee2MQTT uses for the set point of this thermostat."""

    def find_problems(self, kind: DeviceKind) -> Iterator[OptionProblem]:
        if problem := find_problem_of_topic(self.base):
            yield ("base",), problem
        if kind is not DeviceKind.GATEWAY and (problem := find_problem_of_topic(self.name)):
            yield ("name",), "the device's friendly name is missing" if not self.name else problem
        if kind is DeviceKind.MULTISOCKET and not self.endpoints:
            yield ("endpoints",), "a multisocket needs the names of its endpoints, such as [l1, l2]"
        if len(set(self.endpoints)) < len(self.endpoints) or not all(self.endpoints):
            yield ("endpoints",), "the endpoints must have different names"
        if kind is DeviceKind.CHRONOTHERMOSTAT and self.set_point not in SET_POINTS:
            yield ("setPoint",), f"{self.set_point!r} is not a set point; there are {', '.join(SET_POINTS)}"

    def codec_for(self, kind: DeviceKind) -> Codec:
        return Zigbee2Mqtt(kind, self)


class Zigbee2Mqtt(Codec):
    """Decodes and encodes the messages of one device of Zigbee2MQTT."""

    def __init__(self, kind: DeviceKind, options: Zigbee2MqttOptions) -> None:
        self._kind = kind
        self._name = options.name
        self._endpoints = options.endpoints
        self._suffix = f"_{options.endpoint}" if options.endpoint else ""
        self._set_point = options.set_point
        self._bridge, self._log = f"{options.base}/bridge/state", f"{options.base}/bridge/logging"
        self._topic = f"{options.base}/{options.name}"
        self._availability = f"{self._topic}/availability"
        topics = {self._bridge: Subscription(qos=1)}
        if kind is not DeviceKind.GATEWAY:
            topics |= {
                self._availability: Subscription(qos=1),
                self._topic: Subscription(),
                self._log: Subscription(QueuePolicy.DURING_CALLS),
            }
        self.topics = topics

    # decoding

    def decode(self, topic: str, payload: bytes) -> Properties:
        if topic == self._topic:
            return self._read(read_object(payload))
        if topic == self._log:
            return self._read_log(read_object(payload))
        return _read_availability(payload)

    def _read_log(self, said: Mapping[str, Any]) -> Properties:
        """Return the property `refusal` from a log message about this device, or no properties.

        Zigbee2MQTT shows a failed order only in its log.
        """
        message = said.get("message")
        failed = _FAILED.fullmatch(message) if said.get("level") == "error" and isinstance(message, str) else None
        return Properties(refusal=failed["why"][:_LONGEST_REFUSAL]) if failed and failed["name"] == self._name else Properties()

    def _read(self, said: Mapping[str, Any]) -> Properties:
        properties = Properties()
        if self._kind is DeviceKind.MULTISOCKET:
            properties["sockets"] = {
                socket: on
                for socket, endpoint in enumerate(self._endpoints)
                if (on := _on_off(said.get(f"state_{endpoint}"))) is not None
            }
        elif self._kind is DeviceKind.LOCK:
            self._read_lock(said, properties)
        elif (on := _on_off(said.get(f"state{self._suffix}"))) is not None:
            properties["active" if self._kind is DeviceKind.ACTIVATION else "on"] = on
        if self._kind is DeviceKind.LIGHT:
            self._read_light(said, properties)
        elif self._kind is DeviceKind.CHRONOTHERMOSTAT:
            self._read_thermostat(said, properties)
        if (position := within(said.get(f"position{self._suffix}"), 0, 100)) is not None:
            properties["position"] = round(position)
        if (power := as_number(said.get(f"power{self._suffix}"))) is not None:
            properties["power"] = max(0.0, power)  # negative power (fed into the grid) is not supported
        if (energy := within(said.get(f"energy{self._suffix}"), 0, 1e9)) is not None:
            properties["energy"] = round(energy * 1000, 3)  # from kWh
        if (percent := within(said.get("battery"), 0, 100)) is not None:
            properties["battery"] = battery_of(percent)
        elif said.get("battery_low") is True:
            properties["battery"] = Battery.LOW
        return properties

    def _read_light(self, said: Mapping[str, Any], properties: Properties) -> None:
        if (brightness := within(said.get(f"brightness{self._suffix}"), 0, 255)) is not None:
            properties["level"] = min(100, round(brightness / _BRIGHTEST * 100))
        color = said.get(f"color{self._suffix}")
        if not isinstance(color, dict):
            return  # a light without colours
        if said.get(f"color_mode{self._suffix}") == "color_temp":
            properties["hue"] = properties["saturation"] = None
            return
        hue, saturation = within(color.get("hue"), 0, 360), within(color.get("saturation"), 0, 100)
        x, y = within(color.get("x"), 0, 1), within(color.get("y"), 0.001, 1)
        if hue is not None and saturation is not None:
            properties["hue"], properties["saturation"] = hue, saturation
        elif x is not None and y is not None:
            properties["hue"], properties["saturation"] = hue_and_saturation(x, y)

    def _read_lock(self, said: Mapping[str, Any], properties: Properties) -> None:
        # `lock_state` is the position of the bolt, `state` the last command.
        bolt, command = said.get("lock_state"), said.get("state")
        if bolt in ("locked", "unlocked", "not_fully_locked"):
            properties["locked"] = bolt == "locked"
        elif command in ("LOCK", "UNLOCK"):
            properties["locked"] = command == "LOCK"

    def _read_thermostat(self, said: Mapping[str, Any], properties: Properties) -> None:
        if (set_point := within(said.get(self._set_point), 3, 40)) is not None:
            properties["set_point"] = set_point
        if (temperature := as_number(said.get("local_temperature"))) is not None:
            properties["temperature"] = temperature
        if (humidity := within(said.get("humidity"), 0, 100)) is not None:
            properties["humidity"] = humidity
        system_mode = said.get("system_mode")
        if isinstance(system_mode, str) and system_mode in _MODES:
            mode, function = _MODES[system_mode]
            properties["mode"] = ThermostatMode.BOOST if said.get("preset") == "boost" else mode
            if function is not None:
                properties["function"] = function
        running = said.get("running_state")
        if isinstance(running, str):
            properties["load_active"] = running in ("heat", "cool")
        elif (demand := within(said.get("pi_heating_demand"), 0, 255)) is not None:
            properties["load_active"] = demand > 0

    # encoding

    def encode(self, wanted: Properties) -> Sequence[Publication]:
        return (Publication(f"{self._topic}/set", msgspec.json.encode(self._to_object(wanted))),)

    def _to_object(self, wanted: Properties) -> dict[str, Any]:
        words: dict[str, Any] = {}
        for socket, on in wanted.get("sockets", {}).items():
            if not 0 <= socket < len(self._endpoints):
                raise Unsupported(f"there is no socket {socket}; the first is 0, the last is {len(self._endpoints) - 1}")
            words[f"state_{self._endpoints[socket]}"] = "ON" if on else "OFF"
        if "on" in wanted or "active" in wanted:
            words[f"state{self._suffix}"] = "ON" if wanted.get("on", wanted.get("active")) else "OFF"
        if "locked" in wanted:
            words["state"] = "LOCK" if wanted["locked"] else "UNLOCK"
        if "level" in wanted:
            words[f"brightness{self._suffix}"] = max(1, round(wanted["level"] * _BRIGHTEST / 100))
        if "hue" in wanted:
            words[f"color{self._suffix}"] = {"hue": wanted["hue"], "saturation": wanted.get("saturation")}
        if "position" in wanted:
            words[f"position{self._suffix}"] = wanted["position"]
        if "set_point" in wanted:
            words[self._set_point] = wanted["set_point"]
        if "mode" in wanted or "function" in wanted:
            words["system_mode"] = self._system_mode(wanted)
        return words

    def needs_function(self, _function: ThermostatFunction) -> bool:
        return True

    def _system_mode(self, wanted: Properties) -> str:
        mode = wanted.get("mode", ThermostatMode.MANUAL)
        if mode in _SYSTEM_MODES:
            return _SYSTEM_MODES[mode]
        if mode is not ThermostatMode.MANUAL:
            raise Unsupported(f"Zigbee2MQTT has no common word for the thermostat mode {mode}")
        return _HEAT_OR_COOL[wanted.get("function", ThermostatFunction.HEATING)]

    def encode_read(self) -> Sequence[Publication]:
        if self._kind in (DeviceKind.REMOTE, DeviceKind.GATEWAY):
            return ()  # A remote sleeps, and the bridge reports without being asked.
        about = {
            DeviceKind.CHRONOTHERMOSTAT: (self._set_point,),
            DeviceKind.MULTISOCKET: tuple(f"state_{endpoint}" for endpoint in self._endpoints),
            DeviceKind.ENERGYMETER: (f"power{self._suffix}",),
            DeviceKind.AUTOMATION: (f"position{self._suffix}",),
        }.get(self._kind, (f"state{self._suffix}",))
        return (Publication(f"{self._topic}/get", msgspec.json.encode(dict.fromkeys(about, ""))),)


def _on_off(value: object) -> bool | None:
    return _ON_OFF.get(value) if isinstance(value, str) else None


def _read_availability(payload: bytes) -> Properties:
    """Return the property `available`, which is whether the device is online.

    The message is a word such as `online` (older versions) or {"state": "online"}. For an empty message, return no properties.
    Raises Unreadable for any other message.
    """
    if not payload:
        return Properties()
    state = payload if payload in (b"online", b"offline") else str(read_object(payload).get("state")).encode()
    if state not in (b"online", b"offline"):
        raise Unreadable("neither online nor offline")
    return Properties(available=state == b"online")
