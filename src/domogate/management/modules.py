"""Modules: what is known of each, and telling them what to do."""

from datetime import datetime
from typing import Annotated

import msgspec

from domogate.domain.commands import OrderState
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import ValueOutOfRange
from domogate.domain.ids import Id
from domogate.domain.plants import Ambient, PlantStatus
from domogate.management.commands import WrittenCommand, to_command, word_of
from domogate.management.operation import Call, Desk, Listing, Operation, Page, page_of
from domogate.management.orders import ShownOrder, show_order
from domogate.services.audit.log import AuditAction, AuditResult
from domogate.services.plants.read_model import ModuleView, PlantView
from domogate.services.refusals import Conflict, NotFound
from domogate.wire import Shown, moment
from domogate.wire.states import ShownAbsence, ShownState, show_absence, show_state


class ShownModule(Shown, frozen=True):
    """A module and what is last known of it. `reportedAt` is null where nothing but the estate file has spoken of it."""

    id: str
    name: str
    kind: DeviceKind
    driver: str
    ambient_id: str | None
    ambient: str | None
    state: ShownState | None
    reachable: bool
    absence: ShownAbsence | None
    reported_at: datetime | None


def show_module(view: ModuleView, ambient: Ambient | None) -> ShownModule:
    return ShownModule(
        id=view.module.id,
        name=view.module.name,
        kind=view.module.kind,
        driver=view.module.driver,
        ambient_id=None if ambient is None else ambient.id,
        ambient=None if ambient is None else ambient.name,
        state=None if view.state is None else show_state(view.state),
        reachable=view.reachable,
        absence=None if view.absence is None else show_absence(view.absence),
        reported_at=moment(view.reported_at) if view.reported_at else None,
    )


class ModulePage(Page, frozen=True, forbid_unknown_fields=True):
    kind: Annotated[DeviceKind, msgspec.Meta(description="Only modules of this kind.")] | None = None
    reachable: Annotated[bool, msgspec.Meta(description="Only those that can be reached, or that cannot.")] | None = None


async def list_modules(desk: Desk, call: Call) -> Listing[ShownModule]:
    query: ModulePage = call.query
    plant = await find_plant(desk, call)
    ambient_of = _ambients(plant)
    wanted = [
        view
        for view in plant.modules.values()
        if query.kind in (None, view.module.kind) and query.reachable in (None, view.reachable)
    ]
    views, following = page_of(wanted, query, lambda view: view.module.id)
    return Listing([show_module(view, ambient_of.get(view.module.id)) for view in views], following)


async def get_module(desk: Desk, call: Call) -> ShownModule:
    plant = await find_plant(desk, call)
    view = find_module(plant, call)
    return show_module(view, _ambients(plant).get(view.module.id))


async def command_module(desk: Desk, call: Call) -> ShownOrder:
    """A device that does not obey is no refusal: the order's record says so."""
    plant = await find_served_plant(desk, call)
    view = find_module(plant, call)
    module = view.module
    command = to_command(call.body, view, desk.clock.now())
    record = await desk.devices.control.order(plant.plant.id, module.id, command, key=call.key)
    confirmed = record.state is OrderState.CONFIRMED
    desk.audit.note(
        AuditAction.COMMAND,
        who=call.operator.id,
        what=f"management {word_of(command)}:{module.id}",
        result=AuditResult.OK if confirmed else AuditResult.FAILED,
        address=call.address,
        detail={"order": record.order.id, "state": record.state},
    )
    return show_order(record)


async def run_scene(desk: Desk, call: Call) -> None:
    plant = await find_served_plant(desk, call)
    module = find_module(plant, call).module
    if module.kind is not DeviceKind.SCENE:
        raise ValueOutOfRange(f"only a scene can be run, and this is a module of kind {module.kind}")
    await desk.devices.scenes.run_scene(plant.plant.id, module)
    desk.people.note(AuditAction.COMMAND, call.by, f"management run scene:{module.id}")


async def find_plant(desk: Desk, call: Call) -> PlantView:
    """Removed ones too. Raises NotFound."""
    plant_id = call.id_of("plantId")
    plant = await desk.devices.read_model.get_plant(plant_id)
    if plant is None:
        raise NotFound(f"There is no plant {plant_id}.")
    return plant


async def find_served_plant(desk: Desk, call: Call) -> PlantView:
    plant = await find_plant(desk, call)
    if plant.plant.status is PlantStatus.REMOVED:
        raise Conflict("The plant is removed and its devices are not driven; bring it back first.")
    return plant


def find_module(plant: PlantView, call: Call) -> ModuleView:
    module_id = call.id_of("moduleId")
    view = plant.modules.get(module_id)
    if view is None:
        raise NotFound(f"There is no module {module_id} in this plant.")
    return view


def _ambients(plant: PlantView) -> dict[Id, Ambient]:
    return {module.id: ambient for ambient in plant.ambients.values() for module in ambient.modules}


_MODULE = "/plants/{plantId}/modules/{moduleId}"

OPERATIONS = (
    Operation(
        id="listModules", tag="modules", summary="What stands in a plant, by id: states, and why something cannot be reached",
        method="GET", path="/plants/{plantId}/modules", handler=list_modules,
        query=ModulePage, answer=Listing[ShownModule], errors=frozenset({404}),
    ),
    Operation(
        id="getModule", tag="modules", summary="One module and what is last known of it",
        method="GET", path=_MODULE, handler=get_module, answer=ShownModule, errors=frozenset({404}),
    ),
    Operation(
        id="commandModule", tag="modules", summary="Tell a module what to do; what became of it, by its deadline",
        method="POST", path=f"{_MODULE}/commands", handler=command_module,
        body=WrittenCommand, takes_key=True, answer=ShownOrder, errors=frozenset({404, 409}),
    ),
    Operation(
        id="runScene", tag="modules", summary="Run a scene; what becomes of its steps is among the orders",
        method="POST", path=f"{_MODULE}/run", handler=run_scene, status=204, errors=frozenset({400, 404, 409}),
    ),
)  # fmt: skip
