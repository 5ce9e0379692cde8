"""Operations that let a driver search for devices, and that add the found devices to the rooms of a plant."""

from typing import Annotated

from msgspec import Meta

from domogate.domain.devices import DeviceKind
from domogate.domain.discovery import DiscoveryFailed
from domogate.http_api.operations import OperationTable
from domogate.http_api.problems import Problem
from domogate.http_api.requests import not_as_expected, read_id, read_optional_id
from domogate.management.module_changes import NewModule
from domogate.management.plants import note_change
from domogate.management.services import ManagementServices, OperatorCall
from domogate.services.plants.editing import TopologyDraft
from domogate.services.plants.placing import parse_pattern, place_modules
from domogate.wire import InputModel, JsonObject, Line, OutputModel

OPERATIONS = OperationTable("discovery")

MOST_MODULES = 1_000
"""The greatest number of modules in an answer, or in the body of a request."""
_MAX_BODY = 4 * 1024 * 1024


class DiscoveryRequest(InputModel, frozen=True):
    driver: Line = "mqtt"
    connection: Annotated[str, Meta(description="The name of a broker in the settings. Default: the only one.")] | None = None
    seconds: Annotated[float, Meta(ge=0.1, le=30, description="How long to listen.")] = 3.0
    base: (
        Annotated[
            str,
            Meta(
                max_length=200,
                description="The base topic of Zigbee2MQTT. It is needed only if it contains a slash; other base topics are "
                "found without it.",
            ),
        ]
        | None
    ) = None


class ModulePlaceOut(OutputModel, frozen=True):
    plant_id: str
    plant: str
    ambient_id: str | None
    ambient: str | None


class FoundModuleOut(OutputModel, frozen=True):
    """A device that was found.

    If the device is already a module of a plant, `place` names the plant and the ambient of this module. `about` is the
    description of the device.
    """

    id: str
    name: str
    kind: DeviceKind
    driver: str
    options: JsonObject
    hardware: JsonObject
    about: str
    place: ModulePlaceOut | None


class SkippedDeviceOut(OutputModel, frozen=True):
    name: str
    why: str


class DiscoveryOut(OutputModel, frozen=True):
    """The result of a search for devices.

    `found` has the first 1000 devices that can be modules; `total` is the number of all such devices.

    `skipped` has the first 1000 devices that cannot be modules.
    """

    found: tuple[FoundModuleOut, ...]
    skipped: tuple[SkippedDeviceOut, ...]
    total: int


class NewPlacement(InputModel, frozen=True):
    modules: Annotated[tuple[NewModule, ...], Meta(min_length=1, max_length=MOST_MODULES)]
    pattern: (
        Annotated[
            str,
            Meta(
                max_length=200,
                description="Chooses rooms for modules without ambientId: '{room}_*' puts 101_lamp into Room 101, as Lamp.",
            ),
        ]
        | None
    ) = None


class _NewModuleOut(OutputModel, frozen=True):
    id: str
    name: str


class ModuleInRoomOut(_NewModuleOut, frozen=True):
    ambient_id: str | None


class UnplacedModuleOut(_NewModuleOut, frozen=True):
    why: str


class PlacementOut(OutputModel, frozen=True):
    """The result of adding found devices to a plant.

    `placed` has the modules that were added. `known` has the ids of the modules that the plant already had. `left` has the
    modules that were not added, because no room was found for them. The field `why` of each module in `left` says why.
    """

    placed: tuple[ModuleInRoomOut, ...]
    known: tuple[str, ...]
    left: tuple[UnplacedModuleOut, ...]


class ModuleDeletion(InputModel, frozen=True):
    ids: Annotated[tuple[str, ...], Meta(min_length=1, max_length=MOST_MODULES)]


@OPERATIONS.add(
    "POST /discoveries",
    "Let a driver search for devices, for example for the devices that an MQTT broker announces",
    errors={409: "Another search is running", 422: "", 502: "The broker cannot be used"},
)
async def discover(services: ManagementServices, _call: OperatorCall, body: DiscoveryRequest) -> DiscoveryOut:
    try:
        result = await services.drivers.discover(body.driver, body.connection, body.seconds, body.base)
    except DiscoveryFailed as failed:
        raise Problem(502, str(failed)) from None
    shown = result.found[:MOST_MODULES]
    places = await services.store.find_places([one.id for one in shown])
    found = [FoundModuleOut.of(one, driver=body.driver, place=places.get(one.id)) for one in shown]
    return DiscoveryOut(tuple(found), tuple(map(SkippedDeviceOut.of, result.skipped[:MOST_MODULES])), len(result.found))


@OPERATIONS.add(
    "POST /plants/{plantId}/placements",
    "Add several modules to a plant, in the given ambients, or in ambients that a pattern finds by the names of the modules",
    errors=(409, 422),
    max_body=_MAX_BODY,
)
async def create_placement(services: ManagementServices, call: OperatorCall, body: NewPlacement) -> PlacementOut:
    plant_id = call.id_of("plantId")
    try:
        pattern = None if body.pattern is None else parse_pattern(body.pattern)
    except ValueError as wrong:
        raise not_as_expected("body", wrong) from None
    modules = [(one.build(), read_optional_id("body", "ambientId", one.ambient_id)) for one in body.modules]
    placement = await services.editor.change_content(plant_id, lambda draft: place_modules(draft, modules, pattern))
    if placement.placed:
        note_change(services, call, plant_id, "modules placed", count=str(len(placement.placed)))
    return PlacementOut.of(placement)


@OPERATIONS.add(
    "POST /plants/{plantId}/module-deletions",
    "Delete several modules, for example to undo a placement; ids that the plant does not have are ignored",
    status=204,
    errors=(409, 422),
)
async def delete_modules(services: ManagementServices, call: OperatorCall, body: ModuleDeletion) -> None:
    plant_id = call.id_of("plantId")
    ids = [read_id("body", "ids", text) for text in body.ids]

    def remove(draft: TopologyDraft) -> int:
        return sum(draft.modules.pop(module_id, None) is not None for module_id in ids)

    if removed := await services.editor.change_content(plant_id, remove):
        note_change(services, call, plant_id, "modules deleted", count=str(removed))
