"""Operations that create, change and delete modules.

The answer to a change has the former values, with which a client can undo the change.
"""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from domogate.domain.devices import Capability, DeviceKind, Metric
from domogate.domain.ids import new_id
from domogate.domain.plants import Module
from domogate.http_api.operations import OperationTable
from domogate.http_api.requests import read_change, read_optional_id
from domogate.management.modules import ModuleOut, show_module
from domogate.management.plants import note_change
from domogate.management.services import ManagementServices, OperatorCall
from domogate.services.plants.editing import internal_id_of
from domogate.wire import InputModel, JsonObject, Line, Name, OutputModel

OPERATIONS = OperationTable("modules")

AmbientId = Annotated[str, Meta(description="null: the module is in no ambient.")]
Options = Annotated[JsonObject, Meta(description="Options of the driver; getOptionsSchema describes them.")]


class NewHardware(InputModel, frozen=True):
    """Values of a module's hardware that differ from the usual values of its kind. The estate file has the same fields."""

    hw_type: str | None = None
    device_type: str | None = None
    metrics: tuple[Metric, ...] | None = None
    capabilities: tuple[Capability, ...] | None = None


class NewModule(InputModel, frozen=True):
    name: Name
    kind: DeviceKind
    driver: Line
    options: Options = {}
    ambient_id: AmbientId | None = None
    id: Annotated[str, Meta(description="A UUID that is not used yet. Default: a new one.")] | None = None
    hardware: NewHardware = NewHardware()

    def build(self) -> Module:
        """Return the new module. Raises Problem if the id is not a UUID."""
        identity = read_optional_id("body", "id", self.id) or new_id()
        return Module(
            identity,
            internal_id_of(identity),
            self.name,
            self.kind,
            self.driver,
            options=self.options,
            **msgspec.structs.asdict(self.hardware),
        )


class ModuleChange(InputModel, frozen=True, omit_defaults=True):
    name: Name | UnsetType = UNSET
    ambient_id: AmbientId | UnsetType | None = UNSET
    driver: Line | UnsetType = UNSET
    options: Options | UnsetType = UNSET


class FormerModuleOut(OutputModel, frozen=True):
    """A module's values before a change. A client undoes the change by sending these values as the body of another change."""

    name: str
    ambient_id: str | None
    driver: str
    options: JsonObject


class ChangedModuleOut(OutputModel, frozen=True):
    module: ModuleOut
    former: FormerModuleOut


@OPERATIONS.add("POST /plants/{plantId}/modules", "Add a module", status=201, errors=(409, 422))
async def create_module(services: ManagementServices, call: OperatorCall, body: NewModule) -> ModuleOut:
    plant_id, module = call.id_of("plantId"), body.build()
    ambient_id = read_optional_id("body", "ambientId", body.ambient_id)
    await services.editor.change_content(plant_id, lambda draft: draft.add_module(module, ambient_id))
    note_change(services, call, plant_id, "module added", module=module.id)
    return await show_module(services, plant_id, module.id)


@OPERATIONS.add(
    "PATCH /plants/{plantId}/modules/{moduleId}", "Change a module: its name, ambient, driver or options", errors=(409, 422)
)
async def change_module(services: ManagementServices, call: OperatorCall, body: ModuleChange) -> ChangedModuleOut:
    plant_id, module_id = call.id_of("plantId"), call.id_of("moduleId")
    fields = read_change(body, "ambient_id", "ambientId")
    before, ambient_id = await services.editor.change_content(plant_id, lambda draft: draft.change_module(module_id, **fields))
    note_change(services, call, plant_id, "module changed", module=module_id)
    former = FormerModuleOut(before.name, ambient_id, before.driver, before.options)
    return ChangedModuleOut(await show_module(services, plant_id, module_id), former)


@OPERATIONS.add(
    "DELETE /plants/{plantId}/modules/{moduleId}",
    "Delete a module with its state and its readings; refused while a scene or another module needs it",
    errors=(409, 422),
)
async def delete_module(services: ManagementServices, call: OperatorCall) -> None:
    plant_id, module_id = call.id_of("plantId"), call.id_of("moduleId")
    await services.editor.change_content(plant_id, lambda draft: draft.remove_module(module_id))
    note_change(services, call, plant_id, "module deleted", module=module_id)
