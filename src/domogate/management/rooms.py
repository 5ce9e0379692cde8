"""Operations on the floors and ambients of a plant.

The answer to a change has the former values, with which a client can undo the change.
"""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from domogate.domain.plants import Ambient, Floor
from domogate.http_api.operations import OperationTable
from domogate.http_api.requests import read_change, read_optional_id
from domogate.management.modules import find_plant
from domogate.management.plants import note_change
from domogate.management.services import ManagementServices, OperatorCall
from domogate.services.plants.editing import TopologyDraft, new_ambient, new_floor
from domogate.wire import InputModel, Line, Name, OutputModel

OPERATIONS = OperationTable("rooms")

FloorId = Annotated[str, Meta(description="null: the ambient is on no floor.")]


class AmbientOut(OutputModel, frozen=True):
    """A room. `modules` is the number of its modules."""

    id: str
    name: str
    type: str
    floor_id: str | None
    modules: int


class NewAmbient(InputModel, frozen=True):
    name: Name
    type: Line = "other"
    floor_id: FloorId | None = None


class AmbientChange(InputModel, frozen=True, omit_defaults=True):
    name: Name | UnsetType = UNSET
    type: Line | UnsetType = UNSET
    floor_id: FloorId | UnsetType | None = UNSET


class FormerAmbientOut(OutputModel, frozen=True):
    name: str
    type: str
    floor_id: str | None


class ChangedAmbientOut(OutputModel, frozen=True):
    ambient: AmbientOut
    former: FormerAmbientOut


def _ambient_out(ambient: Ambient, floor_id: str | None) -> AmbientOut:
    return AmbientOut(ambient.id, ambient.name, ambient.type, floor_id, len(ambient.modules))


class FloorOut(OutputModel, frozen=True):
    id: str
    name: str
    ambients: tuple[AmbientOut, ...]


class NewFloor(InputModel, frozen=True):
    name: Name


class FormerFloorOut(OutputModel, frozen=True):
    name: str


class ChangedFloorOut(OutputModel, frozen=True):
    floor: FloorOut
    former: FormerFloorOut


def _floor_out(floor: Floor) -> FloorOut:
    return FloorOut(floor.id, floor.name, tuple(_ambient_out(ambient, floor.id) for ambient in floor.ambients))


class ContentOut(OutputModel, frozen=True):
    """The floors of a plant with their ambients, the ambients on no floor, and the number of modules in no ambient."""

    floors: tuple[FloorOut, ...]
    ambients: tuple[AmbientOut, ...]
    modules: int


@OPERATIONS.add("GET /plants/{plantId}/content", "The floors and ambients of a plant")
async def get_content(services: ManagementServices, call: OperatorCall) -> ContentOut:
    topology = (await find_plant(services, call)).topology
    return ContentOut(
        floors=tuple(map(_floor_out, topology.floors)),
        ambients=tuple(_ambient_out(ambient, None) for ambient in topology.ambients),
        modules=len(topology.modules),
    )


@OPERATIONS.add("POST /plants/{plantId}/floors", "Add a floor", status=201, errors=(409, 422))
async def create_floor(services: ManagementServices, call: OperatorCall, body: NewFloor) -> FloorOut:
    plant_id, floor = call.id_of("plantId"), new_floor(body.name)
    await services.editor.change_content(plant_id, lambda draft: draft.floors.update({floor.id: floor}))
    note_change(services, call, plant_id, "floor added", floor=floor.id)
    return _floor_out(floor)


@OPERATIONS.add("PATCH /plants/{plantId}/floors/{floorId}", "Rename a floor", errors=(409, 422))
async def change_floor(services: ManagementServices, call: OperatorCall, body: NewFloor) -> ChangedFloorOut:
    plant_id, floor_id = call.id_of("plantId"), call.id_of("floorId")

    def rename(draft: TopologyDraft) -> tuple[Floor, Floor]:
        before = draft.floor(floor_id)
        draft.floors[floor_id] = msgspec.structs.replace(before, name=body.name)
        return before, draft.floors[floor_id]

    before, after = await services.editor.change_content(plant_id, rename)
    note_change(services, call, plant_id, "floor changed", floor=floor_id)
    return ChangedFloorOut(_floor_out(after), FormerFloorOut(before.name))


@OPERATIONS.add("DELETE /plants/{plantId}/floors/{floorId}", "Delete a floor without ambients", errors=(409,))
async def delete_floor(services: ManagementServices, call: OperatorCall) -> None:
    plant_id, floor_id = call.id_of("plantId"), call.id_of("floorId")
    await services.editor.change_content(plant_id, lambda draft: draft.remove_floor(floor_id))
    note_change(services, call, plant_id, "floor deleted", floor=floor_id)


@OPERATIONS.add("POST /plants/{plantId}/ambients", "Add an ambient (a room)", status=201, errors=(409, 422))
async def create_ambient(services: ManagementServices, call: OperatorCall, body: NewAmbient) -> AmbientOut:
    plant_id, ambient = call.id_of("plantId"), new_ambient(body.name, body.type)
    floor_id = read_optional_id("body", "floorId", body.floor_id)
    await services.editor.change_content(plant_id, lambda draft: draft.put_ambient(ambient, floor_id))
    note_change(services, call, plant_id, "ambient added", ambient=ambient.id)
    return _ambient_out(ambient, floor_id)


@OPERATIONS.add("PATCH /plants/{plantId}/ambients/{ambientId}", "Change an ambient: its name, type or floor", errors=(409, 422))
async def change_ambient(services: ManagementServices, call: OperatorCall, body: AmbientChange) -> ChangedAmbientOut:
    plant_id, ambient_id = call.id_of("plantId"), call.id_of("ambientId")
    fields = read_change(body, "floor_id", "floorId")
    (before, on_floor), after = await services.editor.change_content(
        plant_id, lambda draft: draft.change_ambient(ambient_id, **fields)
    )
    note_change(services, call, plant_id, "ambient changed", ambient=ambient_id)
    return ChangedAmbientOut(_ambient_out(*after), FormerAmbientOut(before.name, before.type, on_floor))


@OPERATIONS.add("DELETE /plants/{plantId}/ambients/{ambientId}", "Delete an ambient without modules", errors=(409,))
async def delete_ambient(services: ManagementServices, call: OperatorCall) -> None:
    plant_id, ambient_id = call.id_of("plantId"), call.id_of("ambientId")
    await services.editor.change_content(plant_id, lambda draft: draft.remove_ambient(ambient_id))
    note_change(services, call, plant_id, "ambient deleted", ambient=ambient_id)
