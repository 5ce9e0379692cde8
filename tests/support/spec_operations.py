"""The twenty operations as section 4 of the specification lists them, written by hand for the tests."""

from dataclasses import dataclass
from typing import Literal

ON = b'{"status": "on"}'
RUN = b'{"status": "run"}'
VEHICLE = b'{"vehicleType": "train", "maxSpeed": 125.5, "avgSpeed": 90, "speedUnit": "mph"}'

ALL_SCOPES = (
    "plug.read",
    "plug.write",
    "topology.read",
    "scene.launch",
    "scene.write",
    "light.read",
    "comfort.read",
    "audiovideoterminal.read",
    "safety.read",
    # scopes of the extensions
    "light.write",
    "comfort.write",
)

PREFIXES = (
    "/homectl/api/v1.0",
    "/homeauto/v1.0",
    "/doorentry-a/v1.0",
    "/doorentry-b/v1.0",
    "/thermostat/v2.0",
    "/touchpanel/v1.0",
    "/multisocket",
    "/emergency-lighting",
    "/echo",
)

Target = dict[str, str]
"""The ids in a path by role: plant, module, ambient (dashed ids) and reference."""


@dataclass(frozen=True)
class Operation:
    """One operation: how to call it, its scopes, and its statuses."""

    name: str
    method: Literal["GET", "POST", "DELETE"]
    path: str
    token: Literal["access", "id", "either"]
    scopes: tuple[str, ...]
    """One of these scopes is enough; empty means that no scope is needed."""
    statuses: frozenset[int]
    shape: Literal["A", "B"] = "B"
    kind: str | None = None
    """The kind of module in its path."""
    body: bytes | None = None
    deprecated: bool = False
    hex_ids: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def about_a_plant(self) -> bool:
        return "{plant}" in self.path

    @property
    def prefix(self) -> str:
        """The prefix of its family (Spec 1)."""
        return next(prefix for prefix in PREFIXES if self.path.startswith(f"{prefix}/"))

    def spell(self, identity: str) -> str:
        return identity.replace("-", "") if self.hex_ids else identity

    def url(self, target: Target) -> str:
        """The path with ids as this family writes them."""
        return self.fill({key: value if key == "reference" else self.spell(value) for key, value in target.items()})

    def fill(self, target: Target) -> str:
        """The path with exactly these texts, for malformed ids."""
        path = self.path
        for key, value in target.items():
            path = path.replace("{" + key + "}", value)
        return path


def _statuses(*codes: int) -> frozenset[int]:
    return frozenset(codes)


_HOMECTL = "/homectl/api/v1.0"
_HOMEAUTO = "/homeauto/v1.0"
_OF_MODULE = "addressLocation/plants/{plant}/modules/parameter/id/value/{module}"
_THERMOSTAT = f"/thermostat/v2.0/chronothermostat/thermoregulation/{_OF_MODULE}"
_THERMOSTAT_STATUSES = _statuses(200, 400, 401, 404, 408, 469, 470, 500)
_HOMECTL_STATUSES = _statuses(200, 400, 403, 404, 406, 500)

E1 = Operation(
    "E1",
    "POST",
    f"{_HOMECTL}/plug/energy/addressLocation/plants/{{plant}}/ambients/parameter/id/value/{{ambient}}",
    "access",
    ("plug.write",),
    _HOMECTL_STATUSES,
    shape="A",
    body=ON,
    deprecated=True,
    hex_ids=True,
)
E2 = Operation(
    "E2",
    "GET",
    f"{_HOMECTL}/remote/remote/{_OF_MODULE}",
    "access",
    ("topology.read",),
    _HOMECTL_STATUSES,
    shape="A",
    kind="remote",
    deprecated=True,
    hex_ids=True,
)
E3 = Operation(
    "E3",
    "GET",
    f"{_HOMECTL}/plants/{{plant}}/topology",
    "access",
    ("topology.read",),
    _HOMECTL_STATUSES,
    shape="A",
    deprecated=True,
    hex_ids=True,
)
E4 = Operation(
    "E4",
    "GET",
    f"{_HOMECTL}/plug/energy/{_OF_MODULE}/consumptions",
    "access",
    ("plug.read",),
    _HOMECTL_STATUSES,
    shape="A",
    kind="plug",
    deprecated=True,
    hex_ids=True,
)
E5 = Operation(
    "E5",
    "POST",
    f"{_HOMEAUTO}/scene/comfort/{_OF_MODULE}",
    "id",
    ("scene.launch", "scene.write"),
    _statuses(200, 400, 401, 403, 404, 442),
    kind="scene",
    body=RUN,
)
E6 = Operation("E6", "GET", f"{_HOMEAUTO}/plants", "id", ("topology.read",), _statuses(200, 204, 400, 401))
E7 = Operation("E7", "GET", f"{_HOMEAUTO}/plants/{{plant}}/topology", "id", ("topology.read",), _statuses(200, 401, 403, 404))
E8 = Operation(
    "E8",
    "GET",
    f"{_HOMEAUTO}/light/lighting/{_OF_MODULE}",
    "id",
    ("light.read",),
    _statuses(200, 400, 401, 403, 404),
    kind="light",
)
E9 = Operation(
    "E9",
    "GET",
    "/doorentry-a/v1.0/plants/{plant}/topology",
    "id",
    ("topology.read",),
    _statuses(200, 400, 401, 404, 408, 469, 470, 500),
)
E10 = Operation("E10", "GET", "/doorentry-b/v1.0/plants", "id", ("topology.read",), _statuses(200, 204, 400, 401, 404))
E11 = Operation(
    "E11",
    "GET",
    f"/doorentry-b/v1.0/lock/automation/{_OF_MODULE}/ticket",
    "id",
    ("audiovideoterminal.read",),
    _statuses(200, 400, 401, 404, 408),
    kind="lock",
    deprecated=True,
)
E12 = Operation("E12", "GET", _THERMOSTAT, "id", ("comfort.read",), _THERMOSTAT_STATUSES, kind="chronothermostat")
E13 = Operation(
    "E13", "GET", f"{_THERMOSTAT}/programlist", "id", ("comfort.read",), _THERMOSTAT_STATUSES, kind="chronothermostat"
)
E14 = Operation(
    "E14",
    "GET",
    "/touchpanel/v1.0/plants",
    "id",
    ("topology.read",),
    _statuses(200, 204, 400, 401, 404, 408, 469, 470, 500),
    deprecated=True,
)
E15 = Operation(
    "E15",
    "GET",
    f"/touchpanel/v1.0/audiovideounit/videodoorentry/{_OF_MODULE}/videoOut",
    "id",
    ("audiovideoterminal.read",),
    _statuses(200, 400, 401, 404, 408, 500),
    kind="audiovideo unit",
    deprecated=True,
)
E16 = Operation(
    "E16", "GET", "/multisocket/plug/energy/addressLocation/plants/{plant}", "id", ("plug.read",), _statuses(200, 401, 404)
)
E17 = Operation("E17", "GET", "/emergency-lighting/sites", "either", ("safety.read",), _statuses(200, 204, 401))
E18 = Operation(
    "E18",
    "GET",
    "/emergency-lighting/sites/{plant}/modules",
    "either",
    ("safety.read",),
    _statuses(200, 204, 400, 401),
)
E19 = Operation(
    "E19",
    "GET",
    "/emergency-lighting/module/{reference}/spare-parts",
    "either",
    ("safety.read",),
    _statuses(200, 400, 401),
)
E20 = Operation("E20", "POST", "/echo/resource", "id", (), _statuses(200), body=VEHICLE)

OPERATIONS = (E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13, E14, E15, E16, E17, E18, E19, E20)
BY_NAME = {operation.name: operation for operation in OPERATIONS}
ABOUT_A_PLANT = tuple(operation for operation in OPERATIONS if operation.about_a_plant)
ABOUT_A_MODULE = tuple(operation for operation in OPERATIONS if operation.kind is not None)
LISTS = (E6, E10, E14, E17)
POSTS = (E1, E5, E20)
# Plant lists and topologies are cached as bytes with an ETag.
WITH_ETAG = (E3, E6, E7, E9, E10, E14, E17)


def first_listed(operation: Operation, *ladder: int) -> int:
    """The status of the ladder: the first that the operation lists, or else the last (Decision 0002)."""
    return next((status for status in ladder if status in operation.statuses), ladder[-1])


def not_your_plant(operation: Operation) -> int:
    return first_listed(operation, 403, 401)


def not_found(operation: Operation) -> int:
    return first_listed(operation, 404, 400)


def malformed_id(operation: Operation) -> int:
    return first_listed(operation, 400, 404)
