"""The bodies of plant lists and topologies (Spec 2.1 to 2.6)."""

from domogate.conformance.rules import Schema
from domogate.conformance.values import (
    BOOLEAN,
    DIGITS,
    HEX32,
    STRING,
    TEXT,
    UUID,
    WORDS,
    listing,
    one_of,
    record,
    text,
)

_CHARACTERS = "only word characters, whitespace and the characters : . , _ -"
_TYPES = ("Hotel", "House", "Office", "Hospital")


def _people(section: str) -> dict[str, tuple[str, Schema]]:
    allowed = record(f"{section}.allowedUsers", {"id": ("string (technical user id)", TEXT), "email": STRING})
    invited = record(f"{section}.invitedUsers", {"email": STRING})
    return {
        "allowedUsers": ("array; items: {id: string (technical user id), email: string}", listing(allowed)),
        "invitedUsers": ("array; items: {email: string}", listing(invited)),
    }


PLANT_2_1 = record(
    "2.1",
    {
        "id": ("string, plant id", TEXT),
        "ownerId": ("string, owner of the plant", TEXT),
        "ownerEmail": ("string, e-mail of the owner", TEXT),
        "name": (f"string, length 0..50; {_CHARACTERS}", text(50, WORDS)),
        "type": ("string, enum: hotel, house, office, hospital", one_of("hotel", "house", "office", "hospital")),
        "status": ("string, enum: active", one_of("active")),
        "country": ("string, length 0..50; same character set as name", text(50, WORDS)),
        "zipCode": ("string, length 0..20; digits only", text(20, DIGITS)),
        "address": ("string, length 0..500; same character set as name", text(500, WORDS)),
        **_people("2.1"),
    },
)
PLANT_2_2 = record(
    "2.2",
    {
        "id": ("string, plant id", TEXT),
        "ownerId": ("string, owner of the plant", TEXT),
        "name": ("length 0..50 (no character-set rule)", text(50)),
        "type": ("enum: Hotel, House, Office, Hospital (capitalised)", one_of(*_TYPES)),
        "status": ("enum: Active, Removed", one_of("Active", "Removed")),
        "country": ("length 0..50", text(50)),
        "zipCode": ("length 0..20; digits only", text(20, DIGITS)),
        "address": ("length 0..500", text(500)),
        **_people("2.2"),
    },
)
PLANT_2_3 = record("2.3", {"id": ("string, uuid", UUID), "name": STRING, "type": ("string (no enumeration)", TEXT)})

_METRIC_2_4 = record(
    "2.4.metrics",
    {
        "label": STRING,
        "metricType": ("string enum Text, Number, Object", one_of("Text", "Number", "Object")),
    },
)
_NAMED: dict[str, tuple[str, Schema]] = {"id": ("uuid", UUID), "internalId": ("uuid", UUID), "name": STRING}
_MODULE_2_4 = record(
    "2.4.modules",
    {
        "device": ("string, enum: Light, Automation, Scene", one_of("Light", "Automation", "Scene")),
        "system": ("string, enum: Lighting, Automation, Scene", one_of("Lighting", "Automation", "Scene")),
        **_NAMED,
        "deviceType": STRING,
        "metrics": ("array; items: {label: string, metricType: string enum Text, Number, Object}", listing(_METRIC_2_4)),
    },
)
_AMBIENT_2_4 = record("2.4.ambients", {**_NAMED, "modules": ("array of module", listing(_MODULE_2_4))})
_FLOOR_2_4 = record("2.4.floors", {**_NAMED, "ambients": ("array of ambient", listing(_AMBIENT_2_4))})
TOPOLOGY_2_4 = record(
    "2.4",
    {
        **_NAMED,
        "type": ("enum Hotel, House, Office, Hospital", one_of(*_TYPES)),
        "floors": ("array of {id uuid, internalId uuid, name string, ambients}", listing(_FLOOR_2_4)),
        "ambients": ("array of {id uuid, internalId uuid, name string, modules}", listing(_AMBIENT_2_4)),
        "modules": ("array of modules", listing(_MODULE_2_4)),
    },
)


def _can(name: str, meaning: str) -> tuple[str, Schema]:
    do = record(f"2.5.canDo.{name}", {"do": ("boolean", BOOLEAN)})
    return f"object with a boolean `do` (true: {meaning})", do


_CAN_DO = record(
    "2.5.canDo",
    {
        "command": _can("command", "the capability can be set"),
        "request": _can("request", "it can be requested"),
        "notification": _can("notification", "changes of it can be notified"),
    },
)
_CAPABILITY = record(
    "2.5.capabilities",
    {"capability": STRING, "canDo": ("object with command, request and notification", _CAN_DO)},
)
_DEVICES_2_5 = ("audiovideo unit", "gateway", "light", "lock", "activation")
_MODULE_2_5 = record(
    "2.5.modules",
    {
        "device": (f"string, enum: {', '.join(_DEVICES_2_5)}", one_of(*_DEVICES_2_5)),
        "id": ("string, uuid", UUID),
        "name": STRING,
        "capabilities": ("array; items: {capability: string, canDo: object}", listing(_CAPABILITY)),
    },
)
TOPOLOGY_2_5 = record("2.5", {"id": ("uuid", UUID), "name": STRING, "modules": ("array of module", listing(_MODULE_2_5))})

_DEVICES_2_6 = ("plug", "heater", "light", "automation", "energymeter", "remote")
_HEX: tuple[str, Schema] = ("string, exactly 32 hexadecimal characters", HEX32)
_MODULE_2_6 = record(
    "2.6.module",
    {
        "id": _HEX,
        "name": STRING,
        "hw_type": STRING,
        "type": ("string, optional", TEXT),
        "device": (f"string enum: {', '.join(_DEVICES_2_6)}", one_of(*_DEVICES_2_6)),
    },
    required=("id", "name", "hw_type", "device"),
    sentence="Module (required: id, name, hw_type, device)",
)
_AMBIENT_2_6 = record(
    "2.6.ambient",
    {"id": _HEX, "name": STRING, "type": STRING, "modules": ("array of module", listing(_MODULE_2_6))},
    required=("id", "name", "type", "modules"),
    sentence="Ambient (required: id, name, type, modules)",
)
TOPOLOGY_2_6 = record(
    "2.6",
    {
        "id": _HEX,
        "ambients": ("array of ambient", listing(_AMBIENT_2_6)),
        "modules": ("array of module", listing(_MODULE_2_6)),
    },
    required=("id", "ambients", "modules"),
    sentence="Object `plant` (required: id, ambients, modules)",
)
