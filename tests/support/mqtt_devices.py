"""Simulated Zigbee2MQTT and Tasmota devices, with an independent MQTT client.

Payloads are as in their documentation: Zigbee2MQTT, pages "MQTT Topics and Messages" and "Device Availability";
Tasmota, pages "MQTT", "Commands" and "Sonoff Pow R2".
"""

import json
from typing import Any

from support.mosquitto import DeviceClient


class ZigbeeBridge:
    """Zigbee2MQTT: publishes complete states, not retained, and answers set and get with them."""

    def __init__(self, port: int, base: str) -> None:
        self.base = base
        self.client = DeviceClient(port)
        self.states: dict[str, dict[str, Any]] = {}
        self.silent: set[str] = set()
        self.refusing: set[str] = set()
        self.told: dict[str, int] = {}
        self.client.answer = self._hear
        self.client.listen(f"{base}/+/set", f"{base}/+/get")
        self.client.publish(f"{base}/bridge/state", '{"state":"online"}', retain=True)

    def add(self, name: str, **state: Any) -> None:
        if name not in self.states:
            self.states[name] = state
            self.set_availability(name, "online")

    def set_availability(self, name: str, word: str) -> None:
        self.client.publish(f"{self.base}/{name}/availability", json.dumps({"state": word}), retain=True)

    def change(self, name: str, **state: Any) -> None:
        self.states[name] |= state
        self.say(name)

    def say(self, name: str) -> None:
        self.client.publish(f"{self.base}/{name}", json.dumps({"linkquality": 120, **self.states[name]}))

    def _hear(self, topic: str, payload: bytes) -> None:
        _, name, verb = topic.split("/")
        if verb == "set":
            self.told[name] = self.told.get(name, 0) + 1
        if name in self.silent or name not in self.states:
            return
        if verb == "set":
            if name in self.refusing:
                why = 'Error: ZCL command 0x00158d00018255df/1 genOnOff.on({}, {"timeout":10000}) failed (MAC_NO_ACK)'
                log = {
                    "level": "error",
                    "message": f"z2m: Publish 'set' 'state' to '{name}' failed: '{why}'",
                    "namespace": "z2m",
                }
                self.client.publish(f"{self.base}/bridge/logging", json.dumps(log))
                return
            wanted = json.loads(payload)
            # A brightness switches a lamp on, and a lamp without brightness ignores it.
            on = {"state": "ON"} if wanted.get("brightness") and "state" not in wanted else {}
            self.states[name] |= {what: value for what, value in (on | wanted).items() if what in self.states[name]}
        self.say(name)


class TasmotaRelays:
    """A Tasmota device: answers each command on RESULT and on the relay's own topic."""

    def __init__(self, port: int, topic: str, relays: int = 1, **state: Any) -> None:
        self.topic = topic
        self.client = DeviceClient(port, will=(f"tele/{topic}/LWT", "Offline"))
        names = ["POWER"] if relays == 1 else [f"POWER{number}" for number in range(1, relays + 1)]
        self.state: dict[str, Any] = {**dict.fromkeys(names, "OFF"), **state}
        self.sensors: dict[str, Any] = {}
        self.silent = False
        self.refusing = False
        self.told = 0
        self.client.answer = self._hear
        self.client.listen(f"cmnd/{topic}/#")
        self.client.publish(f"tele/{topic}/LWT", "Online", retain=True)

    def change(self, **state: Any) -> None:
        self.state |= state
        self._answer(state)

    def measure(self, watts: float) -> None:
        energy = {"TotalStartTime": "2018-11-14T18:39:40", "Total": 6.294, "Power": watts, "Factor": 0.99, "Voltage": 227}
        self.sensors = {"ENERGY": energy}
        self.client.publish(f"tele/{self.topic}/SENSOR", json.dumps({"Time": "2026-11-15T17:37:10", **self.sensors}))

    def _answer(self, changed: dict[str, Any]) -> None:
        self.client.publish(f"stat/{self.topic}/RESULT", json.dumps(changed))
        for name, word in changed.items():
            if name.startswith("POWER"):
                self.client.publish(f"stat/{self.topic}/{name}", word)

    def _hear(self, topic: str, payload: bytes) -> None:
        command, text = topic.rsplit("/", 1)[1], payload.decode()
        asks = command in ("STATE", "STATUS")
        self.told += not asks
        if self.silent:
            return
        if command == "STATUS":
            sensors = {"StatusSNS": {"Time": "2026-11-15T10:00:00", **self.sensors}}
            self.client.publish(f"stat/{self.topic}/STATUS{text}", json.dumps(sensors))
        elif asks:
            self.client.publish(f"stat/{self.topic}/RESULT", json.dumps({"Time": "2026-11-15T10:00:00", **self.state}))
        elif self.refusing:
            self.client.publish(f"stat/{self.topic}/RESULT", '{"Command":"Unknown"}')
        elif command.startswith("POWER"):
            name = command if command in self.state else "POWER"
            self.change(**{name: text})
        elif command == "Dimmer":
            self.change(POWER="ON", Dimmer=int(text))
        elif command == "HSBColor":
            self.change(POWER="ON", HSBColor=text, Dimmer=int(text.split(",")[2]))
