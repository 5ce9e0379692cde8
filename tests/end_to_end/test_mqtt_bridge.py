"""A real gateway with a bridge in its settings: an independent MQTT client reads a lamp, and switches it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.gateway import eventually, start
from support.mosquitto import DeviceClient, Mosquitto, mosquitto

pytestmark = pytest.mark.slow

HOME, LAMP = "ca5a0001-0000-4000-8000-000000000000", "ca5a0001-0001-4000-8000-000000000001"
PASSWORD = "the-password-of-the-broker"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    with mosquitto(tmp_path, users={"domogate": PASSWORD, "reader": "r"}) as one:
        yield one


def test_a_client_reads_and_switches_a_lamp_of_the_demo(broker: Mosquitto, tmp_path: Path) -> None:
    brokers = [{"url": broker.url, "username": "domogate", "password": PASSWORD}]
    bridges = [{"plant": HOME, "user": "anna@example.com", "commands": True}]
    settings = {"DOMOGATE_MQTT_BROKERS": json.dumps(brokers), "DOMOGATE_MQTT_BRIDGES": json.dumps(bridges)}
    client = DeviceClient(broker.port, login=("reader", "r"))
    client.listen("domogate/#", "homeassistant/#")

    def newest(topic: str) -> bytes:
        return next((payload for one, payload, _ in reversed(client.received) if one == topic), b"")

    gateway = start("demo", tmp_path / "gateway", settings)
    try:
        state, result = (f"domogate/{HOME}/{LAMP}/{end}" for end in ("state", "result"))
        eventually(lambda: newest(state) != b"", "the lamp is published")
        client.publish(f"domogate/{HOME}/{LAMP}/set", '{"do": "set light", "level": 23, "on": true}')
        eventually(lambda: json.loads(newest(result) or b"{}").get("outcome") == "confirmed", "the command is confirmed")
        eventually(lambda: json.loads(newest(state))["state"]["level"] == 23, "the new level")
        assert newest(f"homeassistant/light/domogate_{HOME.replace('-', '')}/{LAMP.replace('-', '')}/config")
    finally:
        gateway.process.kill()
        gateway.process.wait()
    eventually(lambda: newest(f"domogate/{HOME}/bridge") == b"offline", "the broker publishes the last will")
    client.close()
    assert PASSWORD not in gateway.log + str(client.received)
