"""The twenty operations of the contract (Spec 4), with the schemas of their bodies."""

from typing import Literal, NamedTuple
from urllib.parse import quote

from domogate.conformance.bodies_of_devices import (
    CHRONOTHERMOSTAT_2_8,
    CONSUMPTION_2_13,
    CONTROLLER,
    LIGHT_2_7,
    PLUG_2_14,
    PROGRAM_LIST_2_9,
    REMOTE_2_12,
    SITE,
    SPARE_PART,
    ticket,
)
from domogate.conformance.bodies_of_plants import PLANT_2_1, PLANT_2_2, PLANT_2_3, TOPOLOGY_2_4, TOPOLOGY_2_5, TOPOLOGY_2_6
from domogate.conformance.rules import Rule, Schema
from domogate.conformance.values import INT32, INTEGER, TEXT, listing, record, said


class Operation(NamedTuple):
    """An operation of the contract."""

    name: str
    title: str
    method: Literal["GET", "POST"]
    path: str
    statuses: frozenset[int]
    body: Schema | None = None
    """The schema of the body of a 200 answer. None if the specification does not show this body."""
    sends: dict[str, object] | None = None
    """A correct body of a request. None if the request has no body."""
    scope: str = ""
    """The scope that the token needs, or `A or B` if one of two scopes is enough. Empty if the specification shows no scope."""

    def __str__(self) -> str:
        return self.name

    @property
    def family(self) -> str:
        return self.path.split("/")[0]

    @property
    def shape(self) -> str:
        """The shape of the error bodies of this operation: A, B, or empty if the specification shows none (Spec 7)."""
        if self.family == "homectl":
            return "A"
        return "" if self.family in ("multisocket", "emergency-lighting", "echo") else "B"

    @property
    def needs_access_token(self) -> bool:
        return self.family == "homectl"

    @property
    def lists_rule(self) -> Rule:
        listed = ", ".join(map(str, sorted(self.statuses)))
        return Rule(f"4.{self.name}.statuses", f"{self.name} answers with one of the statuses {listed}")

    def fill(self, ids: dict[str, str]) -> str:
        """Return the path with these ids. Characters that have a meaning in a path are encoded."""
        return self.path.format(**{name: quote(value, safe="", errors="surrogatepass") for name, value in ids.items()})


def _of(name: str, sentence: str, schema: Schema) -> Schema:
    return said(f"4.{name}.body", f"{name} answers 200 with {sentence}", schema)


def _in(name: str, field: str, item: Schema, *, required: bool = False) -> Schema:
    fields = {field: ("array", listing(item))}
    return _of(name, f"{{{field}: array}}", record(f"4.{name}.body", fields, required=(field,) if required else ()))


def _topology(name: str, plant: Schema) -> Schema:
    return _of(name, "{plant: object}", record(f"4.{name}.body", {"plant": ("object", plant)}, required=("plant",)))


def _listed(*statuses: int) -> frozenset[int]:
    return frozenset(statuses)


_A = _listed(200, 400, 403, 404, 406, 500)
_THERMOSTAT = _listed(200, 400, 401, 404, 408, 469, 470, 500)
_PLANT, _MODULE = "addressLocation/plants/{plant}", "addressLocation/plants/{plant}/modules/parameter/id/value/{module}"
_HOMECTL, _HOMEAUTO = "homectl/api/v1.0", "homeauto/v1.0"
_CHRONO = f"thermostat/v2.0/chronothermostat/thermoregulation/{_MODULE}"
_SAFETY = "emergency-lighting"
_VEHICLE: dict[str, object] = {"vehicleType": "train", "maxSpeed": 125.5, "avgSpeed": 90, "speedUnit": "mph"}

E1 = Operation(
    "E1",
    "Set plug status on an ambient",
    "POST",
    f"{_HOMECTL}/plug/energy/{_PLANT}/ambients/parameter/id/value/{{ambient}}",
    _A,
    sends={"status": "on"},
    scope="plug.write",
)
E2 = Operation(
    "E2",
    "Get remote status",
    "GET",
    f"{_HOMECTL}/remote/remote/{_MODULE}",
    _A,
    _in("E2", "remotes", REMOTE_2_12),
    scope="topology.read",
)
E3 = Operation("E3", "Get plant topology", "GET", f"{_HOMECTL}/plants/{{plant}}/topology", _A, _topology("E3", TOPOLOGY_2_6))
E4 = Operation(
    "E4",
    "Get plug consumptions",
    "GET",
    f"{_HOMECTL}/plug/energy/{_MODULE}/consumptions",
    _A,
    _in("E4", "consumptions", CONSUMPTION_2_13, required=True),
)
E5 = Operation(
    "E5",
    "Run a scene",
    "POST",
    f"{_HOMEAUTO}/scene/comfort/{_MODULE}",
    _listed(200, 400, 401, 403, 404, 442),
    sends={"status": "run"},
    scope="scene.launch or scene.write",
)
E6 = Operation(
    "E6",
    "Get all plants",
    "GET",
    f"{_HOMEAUTO}/plants",
    _listed(200, 204, 400, 401),
    _in("E6", "plants", PLANT_2_2),
    scope="topology.read",
)
E7 = Operation(
    "E7",
    "Get plant topology",
    "GET",
    f"{_HOMEAUTO}/plants/{{plant}}/topology",
    _listed(200, 401, 403, 404),
    _topology("E7", TOPOLOGY_2_4),
    scope="topology.read",
)
E8 = Operation(
    "E8",
    "Get light status",
    "GET",
    f"{_HOMEAUTO}/light/lighting/{_MODULE}",
    _listed(200, 400, 401, 403, 404),
    _in("E8", "lights", LIGHT_2_7),
    scope="light.read",
)
E9 = Operation(
    "E9",
    "Get plant topology",
    "GET",
    "doorentry-a/v1.0/plants/{plant}/topology",
    _THERMOSTAT,
    _topology("E9", TOPOLOGY_2_5),
    scope="topology.read",
)
E10 = Operation(
    "E10",
    "Get plants of the user",
    "GET",
    "doorentry-b/v1.0/plants",
    _listed(200, 204, 400, 401, 404),
    _of("E10", "array of plant", listing(PLANT_2_1)),
    scope="topology.read",
)
E11 = Operation(
    "E11",
    "Open lock",
    "GET",
    f"doorentry-b/v1.0/lock/automation/{_MODULE}/ticket",
    _listed(200, 400, 401, 404, 408),
    _in("E11", "locks", ticket("lock", "automation")),
    scope="audiovideoterminal.read",
)
E12 = Operation(
    "E12",
    "Get chronothermostat status",
    "GET",
    _CHRONO,
    _THERMOSTAT,
    _in("E12", "chronothermostats", CHRONOTHERMOSTAT_2_8),
    scope="comfort.read",
)
E13 = Operation(
    "E13",
    "Get chronothermostat program list",
    "GET",
    f"{_CHRONO}/programlist",
    _THERMOSTAT,
    _in("E13", "chronothermostats", PROGRAM_LIST_2_9),
    scope="comfort.read",
)
E14 = Operation(
    "E14",
    "Get plants",
    "GET",
    "touchpanel/v1.0/plants",
    _listed(200, 204, 400, 401, 404, 408, 469, 470, 500),
    _in("E14", "plants", PLANT_2_3),
    scope="topology.read",
)
E15 = Operation(
    "E15",
    "Switch on camera",
    "GET",
    f"touchpanel/v1.0/audiovideounit/videodoorentry/{_MODULE}/videoOut",
    _listed(200, 400, 401, 404, 408, 500),
    _in("E15", "audiovideounits", ticket("camera", "videodoorentry")),
    scope="audiovideoterminal.read",
)
E16 = Operation(
    "E16",
    "Get status of all plugs of a plant",
    "GET",
    f"multisocket/plug/energy/{_PLANT}",
    _listed(200, 401, 404),
    _in("E16", "plugs", PLUG_2_14),
    scope="plug.read",
)
E17 = Operation(
    "E17", "Get connected sites", "GET", f"{_SAFETY}/sites", _listed(200, 204, 401), _of("E17", "array of site", listing(SITE))
)
E18 = Operation(
    "E18",
    "Get all modules of a site",
    "GET",
    f"{_SAFETY}/sites/{{plant}}/modules",
    _listed(200, 204, 400, 401),
    _of("E18", "array of controller with their units in children", listing(CONTROLLER)),
    scope="safety.read",
)
E19 = Operation(
    "E19",
    "Get spare parts for a unit reference",
    "GET",
    f"{_SAFETY}/module/{{reference}}/spare-parts",
    _listed(200, 400, 401),
    _of("E19", "array of spare part", listing(SPARE_PART)),
    scope="safety.read",
)
E20 = Operation("E20", "Create resource", "POST", "echo/resource", _listed(200), sends=_VEHICLE)

OPERATIONS = (E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13, E14, E15, E16, E17, E18, E19, E20)
FAMILIES = tuple(dict.fromkeys(operation.family for operation in OPERATIONS))
LISTS = {"E6": "plants", "E10": "", "E14": "plants", "E16": "plugs", "E17": "", "E18": ""}
"""The operations that answer with a list. If the list is empty, the status must not be 200.

Each value is the name of the field that has the list. The value is empty if the whole body is the list.
"""

_ERROR_A = record(
    "7.A.errors",
    {"userMessage": ("string", TEXT), "internalMessage": ("string", TEXT), "code": ("integer int32", INT32)},
)
ERRORS: dict[str, Schema] = {
    "A": record(
        "7.A",
        {"errors": ("array", listing(_ERROR_A))},
        required=("errors",),
        sentence="Shape A (home control family): "
        "{errors: array of {userMessage: string, internalMessage: string, code: integer int32}}",
    ),
    "B": record(
        "7.B",
        {"statusCode": ("integer (error code)", INTEGER), "message": ("string (error message)", TEXT)},
        required=("statusCode", "message"),
        sentence="Shape B: {statusCode: integer (error code), message: string (error message)}",
    ),
}
