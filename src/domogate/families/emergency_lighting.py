"""Emergency lighting: sites, controllers and units with failures, spare parts (E17-E19, Spec 2.15)."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from domogate.common.http_messages import Answer
from domogate.domain.faults import NotASite, UnknownReference
from domogate.domain.people import Scope, TokenKind
from domogate.domain.plants import Plant
from domogate.domain.safety import Failure, FailureType, SparePartType
from domogate.families._call import Call, ReadServices
from domogate.families._family import Family, Operation, any_of
from domogate.families._plants import answer_plants, plants_operation
from domogate.families._wire import Uuid, json_answer, nothing_found, print_date_time
from domogate.services.safety.status import ControllerReport, UnitReport, list_controllers

WirePartType = Literal["Battery", "Emergency lamp"]

_PART_TYPES: dict[SparePartType, WirePartType] = {
    SparePartType.BATTERY: "Battery",
    SparePartType.EMERGENCY_LAMP: "Emergency lamp",
}

DateTime = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class Site(msgspec.Struct, rename="camel", omit_defaults=True):
    id: Uuid
    name: str
    country: Annotated[str, Meta(max_length=50)] | UnsetType = UNSET
    address: Annotated[str, Meta(max_length=500)] | UnsetType = UNSET
    zip_code: Annotated[str, Meta(max_length=20)] | UnsetType = UNSET


class WireFailure(msgspec.Struct, rename="camel"):
    flag: str
    failure_type: FailureType


class Unit(msgspec.Struct, rename="camel", omit_defaults=True):
    id: str
    reference: str
    status: int
    failures: list[WireFailure]
    last_status_update: DateTime | UnsetType = UNSET


class Controller(msgspec.Struct, rename="camel", omit_defaults=True):
    id: str
    name: str
    reference: str
    serial_number: str
    status: int
    failures: list[WireFailure]
    alert: bool
    alert_level: int
    children: list[Unit]
    last_status_update: DateTime | UnsetType = UNSET
    last_alert_update: DateTime | UnsetType = UNSET


class WirePart(msgspec.Struct):
    reference: str
    type: WirePartType
    quantity: str


async def list_sites(services: ReadServices, call: Call) -> Answer:
    def to_wire(sites: Sequence[Plant]) -> list[Site]:
        return [_site_to_wire(plant) for plant in sites]

    return await answer_plants(services, call, "E17", to_wire, is_listed=lambda plant: plant.emergency_lighting)


async def list_modules(_: ReadServices, call: Call) -> Answer:
    """List the controllers and units with their last known states. Raises NotASite if the plant is not a site.

    An offline module has the status 2 (no communication) and a communication failure (Decision 0008).
    """
    if not call.plant.plant.emergency_lighting:
        raise NotASite("siteId names a plant that is not an emergency lighting site")
    controllers = list_controllers(call.plant)
    if not controllers:
        return nothing_found()
    return json_answer([_controller_to_wire(controller) for controller in controllers])


async def list_spare_parts(services: ReadServices, call: Call) -> Answer:
    known = await services.read_model.get_spare_parts(call.reference)
    if known is None:
        raise UnknownReference("reference is not a known module reference")
    return json_answer([WirePart(part.reference, _PART_TYPES[part.type], part.quantity) for part in known.parts])


def _site_to_wire(plant: Plant) -> Site:
    return Site(
        id=plant.id,
        name=plant.name,
        country=UNSET if plant.country is None else plant.country,
        address=UNSET if plant.address is None else plant.address,
        zip_code=UNSET if plant.zip_code is None else plant.zip_code,
    )


def _controller_to_wire(controller: ControllerReport) -> Controller:
    return Controller(
        id=controller.id,
        name=controller.name,
        reference=controller.reference,
        serial_number=controller.serial_number,
        last_status_update=_when(controller.heard_at),
        status=controller.status,
        failures=_failures_to_wire(controller.failures),
        alert=controller.alert,
        last_alert_update=_when(controller.alert_changed_at),
        alert_level=controller.alert_level,
        children=[_unit_to_wire(unit) for unit in controller.units],
    )


def _unit_to_wire(unit: UnitReport) -> Unit:
    return Unit(
        id=unit.id,
        reference=unit.reference,
        last_status_update=_when(unit.heard_at),
        status=unit.status,
        failures=_failures_to_wire(unit.failures),
    )


def _failures_to_wire(failures: tuple[Failure, ...]) -> list[WireFailure]:
    return [WireFailure(failure.printed_flag, failure.type) for failure in failures]


def _when(at: float | None) -> str | UnsetType:
    return UNSET if at is None else print_date_time(at)


FAMILY = Family(
    name="emergency lighting",
    slug="emergency-lighting",
    prefix="/emergency-lighting",
    tokens=frozenset({TokenKind.ACCESS, TokenKind.ID}),
    operations=(
        plants_operation(
            "E17",
            list_sites,
            list[Site],
            frozenset({401}),
            scope=Scope.SAFETY_READ,
            summary="Get connected sites",
            path="sites",
        ),
        Operation(
            id="E18",
            summary="Get all modules of a site",
            path="sites/{siteId:plant}/modules",
            handler=list_modules,
            scopes=any_of(Scope.SAFETY_READ),
            answer=list[Controller],
            may_be_empty=True,
            errors=frozenset({400, 401}),
        ),
        Operation(
            id="E19",
            summary="Get spare parts for a unit reference",
            path="module/{reference:reference}/spare-parts",
            handler=list_spare_parts,
            scopes=any_of(Scope.SAFETY_READ),
            answer=list[WirePart],
            errors=frozenset({400, 401}),
        ),
    ),
)
