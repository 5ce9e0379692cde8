"""Home control (deprecated): plugs, consumption, remotes and topology (E1-E4, X5, Spec 2.6, 2.12, 2.13)."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from domogate.common.http_messages import Answer
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, Fault, ValueOutOfRange
from domogate.domain.ids import HEX32
from domogate.domain.people import GrantType, Scope, TokenKind
from domogate.domain.plants import Ambient, Module, Plant
from domogate.domain.states import Battery, PlugState, Reading, RemoteState, Unit
from domogate.families._call import Call, ReadServices, Services
from domogate.families._errors import shape_a
from domogate.families._family import DEPRECATED, POST, Family, Operation, any_of
from domogate.families._plants import answer_plants, plants_operation, topology_operation
from domogate.families._wire import EMPTY_ANSWER, Hex32, cached_answer, json_answer, print_time
from domogate.services.audit import AuditAction, note_command, note_done
from domogate.services.plants.read_model import PlantView

_DEVICES: dict[DeviceKind, Literal["plug", "heater", "light", "automation", "energymeter", "remote"]] = {
    DeviceKind.PLUG: "plug",
    DeviceKind.HEATER: "heater",
    DeviceKind.LIGHT: "light",
    DeviceKind.AUTOMATION: "automation",
    DeviceKind.ENERGYMETER: "energymeter",
    DeviceKind.REMOTE: "remote",
}
_PLUG_ORDERS = {"on": True, "off": False}
_BATTERIES: dict[Battery, Literal["full", "high", "medium", "low", "very_low", "unknown"]] = {
    Battery.FULL: "full",
    Battery.HIGH: "high",
    Battery.MEDIUM: "medium",
    Battery.LOW: "low",
    Battery.VERY_LOW: "very_low",
    Battery.UNKNOWN: "unknown",
}
_CONSUMPTION_UNITS: dict[Unit, Literal["watt", "watt_hour"]] = {Unit.WATT: "watt", Unit.WATT_HOUR: "watt_hour"}

print_id = HEX32.print_id


class PlugOrder(msgspec.Struct, frozen=True):
    """The body of a request E1: whether the plugs are switched on or off."""

    status: Annotated[str, Meta(extra_json_schema={"enum": list(_PLUG_ORDERS)})]


class WireModule(msgspec.Struct, omit_defaults=True):
    id: Hex32
    name: str
    hw_type: str
    device: Literal["plug", "heater", "light", "automation", "energymeter", "remote"]
    type: str | UnsetType = UNSET


class WireAmbient(msgspec.Struct):
    id: Hex32
    name: str
    type: str
    modules: list[WireModule]


class WirePlant(msgspec.Struct):
    id: Hex32
    ambients: list[WireAmbient]
    modules: list[WireModule]


class PlantTopology(msgspec.Struct):
    """The body of the answer to E3: the topology of a plant. `plant` has the form of Spec 2.6."""

    plant: WirePlant


class PlantSummary(msgspec.Struct):
    """A plant in the short list (Spec 2.3), with ids in this family's spelling. `country` is added, because an existing
    application fails without it. It is empty if the country is not known.
    """

    id: Hex32
    name: str
    type: str
    country: str


class Plants(msgspec.Struct):
    """The body of the answer to X5: the plants of the user."""

    plants: list[PlantSummary]


class ModuleRef(msgspec.Struct):
    id: Hex32


class PlantRef(msgspec.Struct):
    module: ModuleRef


class RemoteSender(msgspec.Struct):
    plant: PlantRef


class Remote(msgspec.Struct, omit_defaults=True):
    battery: Literal["full", "high", "medium", "low", "very_low", "unknown"]
    reachable: bool | UnsetType = UNSET
    sender: RemoteSender | UnsetType = UNSET
    fw: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)] | UnsetType = UNSET


class RemoteStatus(msgspec.Struct):
    """The body of the answer to E2: the status of one remote (Spec 2.12)."""

    remotes: list[Remote]


class Consumption(msgspec.Struct, omit_defaults=True):
    unit: Literal["watt", "watt_hour"]
    value: Annotated[int, Meta(ge=0, le=100_000)]
    timestamp: str | UnsetType = UNSET


class Consumptions(msgspec.Struct):
    """The body of the answer to E4: the consumption of one plug (Spec 2.13)."""

    consumptions: list[Consumption]


async def switch_plugs(services: Services, call: Call) -> Answer:
    order: PlugOrder = call.body
    on = _PLUG_ORDERS.get(order.status)
    if on is None:
        raise ValueOutOfRange("status must be on or off")
    what, user_id = f"E1 plugs {order.status} in ambient:{call.ambient.id}", call.principal.user_id
    try:
        await services.control.switch_plugs(call.plant.plant.id, call.ambient, on=on, by=user_id)
    except Fault as fault:
        note_command(services.audit, user_id, what, fault, call.address)
        raise
    note_done(services.audit, call, AuditAction.COMMAND, what)
    return EMPTY_ANSWER


async def read_remote(services: ReadServices, call: Call) -> Answer:
    view, is_offline = call.module, False
    # An offline remote does not cause a fault: the answer has `reachable` false and the last known state (Decision 0008).
    if services.control.find_fresh(view) is None:
        try:
            await services.control.refresh(view)
        except DeviceOffline:
            is_offline = True
    state = view.state if isinstance(view.state, RemoteState) else RemoteState(battery=Battery.UNKNOWN)
    return json_answer(
        RemoteStatus(
            [
                Remote(
                    battery=_BATTERIES[state.battery],
                    reachable=view.reachable and not is_offline,
                    sender=RemoteSender(PlantRef(ModuleRef(print_id(view.module.id)))),
                    fw=UNSET if state.firmware is None else state.firmware,
                )
            ]
        )
    )


async def read_topology(_: ReadServices, call: Call) -> Answer:
    return cached_answer(call.plant.encodings, "E3", lambda: PlantTopology(_plant_to_wire(call.plant)))


async def list_plants(services: ReadServices, call: Call) -> Answer:
    def to_wire(plants: Sequence[Plant]) -> Plants:
        return Plants([PlantSummary(print_id(plant.id), plant.name, plant.type, plant.country or "") for plant in plants])

    return await answer_plants(services, call, "X5", to_wire)


async def read_consumptions(services: ReadServices, call: Call) -> Answer:
    state = services.control.find_fresh(call.module) or await services.control.read_state(call.module)
    assert isinstance(state, PlugState)
    readings = [reading for reading in (state.power, state.energy) if reading is not None]
    return json_answer(Consumptions([_consumption_to_wire(reading) for reading in readings]))


def _consumption_to_wire(reading: Reading) -> Consumption:
    return Consumption(
        unit=_CONSUMPTION_UNITS[reading.unit],
        value=min(100_000, max(0, round(reading.value))),
        timestamp=print_time(reading.at),
    )


def _plant_to_wire(view: PlantView) -> WirePlant:
    return WirePlant(
        id=print_id(view.plant.id),
        ambients=[_ambient_to_wire(ambient) for ambient in view.topology.every_ambient()],
        modules=_modules_to_wire(view.topology.modules),
    )


def _ambient_to_wire(ambient: Ambient) -> WireAmbient:
    return WireAmbient(print_id(ambient.id), ambient.name, ambient.type, _modules_to_wire(ambient.modules))


def _modules_to_wire(modules: tuple[Module, ...]) -> list[WireModule]:
    return [
        WireModule(
            id=print_id(module.id),
            name=module.name,
            hw_type=module.hardware.hw_type,
            device=_DEVICES[module.kind],
            type=UNSET if module.type is None else module.type,
        )
        for module in modules
        if module.kind in _DEVICES
    ]


_ERRORS = frozenset({400, 403, 404, 406, 500})

FAMILY = Family(
    name="home control",
    slug="homectl",
    prefix="/homectl/api/v1.0",
    lifecycle=DEPRECATED,
    tokens=frozenset({TokenKind.ACCESS}),
    grants=frozenset({GrantType.AUTHORIZATION_CODE}),
    ids=HEX32,
    error_shape=shape_a,
    operations=(
        Operation(
            id="E1",
            summary="Set plug status on an ambient",
            method=POST,
            path="plug/energy/addressLocation/plants/{plantId:plant}/ambients/parameter/id/value/{ambientId:ambient}",
            handler=switch_plugs,
            scopes=any_of(Scope.PLUG_WRITE),
            kinds=frozenset({DeviceKind.PLUG}),
            body=PlugOrder,
            errors=_ERRORS,
        ),
        Operation(
            id="E2",
            summary="Get remote status",
            path="remote/remote/addressLocation/plants/{plantId:plant}/modules/parameter/id/value/{moduleId:module}",
            handler=read_remote,
            scopes=any_of(Scope.TOPOLOGY_READ),
            kinds=frozenset({DeviceKind.REMOTE}),
            answer=RemoteStatus,
            errors=_ERRORS,
        ),
        topology_operation("E3", read_topology, PlantTopology, _ERRORS),
        Operation(
            id="E4",
            summary="Get plug consumptions",
            path="plug/energy/addressLocation/plants/{plantId:plant}/modules/parameter/id/value/{moduleId:module}/consumptions",
            handler=read_consumptions,
            scopes=any_of(Scope.PLUG_READ),
            kinds=frozenset({DeviceKind.PLUG}),
            answer=Consumptions,
            errors=_ERRORS,
        ),
        plants_operation("X5", list_plants, Plants, _ERRORS, extension="E3 needs a plant id, and this list shows it"),
    ),
)
