"""Plants and their contents: floors, ambients and modules."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import msgspec

from domogate.domain.commands import SceneStep
from domogate.domain.devices import HARDWARE, Capability, DeviceKind, Hardware, Metric
from domogate.domain.ids import Id
from domogate.domain.limits import Limits


class PlantType(StrEnum):
    HOTEL = "hotel"
    HOUSE = "house"
    OFFICE = "office"
    HOSPITAL = "hospital"


class PlantStatus(StrEnum):
    ACTIVE = "active"
    REMOVED = "removed"


class Member(msgspec.Struct, frozen=True, gc=False):
    """A user who owns a plant or is allowed to use it."""

    user_id: Id
    email: str
    limits: Limits | None = None
    """None means the whole plant at any time. The owner has no limits."""


class Invitation(msgspec.Struct, frozen=True, gc=False):
    """An invitation to an e-mail address. It becomes a membership once a user with this e-mail address is active."""

    email: str
    limits: Limits | None = None
    """The limits that the membership will have."""


class Plant(msgspec.Struct, frozen=True, gc=False):
    """An installation and its people: the data for lists of plants. Its floors, ambients and modules are in its Topology."""

    id: Id
    internal_id: Id
    name: str
    type: PlantType
    owner: Member
    status: PlantStatus = PlantStatus.ACTIVE
    removed_at: float | None = None
    country: str | None = None
    zip_code: str | None = None
    address: str | None = None
    emergency_lighting: bool = False
    """True for a site: the plant has emergency controllers or is marked as a site. The store computes this value."""
    allowed: tuple[Member, ...] = ()
    invited: tuple[Invitation, ...] = ()
    time_zone: str | None = None
    """The IANA name of the plant's time zone, for example Europe/Rome. None if the time zone is not known."""

    def is_of(self, user_id: Id) -> bool:
        """Whether the user is the owner or an allowed user (Spec 7, Decision 0010)."""
        return self.find_member(user_id) is not None

    def find_member(self, user_id: Id) -> Member | None:
        if user_id == self.owner.user_id:
            return self.owner
        return next((member for member in self.allowed if member.user_id == user_id), None)


class SceneDetail(msgspec.Struct, frozen=True, gc=False, tag="scene", tag_field="of"):
    steps: tuple[SceneStep, ...] = ()


class Program(msgspec.Struct, frozen=True, gc=False):
    """A weekly program of a thermostat: its number (0..11) and name."""

    number: int
    name: str


class ThermostatDetail(msgspec.Struct, frozen=True, gc=False, tag="chronothermostat", tag_field="of"):
    programs: tuple[Program, ...] = ()


class ControllerDetail(msgspec.Struct, frozen=True, gc=False, tag="emergency controller", tag_field="of"):
    reference: str = ""
    serial_number: str = ""
    alert_level: int = 1


class UnitDetail(msgspec.Struct, frozen=True, gc=False, tag="emergency unit", tag_field="of"):
    reference: str = ""


Detail = SceneDetail | ThermostatDetail | ControllerDetail | UnitDetail


SIMULATED_DRIVERS = frozenset({"simulator"})
"""The drivers that declare themselves as simulated (`drivers/declaration.py`): their devices do not exist."""


class Module(msgspec.Struct, frozen=True, gc=False):
    """A device or a scene. `detail` has data that only this kind of module has. `options` are for its driver."""

    id: Id
    internal_id: Id
    name: str
    kind: DeviceKind
    driver: str = "simulator"
    type: str | None = None
    hw_type: str | None = None
    device_type: str | None = None
    metrics: tuple[Metric, ...] | None = None
    capabilities: tuple[Capability, ...] | None = None
    detail: Detail | None = None
    options: dict[str, Any] = {}
    controller_id: Id | None = None
    """For an emergency unit: the controller it is connected to."""

    @property
    def is_simulated(self) -> bool:
        """Whether the states and readings of the module are invented. False for a scene, which is not a device."""
        return self.driver in SIMULATED_DRIVERS and self.kind is not DeviceKind.SCENE

    @property
    def hardware(self) -> Hardware:
        """The hardware of the module: values that the estate gives for it, otherwise the catalogue's values for its kind."""
        default = HARDWARE[self.kind]
        return Hardware(
            hw_type=default.hw_type if self.hw_type is None else self.hw_type,
            device_type=default.device_type if self.device_type is None else self.device_type,
            metrics=default.metrics if self.metrics is None else self.metrics,
            capabilities=default.capabilities if self.capabilities is None else self.capabilities,
        )


class Ambient(msgspec.Struct, frozen=True, gc=False):
    """A room of a plant, with its modules."""

    id: Id
    internal_id: Id
    name: str
    type: str = "other"
    modules: tuple[Module, ...] = ()


class Floor(msgspec.Struct, frozen=True, gc=False):
    id: Id
    internal_id: Id
    name: str
    ambients: tuple[Ambient, ...] = ()


class Topology(msgspec.Struct, frozen=True, gc=False):
    """The contents of a plant: floors with ambients, ambients without a floor, modules without an ambient."""

    floors: tuple[Floor, ...] = ()
    ambients: tuple[Ambient, ...] = ()
    modules: tuple[Module, ...] = ()

    def every_ambient(self) -> Iterator[Ambient]:
        for floor in self.floors:
            yield from floor.ambients
        yield from self.ambients

    def every_module(self) -> Iterator[Module]:
        for ambient in self.every_ambient():
            yield from ambient.modules
        yield from self.modules

    def has_controller(self) -> bool:
        """Whether the plant has an emergency controller. Such a plant is a site."""
        return any(module.kind is DeviceKind.EMERGENCY_CONTROLLER for module in self.every_module())

    def every_device(self) -> Iterator[Module]:
        """Yield all modules except scenes."""
        return (module for module in self.every_module() if module.kind is not DeviceKind.SCENE)
