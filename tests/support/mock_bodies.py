"""The right answers of the mock of the nine families, and the ids in them."""

import json
from typing import Any

PLANT, FOREIGN = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
LIGHT, SCENE, LOCK, CAMERA, THERMOSTAT, PLUG, REMOTE, AMBIENT = (f"33333333-3333-4333-8333-33333333333{n}" for n in "12345678")
REFERENCE = "LU-100"
SECOND = "55555555-5555-4555-8555-555555555555"
"""A second plant of the user. No list shows it. Its modules have ids that begin with 4 instead of 3."""


def bare(identity: str) -> str:
    """The id as home control writes it."""
    return identity.replace("-", "")


_NAMED = {"internalId": AMBIENT, "name": "Kitchen"}
_SENDER = {"addressType": "addressLocation", "system": "thermoregulation", "plant": {"id": PLANT, "module": {"id": THERMOSTAT}}}
_MEASURE = {"timeStamp": "2026-01-01T10:00:00+01:00", "value": "20.5", "unit": "C"}


def _ticket(system: str) -> dict[str, Any]:
    return {"ticket": "a.b.c", "sender": {"addressType": "addressLocation", "system": system, "plant": {"id": PLANT}}}


def _home_control(device: str, identity: str) -> dict[str, Any]:
    return {"id": bare(identity), "name": device, "hw_type": "x", "type": "x", "device": device}


def _home_automation(device: str, system: str, identity: str) -> dict[str, Any]:
    metrics = [{"label": "status", "metricType": "Text"}]
    return {"device": device, "system": system, "id": identity, **_NAMED, "deviceType": "x", "metrics": metrics}


def _can(do: bool) -> dict[str, bool]:
    return {"do": do}


_CAPABILITY = {"capability": "open", "canDo": {"command": _can(True), "request": _can(False), "notification": _can(False)}}
_FAILURE = {"flag": "0x01", "failureType": "BLOCK.FAULTY_BATTERY"}
_UNIT = {"id": LIGHT, "reference": REFERENCE, "lastStatusUpdate": "2026-01-01T10:00:00Z", "status": 1, "failures": [_FAILURE]}
_PEOPLE = {"allowedUsers": [{"id": "u2", "email": "b@example.com"}], "invitedUsers": [{"email": "c@example.com"}]}
_ADDRESS = {"country": "Italy", "zipCode": "20100", "address": "Via Roma 1"}

BODIES: dict[str, Any] = {
    "E2": {"remotes": [{"reachable": True, "battery": "full", "fw": 7, "sender": {"plant": {"module": {"id": bare(REMOTE)}}}}]},
    "E3": {
        "plant": {
            "id": bare(PLANT),
            "ambients": [{"id": bare(AMBIENT), "name": "Kitchen", "type": "room", "modules": [_home_control("plug", PLUG)]}],
            "modules": [_home_control("remote", REMOTE)],
        }
    },
    "E4": {"consumptions": [{"unit": "watt", "value": 12, "timestamp": "now"}]},
    "E6": {
        "plants": [{"id": PLANT, "ownerId": "u1", "name": "Home!", "type": "House", "status": "Active", **_ADDRESS, **_PEOPLE}]
    },
    "E7": {
        "plant": {
            "id": PLANT,
            "internalId": PLANT,
            "name": "Home",
            "type": "House",
            "floors": [
                {
                    "id": AMBIENT,
                    **_NAMED,
                    "ambients": [{"id": AMBIENT, **_NAMED, "modules": [_home_automation("Light", "Lighting", LIGHT)]}],
                }
            ],
            "ambients": [{"id": AMBIENT, **_NAMED, "modules": [_home_automation("Light", "Lighting", LIGHT)]}],
            "modules": [_home_automation("Scene", "Scene", SCENE)],
        }
    },
    "E8": {
        "lights": [
            {
                "status": "on",
                "level": 50,
                "colorHSV": {"H": 10.5, "S": 50, "V": 50},
                "sender": {
                    "addressType": "addressLocation",
                    "system": "lighting",
                    "plant": {
                        "id": PLANT,
                        "name": "Home",
                        "type": "House",
                        "module": {"id": LIGHT, "name": "Lamp", "deviceType": "dimmer"},
                    },
                },
            }
        ]
    },
    "E9": {
        "plant": {
            "id": PLANT,
            "name": "Home",
            "modules": [
                {"device": "lock", "id": LOCK, "name": "Gate", "capabilities": [_CAPABILITY]},
                {"device": "audiovideo unit", "id": CAMERA, "name": "Door", "capabilities": []},
            ],
        }
    },
    "E10": [
        {
            "id": PLANT,
            "ownerId": "u1",
            "ownerEmail": "a@example.com",
            "name": "Home",
            "type": "house",
            "status": "active",
            **_ADDRESS,
            **_PEOPLE,
        }
    ],
    "E11": {"locks": [_ticket("automation")]},
    "E12": {
        "chronothermostats": [
            {
                "function": "heating",
                "mode": "automatic",
                "setPoint": {"value": "21.5", "unit": "C"},
                "programs": [{"number": 1}],
                "activationTime": "2026-01-01T10:00:00",
                "temperatureFormat": "C",
                "loadState": "active",
                "time": "2026-01-01T10:00:00+01:00",
                "thermometer": {"measures": [_MEASURE]},
                "hygrometer": {"measures": [{**_MEASURE, "unit": "%"}]},
                "sender": _SENDER,
            }
        ]
    },
    "E13": {"chronothermostats": [{"programs": [{"number": 1, "name": "Week"}], "sender": _SENDER}]},
    "E14": {"plants": [{"id": PLANT, "name": "Home", "type": "anything"}]},
    "E15": {"audiovideounits": [_ticket("videodoorentry")]},
    "E16": {"plugs": [{"id": PLUG, "name": "Plug", "status": [True]}]},
    "E17": [{"id": PLANT, "name": "Home", **_ADDRESS}],
    "E18": [
        {
            **_UNIT,
            "name": "Controller",
            "serialNumber": "1",
            "alert": False,
            "lastAlertUpdate": "2026-01-01T10:00:00Z",
            "alertLevel": 1,
            "children": [_UNIT],
        }
    ],
    "E19": [{"reference": "B-1", "type": "Battery", "quantity": "1"}],
    "E20": {},
}


def right_body(name: str, plant: str = PLANT) -> Any:
    """A new copy of the right body of the operation with this name. No part of it is shared with another part."""
    text = json.dumps(BODIES.get(name))
    if bare(plant) == bare(SECOND):
        text = text.replace(PLANT, SECOND).replace(bare(PLANT), bare(SECOND)).replace("33333333-", "44444444-")
        text = text.replace("3333333333334333", "4444444433334333")
    return json.loads(text)


def module_in(plant: str, module: str) -> str:
    """The id of the module of this kind in this plant."""
    return module.replace("33333333-", "44444444-") if bare(plant) == bare(SECOND) else module
