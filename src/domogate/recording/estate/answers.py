"""The fields of the recorded answers that an estate file needs (Spec 2). Other fields of an answer are ignored."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Uuid = Annotated[str, Meta(pattern="^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")]
AnyId = Annotated[str, Meta(pattern="^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$")]
"""An id with or without dashes: the family home control writes ids without dashes."""
Number = Annotated[str, Meta(pattern=r"^-?[0-9]{1,6}(\.[0-9]{1,6})?$")]
LocalTime = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}$")]
OffsetTime = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[+-][0-9]{2}:[0-9]{2}$")]


class _Camel(msgspec.Struct, frozen=True, rename="camel"):
    pass


class Person(msgspec.Struct, frozen=True):
    email: str
    id: Uuid | None = None


class Plant(_Camel, frozen=True):
    """A plant in a list of E6, E10, E14, E17, X3 or X5."""

    id: AnyId
    name: str = ""
    type: str = ""
    status: str = ""
    owner_id: Uuid | None = None
    owner_email: str | None = None
    country: str = ""
    zip_code: str = ""
    address: str = ""
    allowed_users: list[Person] = []
    invited_users: list[Person] = []


class Plants(msgspec.Struct, frozen=True):
    plants: list[Plant]


class Metric(_Camel, frozen=True):
    label: str
    metric_type: str


class Doable(msgspec.Struct, frozen=True):
    do: bool = False


class CanDo(msgspec.Struct, frozen=True):
    command: Doable = Doable()
    request: Doable = Doable()
    notification: Doable = Doable()


class Capability(_Camel, frozen=True):
    capability: str
    can_do: CanDo = CanDo()


class Module(_Camel, frozen=True):
    """A module in a topology of E3, E7, E9 or X4."""

    id: AnyId
    device: str
    name: str = ""
    internal_id: Uuid | None = None
    device_type: str | None = None
    hw_type: str | None = msgspec.field(name="hw_type", default=None)
    type: str | None = None
    metrics: list[Metric] | None = None
    capabilities: list[Capability] | None = None


class Ambient(_Camel, frozen=True):
    id: AnyId
    name: str = ""
    internal_id: Uuid | None = None
    type: str | None = None
    modules: list[Module] = []


class Floor(_Camel, frozen=True):
    id: AnyId
    name: str = ""
    internal_id: Uuid | None = None
    ambients: list[Ambient] = []


class PlantInside(_Camel, frozen=True):
    id: AnyId
    name: str = ""
    type: str = ""
    internal_id: Uuid | None = None
    floors: list[Floor] = []
    ambients: list[Ambient] = []
    modules: list[Module] = []


class Topology(msgspec.Struct, frozen=True):
    plant: PlantInside


class Color(msgspec.Struct, frozen=True):
    H: float
    S: float
    V: float


class Light(msgspec.Struct, frozen=True):
    status: Literal["on", "off"]
    level: int | None = None
    color: Color | None = msgspec.field(name="colorHSV", default=None)


class Lights(msgspec.Struct, frozen=True):
    lights: list[Light]


class Remote(msgspec.Struct, frozen=True):
    battery: str
    reachable: bool = True
    fw: int | None = None


class Remotes(msgspec.Struct, frozen=True):
    remotes: list[Remote]


class Consumption(msgspec.Struct, frozen=True):
    unit: Literal["watt", "watt_hour"]
    value: int


class Consumptions(msgspec.Struct, frozen=True):
    consumptions: list[Consumption]


class SetPoint(msgspec.Struct, frozen=True):
    value: Number
    unit: Literal["C", "F"] = "C"


class Measure(_Camel, frozen=True):
    time_stamp: OffsetTime
    value: Number
    unit: Literal["C", "F", "%"]


class Measures(msgspec.Struct, frozen=True):
    measures: list[Measure] = []


class Program(msgspec.Struct, frozen=True):
    number: int
    name: str = ""


class Chronothermostat(_Camel, frozen=True):
    """A chronothermostat in an answer of E12 or E13. The answer of E13 has only programs."""

    programs: list[Program] = []
    function: str | None = None
    mode: str | None = None
    set_point: SetPoint | None = None
    activation_time: LocalTime | None = None
    temperature_format: str | None = None
    load_state: str | None = None
    time: OffsetTime | None = None
    thermometer: Measures = Measures()
    hygrometer: Measures = Measures()


class Chronothermostats(msgspec.Struct, frozen=True):
    chronothermostats: list[Chronothermostat]


class Plug(msgspec.Struct, frozen=True):
    id: AnyId
    name: str = ""
    status: list[bool] = []


class Plugs(msgspec.Struct, frozen=True):
    plugs: list[Plug]


class Failure(_Camel, frozen=True):
    failure_type: str
    flag: str = ""


class Unit(msgspec.Struct, frozen=True):
    id: Uuid
    reference: str = ""
    status: int = 0
    failures: list[Failure] = []


class Controller(_Camel, frozen=True):
    id: Uuid
    name: str = ""
    reference: str = ""
    serial_number: str = ""
    status: int = 0
    failures: list[Failure] = []
    alert_level: int = 1
    children: list[Unit] = []


class SparePart(msgspec.Struct, frozen=True):
    reference: str
    type: str
    quantity: str


Record = dict[str, Any]
"""A record of the estate file."""


def as_uuid(identity: str) -> str:
    """Return the id with dashes, as the estate file writes it."""
    digits = identity.replace("-", "").lower()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def given(**fields: Any) -> Record:
    """Return the fields that have a value. None, an empty text and an empty list do not count as a value."""
    return {name: value for name, value in fields.items() if value is not None and value not in ("", [])}
