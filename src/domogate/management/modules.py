"""Operations on modules: show their last known states, and send commands to them."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from domogate.domain.devices import DeviceKind
from domogate.domain.faults import Fault, ValueOutOfRange
from domogate.domain.ids import Id
from domogate.domain.plants import Ambient, PlantStatus
from domogate.domain.reachability import AbsenceReason
from domogate.http_api.operations import OperationTable, RequestHeader
from domogate.http_api.paging import Listing, Page, first_page, page_of
from domogate.http_api.requests import read_optional_id
from domogate.management.orders import OrderOut, order_out
from domogate.management.services import ManagementServices, OperatorCall
from domogate.ports import ModuleFilter, PlacedModule
from domogate.services.audit import AuditAction, note_command
from domogate.services.plants.read_model import ModuleView, PlantView
from domogate.services.refusals import Conflict, NotFound, Reason
from domogate.wire import JsonObject, OutputModel
from domogate.wire.commands import CommandBody, to_command, word_of
from domogate.wire.states import AbsenceOut, StateOut, state_out

OPERATIONS = OperationTable("modules")

_IDEMPOTENCY_KEY = RequestHeader(
    "Idempotency-Key",
    "A request that is sent again with the same key is not carried out again; it gets the same answer.",
    max_length=128,
)


class ModuleOut(OutputModel, frozen=True):
    """A module and its last known state.

    `reportedAt` is null if no report confirms the state, for example because the state comes from the estate file.
    `simulated` is true if the device does not exist: its states and readings are invented.
    """

    id: str
    name: str
    kind: DeviceKind
    driver: str
    options: JsonObject
    simulated: bool
    ambient_id: str | None
    ambient: str | None
    state: StateOut | None
    reachable: bool
    absence: AbsenceOut | None
    reported_at: datetime | None


def module_out(view: ModuleView, ambient: Ambient | None) -> ModuleOut:
    return ModuleOut.of(
        view,
        view.module,
        simulated=view.module.is_simulated,
        ambient_id=None if ambient is None else ambient.id,
        ambient=None if ambient is None else ambient.name,
        state=None if view.state is None else state_out(view.state),
        reported_at=view.reported_at or None,
    )


class ModuleInPlantOut(ModuleOut, frozen=True):
    """A module of any plant, with the id and the name of the plant."""

    plant_id: str
    plant: str


def _in_plant_out(found: PlacedModule) -> ModuleInPlantOut:
    stored = found.stored
    return ModuleInPlantOut.of(
        found.module,
        found.place,
        stored,
        simulated=found.module.is_simulated,
        state=None if stored.state is None else state_out(stored.state),
        reported_at=stored.at or None,
    )


class ModuleSearch(Page, frozen=True, forbid_unknown_fields=True, rename="camel"):
    text: Annotated[
        str, Meta(max_length=200, description="Every word must be in the name of the module, its ambient or its plant.")
    ] = ""
    plant_id: Annotated[str, Meta(description="Only modules of this plant.")] | None = None
    ambient_id: Annotated[str, Meta(description="Only modules in this ambient.")] | None = None
    kind: Annotated[DeviceKind, Meta(description="Only modules of this kind.")] | None = None
    driver: Annotated[str, Meta(max_length=50, description="Only modules of this driver.")] | None = None
    reachable: Annotated[bool, Meta(description="Only modules that can be reached, or only those that cannot.")] | None = None
    reason: Annotated[AbsenceReason, Meta(description="Only modules that cannot be reached for this reason.")] | None = None


class ModulePage(Page, frozen=True, forbid_unknown_fields=True):
    kind: Annotated[DeviceKind, Meta(description="Only modules of this kind.")] | None = None
    reachable: Annotated[bool, Meta(description="Only modules that can be reached, or only those that cannot.")] | None = None


@OPERATIONS.add(
    "GET /plants/{plantId}/modules",
    "The modules of a plant, sorted by id, with their states; for a module that cannot be reached, also the reason",
)
async def list_modules(services: ManagementServices, call: OperatorCall, query: ModulePage) -> Listing[ModuleOut]:
    plant = await find_plant(services, call)
    ambient_of = _ambients(plant)
    wanted = [
        view
        for view in plant.modules.values()
        if query.kind in (None, view.module.kind) and query.reachable in (None, view.reachable)
    ]
    return page_of(wanted, query, lambda view: view.module.id, lambda view: module_out(view, ambient_of.get(view.module.id)))


@OPERATIONS.add("GET /modules", "The modules of all plants, sorted by id, with their plants, ambients and states; with filters")
async def list_all_modules(services: ManagementServices, _call: OperatorCall, query: ModuleSearch) -> Listing[ModuleInPlantOut]:
    wanted = ModuleFilter(
        query.text,
        read_optional_id("query", "plantId", query.plant_id),
        read_optional_id("query", "ambientId", query.ambient_id),
        query.kind,
        query.driver,
        query.reachable,
        query.reason,
    )
    after = read_optional_id("query", "after", query.after)
    found = await services.store.search_modules(wanted, after, query.limit + 1)
    return first_page(found, query.limit, lambda one: one.module.id, _in_plant_out)


@OPERATIONS.add("GET /plants/{plantId}/modules/{moduleId}", "One module and its last known state")
async def get_module(services: ManagementServices, call: OperatorCall) -> ModuleOut:
    plant = await find_plant(services, call)
    return _show(plant, find_module(plant, call))


async def show_module(services: ManagementServices, plant_id: Id, module_id: Id) -> ModuleOut:
    plant = await _get_plant(services, plant_id)
    return _show(plant, _get_module(plant, module_id))


@OPERATIONS.add(
    "POST /plants/{plantId}/modules/{moduleId}/commands",
    "Send a command to a module; the answer comes at most 0.25 s after the device deadline and has the result",
    header=_IDEMPOTENCY_KEY,
    errors=(409,),
)
async def command_module(services: ManagementServices, call: OperatorCall, body: CommandBody) -> OrderOut:
    """Send a command to a module.

    If the device does not execute the command, the answer is still 200: the state of the order says what happened.
    """
    plant = await find_served_plant(services, call)
    view = find_module(plant, call)
    module = view.module
    command = to_command(body, module, view.state, services.clock.now())
    what, user_id = f"management {word_of(command)}:{module.id}", call.caller.user_id
    try:
        record = await services.devices.control.order(plant.plant.id, module.id, command, key=call.header, by=user_id)
    except Fault as fault:
        note_command(services.audit, user_id, what, fault, call.address)
        raise
    note_command(services.audit, user_id, what, record, call.address)
    return order_out(record)


@OPERATIONS.add(
    "POST /plants/{plantId}/modules/{moduleId}/run",
    "Run a scene; listOrders shows the results of its steps",
    errors=(400, 409),
)
async def run_scene(services: ManagementServices, call: OperatorCall) -> None:
    plant = await find_served_plant(services, call)
    module = find_module(plant, call).module
    if module.kind is not DeviceKind.SCENE:
        raise ValueOutOfRange(f"only a scene can be run; this is a module of kind {module.kind}")
    await services.devices.scenes.run_scene(plant.plant.id, module, by=call.caller.user_id)
    services.people.note(AuditAction.COMMAND, call.caller, f"management run scene:{module.id}")


async def find_plant(services: ManagementServices, call: OperatorCall) -> PlantView:
    """Return the plant in the path, even if the plant is removed. Raises NotFound if there is no such plant."""
    return await _get_plant(services, call.id_of("plantId"))


async def _get_plant(services: ManagementServices, plant_id: Id) -> PlantView:
    plant = await services.devices.read_model.get_plant(plant_id)
    if plant is None:
        raise NotFound(f"There is no plant {plant_id}.")
    return plant


async def find_served_plant(services: ManagementServices, call: OperatorCall) -> PlantView:
    plant = await find_plant(services, call)
    if plant.plant.status is PlantStatus.REMOVED:
        raise Conflict("The plant is removed, so its devices are not driven. Bring the plant back first.", Reason.PLANT_REMOVED)
    return plant


def find_module(plant: PlantView, call: OperatorCall) -> ModuleView:
    return _get_module(plant, call.id_of("moduleId"))


def _get_module(plant: PlantView, module_id: Id) -> ModuleView:
    view = plant.modules.get(module_id)
    if view is None:
        raise NotFound(f"There is no module {module_id} in this plant.")
    return view


def _show(plant: PlantView, view: ModuleView) -> ModuleOut:
    return module_out(view, _ambients(plant).get(view.module.id))


def _ambients(plant: PlantView) -> dict[Id, Ambient]:
    return {module.id: ambient for ambient in plant.ambients.values() for module in ambient.modules}
