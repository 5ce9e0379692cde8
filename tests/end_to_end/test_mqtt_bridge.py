"""A real gateway with a bridge in its settings: an independent MQTT client reads a lamp, and switches it."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from support.gateway import eventually, import_estate, start
from support.mosquitto import DeviceClient, Mosquitto, mosquitto
from support.plug_estate import OWNER, plug_estate
from support.postgres import postgres_server
from support.restartable import clean_environment

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


def test_the_last_gateway_of_a_cluster_says_that_the_modules_are_not_available(broker: Mosquitto, tmp_path: Path) -> None:
    estate = plug_estate()
    plant = estate["plants"][0]["id"]
    brokers = [{"url": broker.url, "username": "domogate", "password": PASSWORD}]
    client = DeviceClient(broker.port, login=("reader", "r"))
    client.listen(f"domogate/{plant}/bridge")

    def is_newest(payload: bytes, *, offline: int) -> bool:
        payloads = [one for _, one, _ in client.received]
        return payloads[-1:] == [payload] and payloads.count(b"offline") == offline

    with postgres_server() as server:
        settings = {
            **server.settings_for_a_gateway(),
            "DOMOGATE_MQTT_BROKERS": json.dumps(brokers),
            "DOMOGATE_MQTT_BRIDGES": json.dumps([{"plant": plant, "user": OWNER}]),
        }
        import_estate(estate, tmp_path, tmp_path / "data", clean_environment(settings))
        gateways = [start("serve", tmp_path / name, settings) for name in ("first", "second")]
        try:
            eventually(partial(is_newest, b"online", offline=0), "the bridge runs")
            gateways[0].process.terminate()
            assert gateways[0].process.wait(60) == 0
            # The bridge of the second gateway answers `online` as soon as it is connected.
            client.publish(f"domogate/{plant}/bridge", b"offline")
            eventually(partial(is_newest, b"online", offline=1), "the bridge of the second gateway runs")
            gateways[1].process.terminate()
            assert gateways[1].process.wait(60) == 0
            eventually(partial(is_newest, b"offline", offline=2), "the bridge is offline")
        finally:
            for gateway in gateways:
                gateway.process.kill()
                gateway.process.wait()
    client.close()
