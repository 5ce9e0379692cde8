"""Door entry A: the topology of a plant with the capabilities of each device (E9, Spec 2.5)."""

from typing import Literal

import msgspec

from domogate.common.http_messages import Answer
from domogate.domain.devices import Capability, DeviceKind
from domogate.domain.plants import Module
from domogate.families._call import Call, ReadServices
from domogate.families._family import Family
from domogate.families._plants import topology_operation
from domogate.families._wire import Uuid, cached_answer
from domogate.services.plants.read_model import PlantView

_DEVICES: dict[DeviceKind, Literal["audiovideo unit", "gateway", "light", "lock", "activation"]] = {
    DeviceKind.AUDIOVIDEO_UNIT: "audiovideo unit",
    DeviceKind.GATEWAY: "gateway",
    DeviceKind.LIGHT: "light",
    DeviceKind.LOCK: "lock",
    DeviceKind.ACTIVATION: "activation",
}


class Doable(msgspec.Struct):
    do: bool


class CanDo(msgspec.Struct):
    command: Doable
    request: Doable
    notification: Doable


class WireCapability(msgspec.Struct, rename="camel"):
    capability: str
    can_do: CanDo


class WireModule(msgspec.Struct):
    device: Literal["audiovideo unit", "gateway", "light", "lock", "activation"]
    id: Uuid
    name: str
    capabilities: list[WireCapability]


class WirePlant(msgspec.Struct):
    id: Uuid
    name: str
    modules: list[WireModule]


class PlantTopology(msgspec.Struct):
    """The body of the answer to E9: the topology of a plant."""

    plant: WirePlant


async def read_topology(_: ReadServices, call: Call) -> Answer:
    return cached_answer(call.plant.encodings, "E9", lambda: PlantTopology(_plant_to_wire(call.plant)))


def _plant_to_wire(view: PlantView) -> WirePlant:
    """Return the JSON model of a plant.

    This family shows no rooms: one list has all modules of the kinds that the family shows.
    """
    modules = [_module_to_wire(module) for module in view.topology.every_module() if module.kind in _DEVICES]
    return WirePlant(view.plant.id, view.plant.name, modules)


def _module_to_wire(module: Module) -> WireModule:
    return WireModule(
        _DEVICES[module.kind], module.id, module.name, [_capability_to_wire(one) for one in module.hardware.capabilities]
    )


def _capability_to_wire(capability: Capability) -> WireCapability:
    return WireCapability(
        capability.name, CanDo(Doable(capability.command), Doable(capability.request), Doable(capability.notification))
    )


FAMILY = Family(
    name="door entry A",
    slug="doorentry-a",
    prefix="/doorentry-a/v1.0",
    operations=(topology_operation("E9", read_topology, PlantTopology, frozenset({400, 401, 404, 408, 469, 470, 500})),),
)
