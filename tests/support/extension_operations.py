"""The extensions of docs/extensions.md, written by hand for the tests."""

from typing import Any

import httpx
from jsonschema import Draft202012Validator

from support.schema_types import HEX32, TEXT, UUID, Schema, listing, one_of, record
from support.spec_operations import BY_NAME, E1, E8, E12, E14, OPERATIONS, Operation
from support.spec_schemas import measures

MANUAL = b'{"function": "heating", "mode": "manual", "setPoint": {"value": "20", "unit": "C"}}'
DIM = b'{"status": "on", "level": 40}'

X1 = Operation("X1", "POST", E12.path, "id", ("comfort.write",), E12.statuses, kind="chronothermostat", body=MANUAL)
X2 = Operation("X2", "POST", E8.path, "id", ("light.write",), E8.statuses, kind="light", body=DIM)
X3 = Operation("X3", "GET", "/thermostat/v2.0/plants", "id", ("comfort.read",), E14.statuses)
X4 = Operation("X4", "GET", "/thermostat/v2.0/plants/{plant}/topology", "id", ("comfort.read",), E12.statuses)
X5 = Operation(
    "X5",
    "GET",
    "/homectl/api/v1.0/plants",
    "access",
    ("topology.read",),
    E1.statuses | {204},
    shape="A",
    deprecated=True,
    hex_ids=True,
)

_SUBSCRIPTION_STATUSES = frozenset({400, 401, 404, 500})
X6 = Operation(
    "X6",
    "POST",
    "/thermostat/v2.0/plants/{plant}/subscription",
    "id",
    ("comfort.read",),
    _SUBSCRIPTION_STATUSES | {201, 409},
    body=b'{"EndPointUrl": "http://127.0.0.1:9/subscriber"}',
)
X7 = Operation("X7", "GET", "/thermostat/v2.0/subscription", "id", ("comfort.read",), _SUBSCRIPTION_STATUSES | {200, 204})
X8 = Operation(
    "X8",
    "DELETE",
    "/thermostat/v2.0/plants/{plant}/subscription/{subscription}",
    "id",
    ("comfort.read",),
    _SUBSCRIPTION_STATUSES | {200},
)
X9 = Operation("X9", "GET", f"{E12.path}/measures", "id", ("comfort.read",), E12.statuses, kind="chronothermostat")

EXTENSIONS = (X1, X2, X3, X4, X5, X9)
SUBSCRIPTIONS = (X6, X7, X8)
"""They change stored data, so they are tested separately."""
ALL_OPERATIONS = (*OPERATIONS, *EXTENSIONS)
WITH_EXTENSIONS = {**BY_NAME, **{operation.name: operation for operation in (*EXTENSIONS, *SUBSCRIPTIONS)}}
X1_PATH = X1.path.replace("{plant}", "{plantId}").replace("{module}", "{moduleId}")
X2_PATH = X2.path.replace("{plant}", "{plantid}").replace("{module}", "{moduleid}")
"""As its document writes it."""

_BODIES: dict[str, Schema] = {
    "X3": record({"plants": listing(record({"id": UUID, "name": TEXT, "type": TEXT}), minItems=1)}),
    "X4": record(
        {
            "plant": record(
                {
                    "id": UUID,
                    "name": TEXT,
                    "modules": listing(record({"device": one_of("chronothermostat"), "id": UUID, "name": TEXT})),
                }
            )
        }
    ),
    "X5": record({"plants": listing(record({"id": HEX32, "name": TEXT, "type": TEXT, "country": TEXT}), minItems=1)}),
    "X9": record({}, {"thermometer": measures("C", "F"), "hygrometer": measures("%")}),
    "X7": listing(record({"plantId": UUID, "subscriptionId": UUID, "EndPointUrl": TEXT}), minItems=1),
}


def expect_listed(operation: Operation, answer: httpx.Response) -> Any:
    """The JSON of a 200, checked against the documentation."""
    assert answer.status_code == 200, f"{operation} answered {answer.status_code}: {answer.text}"
    body = answer.json()
    Draft202012Validator(_BODIES[operation.name]).validate(body)
    return body


def expect_done(operation: Operation, answer: httpx.Response) -> None:
    """Check a confirmed command: 200 without a body."""
    assert answer.status_code == 200, f"{operation} answered {answer.status_code}: {answer.text}"
    assert answer.content == b""
