"""`domogate module …`: the modules of a plant, their last states, and why a module cannot be reached."""

from typing import Annotated

import click
import msgspec

from domogate.app import Tools
from domogate.cli._command import Mistake, command, group, reading
from domogate.cli._names import ModuleName, PlantName, find_module, find_plant
from domogate.cli._options import flag, option
from domogate.cli._output import AsJson, as_printed, describe_values, iso, note, print_json, print_list
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.states import State
from domogate.management.modules import module_out
from domogate.services.plants.read_model import ModuleView, PlantView
from domogate.settings import Settings

commands = group("module")


@command(commands, "list")
async def list_modules(
    settings: Settings,
    plant: PlantName,
    kind: Annotated[DeviceKind | None, option("KIND", "Only this kind: light, plug, chronothermostat … Default: all.")] = None,
    offline: Annotated[bool, flag("--offline", "Only modules that cannot be reached.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the modules of a plant with their last states, and why a module cannot be reached."""
    async with reading(settings) as tools:
        found = await _view(tools, (await find_plant(tools, plant)).id)
    views = [view for view in found.modules.values() if kind in (None, view.module.kind) and not (offline and view.reachable)]
    rooms = {module.id: ambient.name for ambient in found.ambients.values() for module in ambient.modules}
    rows = (
        (one.module.name, rooms.get(one.module.id), one.module.kind, one.module.driver, _reach(one), _state(one.state),
         _reported(one), one.module.id)
        for one in views
    )  # fmt: skip
    columns = ("name", "room", "kind", "driver", "reachable", "state", "reported at", "id")
    print_list(as_json, [as_printed(_show(found, view)) for view in views], columns, rows)
    if not views and not as_json:
        note(f"{found.plant.name} has no such modules.")


@command(commands, "show")
async def show(settings: Settings, module: ModuleName, as_json: AsJson = False) -> None:
    """Show one module and its last state. If the module cannot be reached, also show since when, why, and the evidence."""
    async with reading(settings) as tools:
        plant, wanted = await find_module(tools, module)
        found = await _view(tools, plant.id)
    view = found.modules.get(wanted.id)
    if view is None:
        raise Mistake(f"the module {wanted.id} no longer exists.")
    if as_json:
        print_json(as_printed(_show(found, view)))
        return
    click.echo(f"{wanted.name}, {wanted.kind} in {plant.name}, driven by {wanted.driver}\nid {wanted.id}")
    click.echo(f"state: {_state(view.state)}\nreported at: {_reported(view)}\nreachable: {_reach(view)}")
    if view.absence is not None and view.absence.evidence:
        click.echo(f"evidence: {view.absence.evidence}")


async def _view(tools: Tools, plant_id: Id) -> PlantView:
    """Return the plant as the gateway shows it, including injected faults. Raises Mistake if the plant no longer exists."""
    stored = await tools.store.find_plant(plant_id)
    if stored is None:
        raise Mistake(f"the plant {plant_id} no longer exists.")
    return PlantView(stored)


def _show(plant: PlantView, view: ModuleView) -> object:
    ambient = next((one for one in plant.ambients.values() if view.module in one.modules), None)
    return module_out(view, ambient)


def _reach(view: ModuleView) -> str:
    if view.reachable:
        return "yes"
    return "no" if view.absence is None else f"no: {view.absence.why} since {iso(view.absence.since)}"


def _reported(view: ModuleView) -> str:
    return (iso(view.reported_at) or "-") if view.reported_at else "-"


def _state(state: State | None) -> str:
    """Return the known values of a state, without times, for a table cell."""
    fields = {} if state is None else msgspec.to_builtins(state)
    shown = {name: value for name, value in fields.items() if name != "of" and not name.endswith(("_at", "_since", "_time"))}
    return describe_values(shown) or "-"
