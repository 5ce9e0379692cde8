"""Simulates the Zigbee2MQTT of a small hotel: two rooms, each with a lamp and a plug. Needs the package paho-mqtt.

Usage: python3 zigbee_hotel.py [PORT]
"""

import json
import sys

from paho.mqtt.client import CallbackAPIVersion, Client, MQTTMessage

BASE = "zigbee2mqtt"
LAMP = {"type": "light", "features": [{"name": "state"}, {"name": "brightness"}]}
PLUG = {"type": "switch", "features": [{"name": "state"}]}
DEVICES = {"101_lamp": LAMP, "101_plug": PLUG, "102_lamp": LAMP, "102_plug": PLUG}
states = {name: {"state": "OFF", "brightness": 254} if "lamp" in name else {"state": "OFF"} for name in DEVICES}


def describe(number: int, name: str) -> dict[str, object]:
    definition = {"vendor": "Example", "model": "E1", "description": name.split("_")[1], "exposes": [DEVICES[name]]}
    return {"ieee_address": f"0x{number:016x}", "type": "Router", "friendly_name": name, "definition": definition}


def announce(client: Client) -> None:
    devices = [describe(number, name) for number, name in enumerate(DEVICES, 1)]
    client.publish(f"{BASE}/bridge/devices", json.dumps(devices), retain=True)
    client.publish(f"{BASE}/bridge/state", '{"state": "online"}', retain=True)
    for name in DEVICES:
        client.publish(f"{BASE}/{name}/availability", '{"state": "online"}', retain=True)
        client.publish(f"{BASE}/{name}", json.dumps(states[name]))
    client.subscribe([(f"{BASE}/+/set", 1), (f"{BASE}/+/get", 1)])
    print("The simulated hotel has 4 devices. Press Ctrl-C to stop.", flush=True)


def obey(client: Client, message: MQTTMessage) -> None:
    """Change the state of a device, and publish it."""
    _, name, verb = message.topic.split("/")
    if verb == "set":
        states[name] |= json.loads(message.payload)
        print(f"{name}: {states[name]}", flush=True)
    client.publish(f"{BASE}/{name}", json.dumps(states[name]))


client = Client(CallbackAPIVersion.VERSION2)
client.on_connect = lambda client, *_: announce(client)
client.on_message = lambda client, _, message: obey(client, message)
client.connect("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 1883)
client.loop_forever()
