"""A gateway whose broker is flooded with messages, while a client reads lamps (E8).

The tests do this for one second, the soak for a longer time.
"""

import http.client
import json
import multiprocessing
import random
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support.gateway import Gateway, running, serve_estate
from support.http import KEY_HEADER, PATIENCE
from support.mosquitto import Mosquitto, flood, mosquitto
from support.spec_operations import ALL_SCOPES, E8
from support.store_access import add_credentials

KEY = "mqtt-estate-only-0123456789"
OWNER = "mqtt@example.com"
PASSWORD = "four green kites"
BASE = "zigbee2mqtt"
_NAMESPACE = uuid.UUID("c2c1b2d4-2f4c-4f5a-9a5e-0e1b7d8f3a66")
_BRIGHTEST = 254
_READ_PAUSE = 0.004
"""Seconds between two reads: normal use, not a load test."""


def _id(*words: object) -> str:
    return str(uuid.uuid5(_NAMESPACE, "/".join(map(str, words))))


PLANT = _id("plant")


def lamp_id(number: int) -> str:
    return _id("lamp", number)


def mqtt_estate(lamps: int) -> dict[str, Any]:
    modules = [
        {
            "id": lamp_id(number),
            "name": f"Lamp {number}",
            "kind": "light",
            "driver": "mqtt",
            "options": {"dialect": "zigbee2mqtt", "name": f"lamp_{number}"},
        }
        for number in range(lamps)
    ]
    return {
        "users": [{"email": OWNER, "name": "Owner", "password": PASSWORD}],
        "subscriptions": [{"name": "app", "key": KEY}],
        "clients": [{"id": "app", "name": "App", "secret": "unused-but-there", "redirectUris": [], "scopes": list(ALL_SCOPES)}],
        "plants": [{"id": PLANT, "name": "Flooded", "type": "house", "owner": OWNER, "modules": modules}],
    }


def messages_for(lamps: int, count: int, chance: random.Random) -> list[tuple[str, bytes]]:
    """States as Zigbee2MQTT publishes them, one lamp after the other, with a random brightness."""
    return [
        (
            f"{BASE}/lamp_{number % lamps}",
            b'{"state":"ON","brightness":%d,"color_mode":"xy","color":{"x":0.4573,"y":0.41},"linkquality":%d}'
            % (chance.randint(1, _BRIGHTEST), number % 255),
        )
        for number in range(count)
    ]


@dataclass
class FloodedGateway:
    """A gateway, its broker, and the number of lamps."""

    gateway: Gateway
    broker: Mosquitto
    lamps: int

    def read(self, connection: http.client.HTTPConnection, number: int) -> dict[str, Any]:
        person = self.gateway.people[OWNER]
        headers = {KEY_HEADER: KEY, "Authorization": f"Bearer {person.token_for(E8)}"}
        connection.request("GET", E8.url({"plant": PLANT, "module": lamp_id(number)}), headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, f"{answer.status} {body[:300]!r}"
        light: dict[str, Any] = json.loads(body)["lights"][0]
        return light

    def read_for(self, seconds: float, chance: random.Random) -> list[float]:
        """Read random lamps. Returns the time of each answer."""
        took: list[float] = []
        end = time.monotonic() + seconds
        connection = self.connect()
        while time.monotonic() < end:
            begun = time.perf_counter()
            self.read(connection, chance.randrange(self.lamps))
            took.append(time.perf_counter() - begun)
            time.sleep(_READ_PAUSE)
        connection.close()
        return took

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self.gateway.base_url).netloc, timeout=PATIENCE)

    @contextmanager
    def flooded(self, messages: list[tuple[str, bytes]], rate: int) -> Iterator["multiprocessing.process.BaseProcess"]:
        """In a separate process, so that the reader is not slowed down."""
        sender = multiprocessing.get_context("spawn").Process(
            target=flood, args=(self.broker.port, messages, rate), daemon=True
        )
        sender.start()
        try:
            yield sender
        finally:
            sender.join(4 * PATIENCE)
            assert sender.exitcode == 0, "the sender failed"

    def warm_up(self, chance: random.Random) -> None:
        """Wait until every lamp has reported. Messages are not retained, so the gateway must subscribe first."""
        deadline = time.monotonic() + 2 * PATIENCE
        while time.monotonic() < deadline:
            messages = messages_for(self.lamps, self.lamps, chance)
            flood(self.broker.port, messages, 2_000)
            for _ in range(10):
                time.sleep(0.3)  # the gateway reports a lamp at most once a second (Decision 0038)
                with suppress(AssertionError):
                    if not self.find_stale(messages):
                        return
        raise AssertionError("the gateway does not show the states of its lamps")

    def find_stale(self, messages: list[tuple[str, bytes]]) -> list[str]:
        """Lamps that do not show their newest state."""
        newest = {topic: json.loads(payload)["brightness"] for topic, payload in messages}
        stale = []
        with closing(self.connect()) as connection:
            for number in range(self.lamps):
                level = round(newest[f"{BASE}/lamp_{number}"] / _BRIGHTEST * 100)
                wanted = max(1, level)  # a lamp that is on has at least level 1
                shown = self.read(connection, number)["level"]
                if shown != wanted:
                    stale.append(f"lamp {number} shows {shown}, not {wanted}")
        return stale


@contextmanager
def flooded_gateway(directory: Path, lamps: int) -> Iterator[FloodedGateway]:
    with behind_broker(directory, mqtt_estate(lamps)) as (gateway, broker):
        yield FloodedGateway(gateway, broker, lamps)


@contextmanager
def behind_broker(directory: Path, estate: dict[str, Any]) -> Iterator[tuple[Gateway, Mosquitto]]:
    """A gateway that serves the estate, and the real broker of its lamps. Its users have tokens."""
    with serve_behind_broker(directory, estate, {}) as (gateway, broker):
        yield add_credentials(gateway, KEY), broker


@contextmanager
def serve_behind_broker(
    directory: Path, estate: dict[str, Any], settings: dict[str, str]
) -> Iterator[tuple[Gateway, Mosquitto]]:
    directory.mkdir(parents=True, exist_ok=True)
    with mosquitto(directory) as broker:
        config = directory / "domogate.toml"
        config.write_text(f'[[mqtt_brokers]]\nname = "house"\nurl = "{broker.url}"\n')
        every = {
            "DOMOGATE_CONFIG": str(config),
            "DOMOGATE_ACCESS_TOKEN_LIFETIME": "86400",
            "DOMOGATE_ID_TOKEN_LIFETIME": "86400",
            "DOMOGATE_CONNECTIONS_MOST_PER_ADDRESS": "6000",
            "DOMOGATE_STREAMS_MOST_PER_USER": "2500",
        }
        with running(serve_estate(estate, directory, {**every, **settings})) as gateway:
            yield gateway, broker


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
