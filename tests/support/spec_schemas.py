"""JSON Schemas (Draft 2020-12) of each 200 body and of both error shapes, written by hand from the specification.

Nothing here comes from the gateway's own models, so an error in a model is found. Sections are cited as in the
specification. Where the specification does not say which values are required, the decision records apply: known values are
always printed.
"""

from collections.abc import Iterator
from datetime import datetime

from jsonschema import Draft202012Validator, FormatChecker

from support.schema_types import (
    BOOLEAN,
    DATE_TIME,
    DECIMAL,
    END,
    HEX32,
    INT32,
    LOCAL_TIME,
    OFFSET_TIME,
    TEXT,
    UUID,
    Schema,
    integer,
    listing,
    number,
    one_of,
    record,
    text,
)
from support.spec_plants import PLANT_2_1, PLANT_2_2, PLANT_2_3, TOPOLOGY_2_4, TOPOLOGY_2_5, TOPOLOGY_2_6

# Spec 2.7, 2.8, 2.9, 2.10 ----------------------------------------------------------------------------------------------

_LIGHT_SENDER = record(
    {
        "addressType": {"const": "addressLocation"},
        "system": {"const": "lighting"},
        "plant": record(
            {
                "id": UUID,
                "name": text(50),
                "type": one_of("House", "Hotel", "Office", "Hospital"),
                "module": record({"id": UUID, "name": TEXT, "deviceType": TEXT}),
            }
        ),
    }
)
LIGHT_2_7 = record(
    {"status": one_of("on", "off"), "sender": _LIGHT_SENDER},
    {
        "level": integer(0, 100),
        "colorHSV": record({"H": number(0, 360), "S": number(0, 100), "V": number(0, 100)}),
    },
)

_THERMOSTAT_SENDER = record(
    {
        "addressType": {"const": "addressLocation"},
        "system": {"const": "thermoregulation"},
        "plant": record({"id": UUID, "module": record({"id": UUID})}),
    }
)
# The bound 3..40 is Celsius, so the set point is always printed in Celsius.
_SET_POINT = record(
    {
        "value": {"type": "string", "pattern": f"^(([3-9]|[12][0-9]|3[0-9])(\\.[0-9]+)?|40(\\.0+)?){END}"},
        "unit": {"const": "C"},
    }
)


def measures(*units: str) -> Schema:
    return record(
        {"measures": listing(record({"timeStamp": OFFSET_TIME, "value": DECIMAL, "unit": one_of(*units)}), minItems=1)}
    )


CHRONOTHERMOSTAT_2_8 = {
    **record(
        {
            "function": one_of("heating", "cooling"),
            "mode": one_of("automatic", "manual", "boost", "off", "protection"),
            "temperatureFormat": one_of("C", "F"),
            "loadState": one_of("active", "inactive"),
            "time": OFFSET_TIME,
            "sender": _THERMOSTAT_SENDER,
        },
        {
            "setPoint": _SET_POINT,
            "programs": listing(record({"number": integer(0, 11)}), minItems=1, maxItems=1),
            "activationTime": LOCAL_TIME,
            "thermometer": measures("C", "F"),
            "hygrometer": measures("%"),
        },
    ),
    "allOf": [
        {
            "if": {"properties": {"mode": {"const": "boost"}}},
            "then": {"properties": {"setPoint": False}},
            "else": {"required": ["setPoint"]},
        },
        {
            "if": {"properties": {"mode": {"const": "automatic"}}},
            "then": {"required": ["programs"]},
            "else": {"properties": {"programs": False}},
        },
    ],
}
PROGRAM_LIST_2_9 = record({"programs": listing(record({"number": integer(0, 11), "name": TEXT})), "sender": _THERMOSTAT_SENDER})

# Spec 2.11, 2.12, 2.13, 2.14 -------------------------------------------------------------------------------------------

_JWT = {"type": "string", "pattern": f"^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+{END}"}


def _ticket(system: str) -> Schema:
    sender = record({"addressType": {"const": "addressLocation"}, "system": {"const": system}, "plant": record({"id": UUID})})
    return record({"ticket": _JWT, "sender": sender})


REMOTE_2_12 = record(
    {
        "battery": one_of("full", "high", "medium", "low", "very_low", "unknown"),
        "reachable": BOOLEAN,
        "sender": record({"plant": record({"module": record({"id": HEX32})})}),
    },
    {"fw": INT32},
)
CONSUMPTION_2_13 = record({"unit": one_of("watt", "watt_hour"), "value": integer(0, 100_000), "timestamp": OFFSET_TIME})
PLUG_2_14 = record({"id": UUID, "name": TEXT, "status": listing(BOOLEAN, minItems=1)})

# Spec 2.15 -------------------------------------------------------------------------------------------------------------

FAILURE_TYPES = (
    "BLOCK.OK",
    "BLOCK.FAULTY_COMMUNICATION",
    "BLOCK.OTHER_FAULTY",
    "BLOCK.ALARM_STATE",
    "BLOCK.DLD",
    "BLOCK.FAULTY_POWER_SUPPLY",
    "BLOCK.FAULTY_BATTERY",
    "BLOCK.DISCONNECTED_BATTERY",
    "BLOCK.FAULTY_EMERGENCY_LIGHT",
    "BLOCK.FAULTY_ELECTRONICAL",
    "REMOTE.STATUS.OK",
    "REMOTE.STATUS.SECTOR_ON_BUS",
    "REMOTE.STATUS.BUS_SHORT_CIRCUIT",
    "REMOTE.STATUS.NO_BLOCK_RESPONSE",
    "REMOTE.STATUS.CAPACITY_OVERFLOW",
    "REMOTE.STATUS.NFC_COMM_FAULT",
    "REMOTE.STATUS.QUARTZ_FAULT",
    "REMOTE.STATUS.BATTERY_FAULT",
    "REMOTE.STATUS.BLOCK_ENROLLMENT_FAULT",
    "REMOTE.STATUS.ELECTRONIC_FAULT",
    "REMOTE.STATUS.OUT_SUPERVISION",
)
SITE = record({"id": UUID, "name": TEXT}, {"country": text(50), "address": text(500), "zipCode": text(20)})
_FAILURE = record({"flag": {"type": "string", "pattern": f"^(0[xX])?[0-9a-fA-F]+{END}"}, "failureType": one_of(*FAILURE_TYPES)})
_EMERGENCY_STATUS: Schema = {"type": "integer", "enum": [0, 1, 2]}
UNIT = record(
    {"id": UUID, "reference": TEXT, "status": _EMERGENCY_STATUS, "failures": listing(_FAILURE)},
    {"lastStatusUpdate": DATE_TIME},
)
CONTROLLER = record(
    {
        "id": UUID,
        "name": TEXT,
        "reference": TEXT,
        "serialNumber": TEXT,
        "status": _EMERGENCY_STATUS,
        "failures": listing(_FAILURE),
        "alert": BOOLEAN,
        "alertLevel": {"type": "integer", "minimum": 1},
        "children": listing(UNIT),
    },
    {"lastStatusUpdate": DATE_TIME, "lastAlertUpdate": DATE_TIME},
)
SPARE_PART = record({"reference": TEXT, "type": one_of("Battery", "Emergency lamp"), "quantity": TEXT})

# Spec 7 ----------------------------------------------------------------------------------------------------------------

ERROR_A = record({"errors": listing(record({"userMessage": TEXT, "internalMessage": TEXT, "code": INT32}), minItems=1)})
ERROR_B = record({"statusCode": {"type": "integer"}, "message": {"type": "string", "minLength": 1}})
ERRORS = {"A": ERROR_A, "B": ERROR_B}

# Spec 4: the body of each 200; E1 and E5 have none, that of E20 is XML --------------------------------------------------

BODIES: dict[str, Schema] = {
    "E2": record({"remotes": listing(REMOTE_2_12, minItems=1, maxItems=1)}),
    "E3": record({"plant": TOPOLOGY_2_6}),
    "E4": record({"consumptions": listing(CONSUMPTION_2_13)}),
    "E6": record({"plants": listing(PLANT_2_2, minItems=1)}),
    "E7": record({"plant": TOPOLOGY_2_4}),
    "E8": record({"lights": listing(LIGHT_2_7, minItems=1, maxItems=1)}),
    "E9": record({"plant": TOPOLOGY_2_5}),
    "E10": listing(PLANT_2_1, minItems=1),
    "E11": record({"locks": listing(_ticket("automation"), minItems=1, maxItems=1)}),
    "E12": record({"chronothermostats": listing(CHRONOTHERMOSTAT_2_8, minItems=1, maxItems=1)}),
    "E13": record({"chronothermostats": listing(PROGRAM_LIST_2_9, minItems=1, maxItems=1)}),
    "E14": record({"plants": listing(PLANT_2_3, minItems=1)}),
    "E15": record({"audiovideounits": listing(_ticket("videodoorentry"), minItems=1, maxItems=1)}),
    "E16": record({"plugs": listing(PLUG_2_14, minItems=1)}),
    "E17": listing(SITE, minItems=1),
    "E18": listing(CONTROLLER, minItems=1),
    "E19": listing(SPARE_PART),
}

_formats = FormatChecker(["date-time"])


@_formats.checks("local-time", raises=ValueError)
def _is_a_real_time(value: object) -> bool:
    return not isinstance(value, str) or bool(datetime.fromisoformat(value))


def _validator(schema: Schema) -> Draft202012Validator:
    return Draft202012Validator(schema, format_checker=_formats)


_BODY_VALIDATORS = {name: _validator(schema) for name, schema in BODIES.items()}
_ERROR_VALIDATORS = {shape: _validator(schema) for shape, schema in ERRORS.items()}


def _mistakes(validator: Draft202012Validator, body: object) -> Iterator[str]:
    for error in validator.iter_errors(body):
        yield f"{error.json_path}: {error.message}"


def check_body(operation: str, body: object) -> None:
    """Fail with all differences between this 200 body and the specification."""
    mistakes = list(_mistakes(_BODY_VALIDATORS[operation], body))
    assert not mistakes, f"{operation} answers a body that the specification does not know:\n" + "\n".join(mistakes[:20])


def check_error(shape: str, status: int, body: object) -> None:
    """Fail unless this is the error shape; shape B must repeat the status."""
    mistakes = list(_mistakes(_ERROR_VALIDATORS[shape], body))
    assert not mistakes, f"not error shape {shape}: {body!r}\n" + "\n".join(mistakes)
    if shape == "B":
        assert isinstance(body, dict)
        assert body["statusCode"] == status
