"""JSON Schemas of plants and topologies (Spec 2.1 to 2.6), written by hand from the specification."""

from support.schema_types import BOOLEAN, DIGITS, EMAIL, HEX32, PLANT_TYPES, TEXT, UUID, WORDS, listing, one_of, record, text

# Spec 2.1, 2.2, 2.3 ----------------------------------------------------------------------------------------------------

_PEOPLE = {"allowedUsers": listing(record({"id": TEXT, "email": EMAIL})), "invitedUsers": listing(record({"email": EMAIL}))}

PLANT_2_1 = record(
    {
        "id": UUID,
        "ownerId": TEXT,
        "ownerEmail": EMAIL,
        "name": text(50, WORDS),
        "type": one_of("hotel", "house", "office", "hospital"),
        "status": one_of("active"),
        **_PEOPLE,
    },
    {"country": text(50, WORDS), "zipCode": text(20, DIGITS), "address": text(500, WORDS)},
)
PLANT_2_2 = record(
    {
        "id": UUID,
        "ownerId": TEXT,
        "name": text(50),
        "type": one_of(*PLANT_TYPES),
        "status": one_of("Active", "Removed"),
        **_PEOPLE,
    },
    {"country": text(50), "zipCode": text(20, DIGITS), "address": text(500)},
)
PLANT_2_3 = record({"id": UUID, "name": TEXT, "type": TEXT})

# Spec 2.4, 2.5, 2.6 ----------------------------------------------------------------------------------------------------

_MODULE_2_4 = {
    **record(
        {
            "device": one_of("Light", "Automation", "Scene"),
            "system": one_of("Lighting", "Automation", "Scene"),
            "id": UUID,
            "internalId": UUID,
            "name": TEXT,
            "deviceType": TEXT,
            "metrics": listing(record({"label": TEXT, "metricType": one_of("Text", "Number", "Object")})),
        }
    ),
    "oneOf": [
        {"properties": {"device": {"const": device}, "system": {"const": system}}}
        for device, system in (("Light", "Lighting"), ("Automation", "Automation"), ("Scene", "Scene"))
    ],
}
_AMBIENT_2_4 = record({"id": UUID, "internalId": UUID, "name": TEXT, "modules": listing(_MODULE_2_4)})
_FLOOR_2_4 = record({"id": UUID, "internalId": UUID, "name": TEXT, "ambients": listing(_AMBIENT_2_4)})
TOPOLOGY_2_4 = record(
    {
        "id": UUID,
        "internalId": UUID,
        "name": TEXT,
        "type": one_of(*PLANT_TYPES),
        "floors": listing(_FLOOR_2_4),
        "ambients": listing(_AMBIENT_2_4),
        "modules": listing(_MODULE_2_4),
    }
)

_DO = record({"do": BOOLEAN})
_MODULE_2_5 = record(
    {
        "device": one_of("audiovideo unit", "gateway", "light", "lock", "activation"),
        "id": UUID,
        "name": TEXT,
        "capabilities": listing(
            record({"capability": TEXT, "canDo": record({"command": _DO, "request": _DO, "notification": _DO})})
        ),
    }
)
TOPOLOGY_2_5 = record({"id": UUID, "name": TEXT, "modules": listing(_MODULE_2_5)})

_MODULE_2_6 = record(
    {
        "id": HEX32,
        "name": TEXT,
        "hw_type": TEXT,
        "device": one_of("plug", "heater", "light", "automation", "energymeter", "remote"),
    },
    {"type": TEXT},
)
_AMBIENT_2_6 = record({"id": HEX32, "name": TEXT, "type": TEXT, "modules": listing(_MODULE_2_6)})
TOPOLOGY_2_6 = record({"id": HEX32, "ambients": listing(_AMBIENT_2_6), "modules": listing(_MODULE_2_6)})
