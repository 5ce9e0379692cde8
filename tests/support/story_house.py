"""The same house on each driver: devices that the test makes, and the options that describe them in an estate.

The devices behave as real ones do: a level switches a lamp on, and a lamp without levels ignores a level.
"""

import json
from typing import Any, Protocol

from support.mosquitto import DeviceClient
from support.mqtt_devices import TasmotaRelays, ZigbeeBridge
from support.openwebnet_bus import BusLight, BusZone, Device

DEVICES = {"dimmer": "light", "switch": "light", "color": "light", "plug": "plug", "thermostat": "chronothermostat"}
"""Each house has these: name and kind. All are off at the start; the thermostat is in manual mode at 20 degrees."""


class StoryHouse(Protocol):
    """Devices of one driver or dialect."""

    driver: str

    def options(self, name: str) -> dict[str, Any]:
        """The fields of the module in the estate file, besides its id, name and kind."""
        ...

    def close(self) -> None: ...


class SimulatedHouse:
    driver = "simulator"

    def options(self, name: str) -> dict[str, Any]:
        states: dict[str, dict[str, Any]] = {
            "dimmer": {"on": False, "level": 50},
            "switch": {"on": False},
            "color": {"on": False, "level": 50, "color": {"hue": 0, "saturation": 0, "value": 50}},
            "plug": {"on": False},
            "thermostat": {"function": "heating", "mode": "manual", "setPoint": 20.0},
        }
        return {"state": states[name]}

    def close(self) -> None:
        pass


class ZigbeeHouse:
    driver = "mqtt"

    def __init__(self, port: int) -> None:
        self.bridge = ZigbeeBridge(port, "story")
        self.bridge.add("dimmer", state="OFF", brightness=127)
        self.bridge.add("switch", state="OFF")
        self.bridge.add("color", state="OFF", brightness=127, color={"hue": 0, "saturation": 0}, color_mode="hs")
        self.bridge.add("plug", state="OFF")
        self.bridge.add("thermostat", occupied_heating_setpoint=20.0, system_mode="heat", local_temperature=19.5)

    def options(self, name: str) -> dict[str, Any]:
        return {"options": {"dialect": "zigbee2mqtt", "base": "story", "name": name}}

    def close(self) -> None:
        self.bridge.client.close()


class TasmotaHouse:
    """Tasmota has no thermostats of this kind: the story leaves out what a driver does not have."""

    driver = "mqtt"

    def __init__(self, port: int) -> None:
        self.devices = [
            TasmotaRelays(port, "story_dimmer", Dimmer=50),
            TasmotaRelays(port, "story_switch"),
            TasmotaRelays(port, "story_color", Dimmer=50, HSBColor="0,0,50"),
            TasmotaRelays(port, "story_plug"),
        ]

    def options(self, name: str) -> dict[str, Any]:
        return {"options": {"dialect": "tasmota", "topic": f"story_{name}"}}

    def close(self) -> None:
        for device in self.devices:
            device.client.close()


class GenericHouse:
    """Devices with a topic for each value, and one topic with the whole state."""

    driver = "mqtt"
    COMMANDS: dict[str, tuple[str, ...]] = {
        "dimmer": ("on", "level"),
        "switch": ("on",),
        "color": ("on", "level", "hue", "saturation"),
        "plug": ("on",),
        "thermostat": ("setPoint", "mode"),
    }

    def __init__(self, port: int) -> None:
        self.client = DeviceClient(port)
        self.states: dict[str, dict[str, Any]] = {
            "dimmer": {"on": False, "level": 50},
            "switch": {"on": False},
            "color": {"on": False, "level": 50, "hue": 0, "saturation": 0},
            "plug": {"on": False},
            "thermostat": {"setPoint": 20.0, "mode": "manual"},
        }
        self.client.answer = self._receive
        self.client.listen("generic/+/set/+")
        for name in self.states:
            self._publish(name)

    def _publish(self, name: str) -> None:
        self.client.publish(f"generic/{name}", json.dumps(self.states[name]), retain=True)

    def _receive(self, topic: str, payload: bytes) -> None:
        _, name, _, what = topic.split("/")
        value: Any = payload.decode() if what == "mode" else json.loads(payload)
        self.states[name][what] = value
        if what == "level":
            self.states[name]["on"] = value > 0
        self._publish(name)

    def options(self, name: str) -> dict[str, Any]:
        whats = self.COMMANDS[name]
        return {
            "options": {
                "dialect": "generic",
                "state": {what: {"topic": f"generic/{name}", "path": what} for what in whats},
                "command": {what: {"topic": f"generic/{name}/set/{what}"} for what in whats},
            }
        }

    def close(self) -> None:
        self.client.close()


class BusHouse:
    """Its devices belong to a `BusGateway`, which the test runs."""

    driver = "openwebnet"

    def __init__(self) -> None:
        zone = BusZone("3")
        zone.mode, zone.set_point = "110", "0200"
        self.devices: list[Device] = [
            BusLight("11", levels=100),
            BusLight("12"),
            BusLight("13", levels=100, color=True),
            BusLight("14"),
            zone,
        ]
        for device in self.devices:
            if isinstance(device, BusLight):
                device.level = 50
                device.hsv = device.hsv and (0, 0, 50)

    def options(self, name: str) -> dict[str, Any]:
        return {
            "options": {
                "dimmer": {"where": "11", "levels": 100},
                "switch": {"where": "12"},
                "color": {"where": "13", "color": True},
                "plug": {"where": "14"},
                "thermostat": {"where": "3"},
            }[name]
        }

    def close(self) -> None:
        pass
