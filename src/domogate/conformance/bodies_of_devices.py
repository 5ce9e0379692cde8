"""The bodies of device states, tickets and emergency lighting (Spec 2.7 to 2.15)."""

from domogate.conformance.rules import Schema
from domogate.conformance.values import (
    BOOLEAN,
    DATE_TIME,
    HEX32,
    HEXADECIMAL,
    INT32,
    INTEGER,
    JWT,
    LOCAL_TIME,
    NUMBER_3_TO_40,
    OFFSET_TIME,
    STRING,
    TEXT,
    UUID,
    between,
    listing,
    one_of,
    record,
    said,
    text,
)

_TYPES = ("House", "Hotel", "Office", "Hospital")


def _sender(
    section: str, plant: Schema, address: tuple[str, Schema] = STRING, system: tuple[str, Schema] = STRING
) -> tuple[str, Schema]:
    fields = {"addressType": address, "system": system, "plant": ("object", plant)}
    return "object {addressType, system, plant}", record(f"{section}.sender", fields)


_LIGHT_MODULE = record("2.7.sender.plant.module", {"id": ("uuid", UUID), "name": STRING, "deviceType": STRING})
_LIGHT_PLANT = record(
    "2.7.sender.plant",
    {
        "id": ("uuid", UUID),
        "name": ("0..50 chars", text(50)),
        "type": ("enum House, Hotel, Office, Hospital", one_of(*_TYPES)),
        "module": ("{id uuid, name string, deviceType string}", _LIGHT_MODULE),
    },
)
_COLOUR = record(
    "2.7.colorHSV",
    {
        "H": ("number (float) 0..360 hue", between("number", 0, 360)),
        "S": ("number (float) 0..100 saturation", between("number", 0, 100)),
        "V": ("number (float) 0..100 value", between("number", 0, 100)),
    },
)
LIGHT_2_7 = record(
    "2.7",
    {
        "status": ("string, enum: on, off", one_of("on", "off")),
        "level": ("integer, 0..100, brightness", between("integer", 0, 100)),
        "colorHSV": ("object H, S, V", _COLOUR),
        "sender": _sender("2.7", _LIGHT_PLANT),
    },
)


def _sender_of_module(section: str) -> tuple[str, Schema]:
    module = record(f"{section}.sender.plant.module", {"id": ("uuid", UUID)})
    plant = record(f"{section}.sender.plant", {"id": ("uuid", UUID), "module": ("{id uuid}", module)})
    return _sender(section, plant)


def _measures(section: str, *units: str) -> tuple[str, Schema]:
    measure = record(
        f"{section}.measures",
        {
            "timeStamp": ("string (same format as time)", OFFSET_TIME),
            "value": STRING,
            "unit": (f"string enum {', '.join(units)}", one_of(*units)),
        },
    )
    measures = record(section, {"measures": ("array of {timeStamp, value, unit}", listing(measure))})
    return "{measures: array of {timeStamp, value, unit}}", measures


_MODES = ("automatic", "manual", "boost", "off", "protection")
_SET_POINT = record(
    "2.8.setPoint",
    {"value": ("string, range 3..40", NUMBER_3_TO_40), "unit": ("string enum C, F", one_of("C", "F"))},
)
_PROGRAM = record("2.8.programs", {"number": ("integer 0..11", between("integer", 0, 11))})
CHRONOTHERMOSTAT_2_8 = {
    **record(
        "2.8",
        {
            "function": ("string, enum: heating, cooling", one_of("heating", "cooling")),
            "mode": (f"string, enum: {', '.join(_MODES)}", one_of(*_MODES)),
            "setPoint": ("{value: string, range 3..40; unit: string enum C, F}", _SET_POINT),
            "programs": ("array; items {number: integer 0..11}", listing(_PROGRAM)),
            "activationTime": ("string, format YYYY-MM-DDThh:mm:ss", LOCAL_TIME),
            "temperatureFormat": ("string, enum: C, F", one_of("C", "F")),
            "loadState": ("string, enum: active, inactive", one_of("active", "inactive")),
            "time": ("string, format YYYY-MM-DDThh:mm:ss followed by a UTC offset", OFFSET_TIME),
            "thermometer": _measures("2.8.thermometer", "C", "F"),
            "hygrometer": _measures("2.8.hygrometer", "%"),
            "sender": _sender_of_module("2.8"),
        },
    ),
    "allOf": [
        {
            "if": {"required": ["mode"], "properties": {"mode": {"enum": [mode for mode in _MODES if mode != "boost"]}}},
            "then": said("2.8.setPoint.present", "setPoint: present when mode is not boost", {"required": ["setPoint"]}),
        },
        {
            "if": {"required": ["mode"], "properties": {"mode": {"const": "automatic"}}},
            "then": said("2.8.programs.present", "programs: present when mode is automatic", {"required": ["programs"]}),
        },
    ],
}
_LISTED_PROGRAM = record(
    "2.9.programs",
    {"number": ("integer; thermostat program number: 0..11", between("integer", 0, 11)), "name": STRING},
)
PROGRAM_LIST_2_9 = record(
    "2.9",
    {"programs": ("array of {number: integer, name: string}", listing(_LISTED_PROGRAM)), "sender": _sender_of_module("2.9")},
)


def ticket(kind: str, system: str) -> Schema:
    """Return the schema of a ticket (Spec 2.11)."""
    section = f"2.11.{kind}"
    plant = record(f"{section}.sender.plant", {"id": ("uuid", UUID)})
    address = ("enum addressLocation", one_of("addressLocation"))
    sender = _sender(section, plant, address, (f"enum {system}", one_of(system)))
    return record(section, {"ticket": ("string in JWT format", JWT), "sender": sender})


_BATTERIES = ("full", "high", "medium", "low", "very_low", "unknown")
_REMOTE_MODULE = record(
    "2.12.sender.plant.module",
    {"id": ("string of exactly 32 hex characters, required", HEX32)},
    required=("id",),
    sentence="sender {plant {module {id: string of exactly 32 hex characters, required}}}",
)
_REMOTE_PLANT = record("2.12.sender.plant", {"module": ("{id}", _REMOTE_MODULE)})
REMOTE_2_12 = record(
    "2.12",
    {
        "reachable": ("boolean", BOOLEAN),
        "battery": (f"string enum: {', '.join(_BATTERIES)}", one_of(*_BATTERIES)),
        "sender": ("object", record("2.12.sender", {"plant": ("object", _REMOTE_PLANT)})),
        "fw": ("integer, int32", INT32),
    },
    required=("battery",),
    sentence="item (required: battery)",
)
CONSUMPTION_2_13 = record(
    "2.13",
    {
        "unit": ("string enum: watt, watt_hour", one_of("watt", "watt_hour")),
        "value": ("integer, int32, 0..100000", between("integer", 0, 100_000)),
        "timestamp": STRING,
    },
    required=("unit", "value"),
    sentence="item (required: unit, value)",
)
PLUG_2_14 = record(
    "2.14",
    {
        "id": ("string, unique id of the socket", TEXT),
        "name": STRING,
        "status": ("array of boolean, current status of the socket", listing(BOOLEAN)),
    },
)

SITE = record(
    "2.15.site",
    {
        "id": ("uuid", UUID),
        "name": STRING,
        "country": ("string, length 0..50", text(50)),
        "address": ("string, length 0..500", text(500)),
        "zipCode": ("string, length 0..20", text(20)),
    },
)
_BLOCK = """OK FAULTY_COMMUNICATION OTHER_FAULTY ALARM_STATE DLD FAULTY_POWER_SUPPLY FAULTY_BATTERY DISCONNECTED_BATTERY
FAULTY_EMERGENCY_LIGHT FAULTY_ELECTRONICAL"""
_REMOTE = """OK SECTOR_ON_BUS BUS_SHORT_CIRCUIT NO_BLOCK_RESPONSE CAPACITY_OVERFLOW NFC_COMM_FAULT QUARTZ_FAULT BATTERY_FAULT
BLOCK_ENROLLMENT_FAULT ELECTRONIC_FAULT OUT_SUPERVISION"""
_FAILURE_TYPES = (*(f"BLOCK.{name}" for name in _BLOCK.split()), *(f"REMOTE.STATUS.{name}" for name in _REMOTE.split()))
_FAILURE = record(
    "2.15.failure",
    {
        "flag": ("string, failure flag in hexadecimal", HEXADECIMAL),
        "failureType": ("string with enum values BLOCK.… and REMOTE.STATUS.…", one_of(*_FAILURE_TYPES)),
    },
)
_COMMON: dict[str, tuple[str, Schema]] = {
    "id": ("string, technical uuid", UUID),
    "reference": STRING,
    "lastStatusUpdate": ("string, date-time", DATE_TIME),
    "status": ("integer", INTEGER),
    "failures": ("array of Failure", listing(_FAILURE)),
}
CONTROLLER = record(
    "2.15.controller",
    {
        **_COMMON,
        "name": STRING,
        "serialNumber": STRING,
        "alert": ("boolean, whether the controller is in alert", BOOLEAN),
        "lastAlertUpdate": ("string, date-time", DATE_TIME),
        "alertLevel": ("integer, number of units in failure before the controller is reported in alert", INTEGER),
        "children": ("array of Unit", listing(record("2.15.unit", _COMMON))),
    },
)
SPARE_PART = record(
    "2.15.spare-part",
    {
        "reference": STRING,
        "type": ("string enum: Battery, Emergency lamp", one_of("Battery", "Emergency lamp")),
        "quantity": STRING,
    },
)
