"""Home automation: plants, topology, light status, scenes (E5-E8, Spec 2.2, 2.4, 2.7), and switching lights (X2)."""

from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from domogate.common.http_messages import Answer
from domogate.domain.devices import DeviceKind, MetricType
from domogate.domain.faults import ValueOutOfRange
from domogate.domain.people import Scope
from domogate.domain.plants import Ambient, Floor, Module, Plant, PlantStatus, PlantType
from domogate.domain.states import LightState
from domogate.families._call import Call, ReadServices, Services
from domogate.families._family import POST, Family, Operation, any_of
from domogate.families._orders import LIGHT_BODY, light_command, send_command
from domogate.families._plants import (
    AllowedUser,
    Digits,
    InvitedUser,
    LongText,
    ShortText,
    allowed_to_wire,
    digits_to_wire,
    invited_to_wire,
    plants_operation,
    topology_operation,
)
from domogate.families._wire import EMPTY_ANSWER, Uuid, cached_answer, find_state_answer, keep_state_answer, nothing_found
from domogate.services.audit import AuditAction, note_done
from domogate.services.plants.read_model import PlantView
from domogate.services.rights.access import list_own_plants

WireType = Literal["Hotel", "House", "Office", "Hospital"]

_TYPES: dict[PlantType, WireType] = {
    PlantType.HOTEL: "Hotel",
    PlantType.HOUSE: "House",
    PlantType.OFFICE: "Office",
    PlantType.HOSPITAL: "Hospital",
}
_STATUSES: dict[PlantStatus, Literal["Active", "Removed"]] = {PlantStatus.ACTIVE: "Active", PlantStatus.REMOVED: "Removed"}
_DEVICES: dict[DeviceKind, tuple[Literal["Light", "Automation", "Scene"], Literal["Lighting", "Automation", "Scene"]]] = {
    DeviceKind.LIGHT: ("Light", "Lighting"),
    DeviceKind.AUTOMATION: ("Automation", "Automation"),
    DeviceKind.SCENE: ("Scene", "Scene"),
}
_METRIC_TYPES: dict[MetricType, Literal["Text", "Number", "Object"]] = {
    MetricType.TEXT: "Text",
    MetricType.NUMBER: "Number",
    MetricType.OBJECT: "Object",
}


class SceneOrder(msgspec.Struct, frozen=True):
    """The body of a request E5, which starts a scene."""

    status: Annotated[str, Meta(extra_json_schema={"enum": ["run"]})]


class WirePlant(msgspec.Struct, rename="camel", omit_defaults=True):
    """A plant in the answer to E6 (Spec 2.2)."""

    id: str
    owner_id: str
    name: ShortText
    type: WireType
    status: Literal["Active", "Removed"]
    allowed_users: list[AllowedUser]
    invited_users: list[InvitedUser]
    country: ShortText | UnsetType = UNSET
    zip_code: Digits | UnsetType = UNSET
    address: LongText | UnsetType = UNSET


class Plants(msgspec.Struct):
    """The body of the answer to E6: the plants of the user."""

    plants: list[WirePlant]


class WireMetric(msgspec.Struct, rename="camel"):
    label: str
    metric_type: Literal["Text", "Number", "Object"]


class WireModule(msgspec.Struct, rename="camel"):
    device: Literal["Light", "Automation", "Scene"]
    system: Literal["Lighting", "Automation", "Scene"]
    id: Uuid
    internal_id: Uuid
    name: str
    device_type: str
    metrics: list[WireMetric]


class WireAmbient(msgspec.Struct, rename="camel"):
    id: Uuid
    internal_id: Uuid
    name: str
    modules: list[WireModule]


class WireFloor(msgspec.Struct, rename="camel"):
    id: Uuid
    internal_id: Uuid
    name: str
    ambients: list[WireAmbient]


class PlantInside(msgspec.Struct, rename="camel"):
    """A plant with its contents (Spec 2.4).

    `ambients` are the ambients without a floor, `modules` the modules without an ambient.
    """

    id: Uuid
    internal_id: Uuid
    name: str
    type: WireType
    floors: list[WireFloor]
    ambients: list[WireAmbient]
    modules: list[WireModule]


class PlantTopology(msgspec.Struct):
    """The body of the answer to E7: the topology of a plant."""

    plant: PlantInside


class ColorHSV(msgspec.Struct):
    H: Annotated[float, Meta(ge=0, le=360)]
    S: Annotated[float, Meta(ge=0, le=100)]
    V: Annotated[float, Meta(ge=0, le=100)]


class SenderModule(msgspec.Struct, rename="camel"):
    id: Uuid
    name: str
    device_type: str


class SenderPlant(msgspec.Struct):
    id: Uuid
    name: ShortText
    type: WireType
    module: SenderModule


class LightSender(msgspec.Struct, rename="camel"):
    address_type: str
    system: str
    plant: SenderPlant


class Light(msgspec.Struct, rename="camel", omit_defaults=True):
    """A light in an answer (Spec 2.7)."""

    status: Literal["on", "off"]
    sender: LightSender
    level: Annotated[int, Meta(ge=0, le=100)] | UnsetType = UNSET
    color: ColorHSV | UnsetType = msgspec.field(name="colorHSV", default=UNSET)


class Lights(msgspec.Struct):
    """The body of the answer to E8: the status of one light."""

    lights: list[Light]


async def run_scene(services: Services, call: Call) -> Answer:
    order: SceneOrder = call.body
    if order.status != "run":
        raise ValueOutOfRange("status must be run")
    await services.scenes.run_scene(call.plant.plant.id, call.module.module, by=call.principal.user_id)
    note_done(services.audit, call, AuditAction.COMMAND, f"E5 run scene:{call.module.module.id}")
    return EMPTY_ANSWER


async def list_plants(services: ReadServices, call: Call) -> Answer:
    person = await services.read_model.get_person(call.principal.user_id)
    now = services.clock.now()
    own = list_own_plants(
        person.plants, call.principal.user_id, call.principal.plants, now, removed_since=now - services.removed_plants_kept
    )
    if not own.plants:
        return nothing_found()
    # A removed plant leaves the list after some time, without a change in the store. So the cache key has the omitted plants.
    return cached_answer(
        person.encodings, f"E6 {own.left_out}", lambda: Plants([_plant_to_wire(plant) for plant in own.plants])
    )


async def read_topology(_: ReadServices, call: Call) -> Answer:
    return cached_answer(call.plant.encodings, "E7", lambda: PlantTopology(_topology_to_wire(call.plant)))


async def read_light(services: ReadServices, call: Call) -> Answer:
    state = services.control.find_fresh(call.module) or await services.control.read_state(call.module)
    assert isinstance(state, LightState)
    encodings = call.module.encodings
    return find_state_answer(encodings, "E8", state) or keep_state_answer(
        encodings, "E8", state, Lights([_light_to_wire(state, call)])
    )


async def set_light(services: Services, call: Call) -> Answer:
    command = light_command(call.body)
    await send_command(services, call, command, f"X2 set light:{call.module.module.id}")
    return EMPTY_ANSWER


def _light_to_wire(state: LightState, call: Call) -> Light:
    plant, module, color = call.plant.plant, call.module.module, state.color
    of_plant = SenderPlant(
        id=plant.id,
        name=plant.name,
        type=_TYPES[plant.type],
        module=SenderModule(module.id, module.name, module.hardware.device_type),
    )
    return Light(
        status="on" if state.on else "off",
        level=UNSET if state.level is None else state.level,
        color=UNSET if color is None else ColorHSV(color.hue, color.saturation, color.value),
        sender=LightSender("addressLocation", "lighting", of_plant),
    )


def _plant_to_wire(plant: Plant) -> WirePlant:
    return WirePlant(
        id=plant.id,
        owner_id=plant.owner.user_id,
        name=plant.name,
        type=_TYPES[plant.type],
        status=_STATUSES[plant.status],
        country=UNSET if plant.country is None else plant.country,
        zip_code=digits_to_wire(plant.zip_code),
        address=UNSET if plant.address is None else plant.address,
        allowed_users=allowed_to_wire(plant),
        invited_users=invited_to_wire(plant),
    )


def _topology_to_wire(view: PlantView) -> PlantInside:
    plant = view.plant
    return PlantInside(
        id=plant.id,
        internal_id=plant.internal_id,
        name=plant.name,
        type=_TYPES[plant.type],
        floors=[_floor_to_wire(floor) for floor in view.topology.floors],
        ambients=[_ambient_to_wire(ambient) for ambient in view.topology.ambients],
        modules=_modules_to_wire(view.topology.modules),
    )


def _floor_to_wire(floor: Floor) -> WireFloor:
    return WireFloor(floor.id, floor.internal_id, floor.name, [_ambient_to_wire(ambient) for ambient in floor.ambients])


def _ambient_to_wire(ambient: Ambient) -> WireAmbient:
    return WireAmbient(ambient.id, ambient.internal_id, ambient.name, _modules_to_wire(ambient.modules))


def _modules_to_wire(modules: tuple[Module, ...]) -> list[WireModule]:
    return [_module_to_wire(module) for module in modules if module.kind in _DEVICES]


def _module_to_wire(module: Module) -> WireModule:
    device, system = _DEVICES[module.kind]
    hardware = module.hardware
    return WireModule(
        device=device,
        system=system,
        id=module.id,
        internal_id=module.internal_id,
        name=module.name,
        device_type=hardware.device_type,
        metrics=[WireMetric(metric.label, _METRIC_TYPES[metric.type]) for metric in hardware.metrics],
    )


_LIGHT = "light/lighting/addressLocation/plants/{plantid:plant}/modules/parameter/id/value/{moduleid:module}"
_light_operation = partial(Operation, path=_LIGHT, kinds=frozenset({DeviceKind.LIGHT}), errors=frozenset({400, 401, 403, 404}))

FAMILY = Family(
    name="home automation",
    slug="homeauto",
    prefix="/homeauto/v1.0",
    operations=(
        Operation(
            id="E5",
            summary="Run a scene",
            method=POST,
            path="scene/comfort/addressLocation/plants/{plantid:plant}/modules/parameter/id/value/{moduleid:module}",
            handler=run_scene,
            scopes=any_of(Scope.SCENE_LAUNCH, Scope.SCENE_WRITE),
            kinds=frozenset({DeviceKind.SCENE}),
            body=SceneOrder,
            errors=frozenset({400, 401, 403, 404, 442}),
        ),
        plants_operation("E6", list_plants, Plants, frozenset({400, 401}), summary="Get all plants"),
        topology_operation("E7", read_topology, PlantTopology, frozenset({401, 403, 404})),
        _light_operation(
            id="E8", summary="Get light status", handler=read_light, scopes=any_of(Scope.LIGHT_READ), answer=Lights
        ),
        _light_operation(
            id="X2",
            extension="E8 only reads a light; this operation sets it",
            summary="Set light status",
            method=POST,
            handler=set_light,
            scopes=any_of(Scope.LIGHT_WRITE),
            body=LIGHT_BODY,
        ),
    ),
)
