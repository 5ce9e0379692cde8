"""Zigbee2MQTT: one JSON object on `base/name` says all of a device; `base/name/set` tells it, `base/name/get` asks it.

After its documentation, pages "MQTT Topics and Messages", "Exposes" and "Device Availability".
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from domogate.domain.devices import DeviceKind
from domogate.domain.states import Battery, ThermostatFunction, ThermostatMode
from domogate.drivers.mqtt.colors import hue_and_saturation
from domogate.drivers.mqtt.dialects.options import DialectOptions, Problem, find_problem_of_topic, refuse_kind, to_json
from domogate.drivers.mqtt.facts import (
    Facts,
    Keep,
    Listening,
    Publication,
    Speech,
    Unreadable,
    Unsayable,
    as_number,
    battery_of,
    read_object,
    within,
)

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
    """Which device of which Zigbee2MQTT a module is."""

    name: str = ""
    """Its friendly name, or its address; of a gateway none is needed."""
    base: str = "zigbee2mqtt"
    endpoint: str | None = None
    """For one of several in the same device: l1, left …"""
    endpoints: tuple[str, ...] = ()
    """A multisocket's, in the order of its sockets."""
    set_point: str = SET_POINTS[0]
    """What a thermostat calls its set point."""

    def find_problems(self, kind: DeviceKind) -> Iterator[Problem]:
        yield from self.find_common_problems()
        if kind not in KINDS:
            yield (), refuse_kind(kind, "zigbee2mqtt", KINDS)
            return
        if problem := find_problem_of_topic(self.base):
            yield ("base",), problem
        if kind is not DeviceKind.GATEWAY and (problem := find_problem_of_topic(self.name)):
            yield ("name",), "the device's friendly name is missing" if not self.name else problem
        if kind is DeviceKind.MULTISOCKET and not self.endpoints:
            yield ("endpoints",), "a multisocket needs the names of its endpoints, such as [l1, l2]"
        if len(set(self.endpoints)) < len(self.endpoints) or not all(self.endpoints):
            yield ("endpoints",), "each endpoint has a name, and stands once"
        if kind is DeviceKind.CHRONOTHERMOSTAT and self.set_point not in SET_POINTS:
            yield ("setPoint",), f"{self.set_point!r} is no set point; there are {', '.join(SET_POINTS)}"

    def speech_for(self, kind: DeviceKind) -> Speech:
        return Zigbee2Mqtt(kind, self)


class Zigbee2Mqtt:
    """Speaks with one device of one Zigbee2MQTT."""

    confirmed_by_broker = False
    always = Facts()

    def __init__(self, kind: DeviceKind, options: Zigbee2MqttOptions) -> None:
        self._kind = kind
        self._name = options.name
        self._endpoints = options.endpoints
        self._suffix = f"_{options.endpoint}" if options.endpoint else ""
        self._set_point = options.set_point
        self._bridge, self._log = f"{options.base}/bridge/state", f"{options.base}/bridge/logging"
        self._topic = f"{options.base}/{options.name}"
        self._availability = f"{self._topic}/availability"
        watched = {self._bridge: Listening(qos=1)}
        if kind is not DeviceKind.GATEWAY:
            watched |= {
                self._availability: Listening(qos=1),
                self._topic: Listening(),
                self._log: Listening(Keep.WHILE_WAITING),
            }
        self.topics: Mapping[str, Listening] = watched

    # hearing

    def hear(self, topic: str, payload: bytes) -> Facts:
        if topic == self._topic:
            return self._read(read_object(payload))
        if topic == self._log:
            return self._read_log(read_object(payload))
        return _read_availability(payload)

    def _read_log(self, said: Mapping[str, Any]) -> Facts:
        """What could not be done is only said in its log."""
        message = said.get("message")
        failed = _FAILED.fullmatch(message) if said.get("level") == "error" and isinstance(message, str) else None
        return Facts(refusal=failed["why"][:_LONGEST_REFUSAL]) if failed and failed["name"] == self._name else Facts()

    def _read(self, said: Mapping[str, Any]) -> Facts:
        facts = Facts()
        if self._kind is DeviceKind.MULTISOCKET:
            facts["sockets"] = {
                place: on
                for place, endpoint in enumerate(self._endpoints)
                if (on := _on_off(said.get(f"state_{endpoint}"))) is not None
            }
        elif self._kind is DeviceKind.LOCK:
            self._read_lock(said, facts)
        elif (on := _on_off(said.get(f"state{self._suffix}"))) is not None:
            facts["active" if self._kind is DeviceKind.ACTIVATION else "on"] = on
        if self._kind is DeviceKind.LIGHT:
            self._read_light(said, facts)
        elif self._kind is DeviceKind.CHRONOTHERMOSTAT:
            self._read_thermostat(said, facts)
        if (position := within(said.get(f"position{self._suffix}"), 0, 100)) is not None:
            facts["position"] = round(position)
        if (power := as_number(said.get(f"power{self._suffix}"))) is not None:
            facts["power"] = max(0.0, power)  # a plug that feeds in is not known here
        if (energy := within(said.get(f"energy{self._suffix}"), 0, 1e9)) is not None:
            facts["energy"] = round(energy * 1000, 3)  # it counts in kWh
        if (percent := within(said.get("battery"), 0, 100)) is not None:
            facts["battery"] = battery_of(percent)
        elif said.get("battery_low") is True:
            facts["battery"] = Battery.LOW
        return facts

    def _read_light(self, said: Mapping[str, Any], facts: Facts) -> None:
        if (brightness := within(said.get(f"brightness{self._suffix}"), 0, 255)) is not None:
            facts["level"] = min(100, round(brightness / _BRIGHTEST * 100))
        if said.get(f"color_mode{self._suffix}") == "color_temp":
            facts["hue"] = facts["saturation"] = None
            return
        color = said.get(f"color{self._suffix}")
        if not isinstance(color, dict):
            return
        hue, saturation = within(color.get("hue"), 0, 360), within(color.get("saturation"), 0, 100)
        x, y = within(color.get("x"), 0, 1), within(color.get("y"), 0.001, 1)
        if hue is not None and saturation is not None:
            facts["hue"], facts["saturation"] = hue, saturation
        elif x is not None and y is not None:
            facts["hue"], facts["saturation"] = hue_and_saturation(x, y)

    def _read_lock(self, said: Mapping[str, Any], facts: Facts) -> None:
        # `lock_state` is what the bolt is in, `state` what was last asked of it.
        bolt, asked = said.get("lock_state"), said.get("state")
        if bolt in ("locked", "unlocked", "not_fully_locked"):
            facts["locked"] = bolt == "locked"
        elif asked in ("LOCK", "UNLOCK"):
            facts["locked"] = asked == "LOCK"

    def _read_thermostat(self, said: Mapping[str, Any], facts: Facts) -> None:
        if (set_point := within(said.get(self._set_point), 3, 40)) is not None:
            facts["set_point"] = set_point
        if (temperature := as_number(said.get("local_temperature"))) is not None:
            facts["temperature"] = temperature
        if (humidity := within(said.get("humidity"), 0, 100)) is not None:
            facts["humidity"] = humidity
        spoken = said.get("system_mode")
        if isinstance(spoken, str) and spoken in _MODES:
            mode, function = _MODES[spoken]
            facts["mode"] = ThermostatMode.BOOST if said.get("preset") == "boost" else mode
            if function is not None:
                facts["function"] = function
        running = said.get("running_state")
        if isinstance(running, str):
            facts["load_active"] = running in ("heat", "cool")
        elif (demand := within(said.get("pi_heating_demand"), 0, 255)) is not None:
            facts["load_active"] = demand > 0

    # speaking

    def say(self, wanted: Facts) -> Sequence[Publication]:
        return (Publication(f"{self._topic}/set", to_json(self._words_for(wanted))),)

    def _words_for(self, wanted: Facts) -> dict[str, Any]:
        words: dict[str, Any] = {}
        for place, on in wanted.get("sockets", {}).items():
            if not 0 <= place < len(self._endpoints):
                raise Unsayable(f"there is no socket {place}; the first is 0, the last is {len(self._endpoints) - 1}")
            words[f"state_{self._endpoints[place]}"] = "ON" if on else "OFF"
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

    def _system_mode(self, wanted: Facts) -> str:
        mode = wanted.get("mode", ThermostatMode.MANUAL)
        if mode in _SYSTEM_MODES:
            return _SYSTEM_MODES[mode]
        if mode is not ThermostatMode.MANUAL:
            raise Unsayable(f"Zigbee2MQTT's thermostats have no common word for the mode {mode}")
        return _HEAT_OR_COOL[wanted.get("function", ThermostatFunction.HEATING)]

    def ask(self) -> Sequence[Publication]:
        about = {
            DeviceKind.CHRONOTHERMOSTAT: self._set_point,
            DeviceKind.MULTISOCKET: f"state_{self._endpoints[0]}" if self._endpoints else "state",
            DeviceKind.ENERGYMETER: f"power{self._suffix}",
            DeviceKind.AUTOMATION: f"position{self._suffix}",
        }.get(self._kind, f"state{self._suffix}")
        if self._kind in (DeviceKind.REMOTE, DeviceKind.GATEWAY):
            return ()  # a remote sleeps, and the bridge speaks by itself
        return (Publication(f"{self._topic}/get", to_json({about: ""})),)


def _on_off(value: object) -> bool | None:
    return _ON_OFF.get(value) if isinstance(value, str) else None


def _read_availability(payload: bytes) -> Facts:
    """`online`, as older versions say it, or {"state": "online"}. Nothing at all: nobody says any more."""
    if not payload:
        return Facts()
    state = payload if payload in (b"online", b"offline") else str(read_object(payload).get("state")).encode()
    if state not in (b"online", b"offline"):
        raise Unreadable("neither online nor offline")
    return Facts(available=state == b"online")
