"""An estate with only plugs, in several plants, so that several rooms can be switched at once."""

import uuid
from typing import Any

from support.spec_operations import ALL_SCOPES

KEY = "plug-estate-only-0123456789"
OWNER = "plugs@example.com"
PLANTS, ROOMS, PLUGS = 4, 6, 2

_NAMESPACE = uuid.UUID("0b6f3f1c-5e0f-4a7e-8f0a-3a7c1d0e9b21")


def _id(*words: object) -> str:
    return str(uuid.uuid5(_NAMESPACE, "/".join(map(str, words))))


def _plug(plant: int, room: int, plug: int) -> dict[str, Any]:
    return {"id": _id(plant, room, plug), "name": f"Plug {plug}", "kind": "plug", "state": {"on": False}}


def _room(plant: int, room: int) -> dict[str, Any]:
    modules = [_plug(plant, room, plug) for plug in range(PLUGS)]
    return {"id": _id(plant, room), "name": f"Room {room}", "type": "office", "modules": modules}


def plug_estate() -> dict[str, Any]:
    """All plugs are off at the start."""
    plants = [
        {
            "id": _id(plant),
            "name": f"Plant {plant}",
            "type": "office",
            "owner": OWNER,
            "ambients": [_room(plant, room) for room in range(ROOMS)],
        }
        for plant in range(PLANTS)
    ]
    return {
        "users": [{"email": OWNER, "name": "Owner", "password": "a good long password"}],
        "subscriptions": [{"name": "plugs", "key": KEY}],
        "clients": [{"id": "plug-app", "name": "Plugs", "scopes": list(ALL_SCOPES), "redirectUris": ["http://localhost/cb"]}],
        "plants": plants,
    }
