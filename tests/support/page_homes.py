"""Homes for measurements of the pages: one of 40 devices, one of 1,000, and one with lamps behind a real broker."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.gateway import Gateway
from support.mosquitto import Mosquitto
from support.mqtt_flood import OWNER, PASSWORD, PLANT, mqtt_estate, serve_behind_broker

SMALL, LARGE = 40, 1_000
BEHIND_BROKER = PLANT
_ROOM = ("light",) * 7 + ("automation", "plug", "chronothermostat")


def _id(*words: object) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(map(str, words))))


def home_id(devices: int) -> str:
    return _id(devices)


def _home(devices: int) -> dict[str, Any]:
    """Rooms of ten devices."""

    def module(room: int, place: int, kind: str) -> dict[str, Any]:
        return {"id": _id(devices, room, place), "name": f"{kind.capitalize()} {room}.{place}", "kind": kind}

    rooms = [
        {
            "id": _id(devices, room),
            "name": f"Room {room}",
            "type": "bedroom",
            "modules": [module(room, place, kind) for place, kind in enumerate(_ROOM)],
        }
        for room in range(devices // len(_ROOM))
    ]
    return {"id": home_id(devices), "name": f"Home of {devices}", "type": "house", "owner": OWNER, "ambients": rooms}


@contextmanager
def page_homes(directory: Path, lamps: int, settings: dict[str, str] | None = None) -> Iterator[tuple[Gateway, Mosquitto]]:
    """A gateway with the homes, and the broker of the lamps. Their owner can log in."""
    estate = mqtt_estate(lamps)
    estate["plants"] += [_home(SMALL), _home(LARGE)]
    with serve_behind_broker(directory, estate, settings or {}) as (gateway, broker):
        gateway.ready["users"] = [{"email": OWNER, "password": PASSWORD, "id_token": "unused", "access_token": "unused"}]
        yield gateway, broker
