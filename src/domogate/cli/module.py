"""`domogate module …`: what stands in a plant, what is known of it, and why something cannot be reached."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer

from domogate.app import Tools, open_tools
from domogate.cli._command import Mistake, command
from domogate.cli._devices import ModuleName, as_printed, find_module
from domogate.cli._output import AsJson, iso, note, print_json, print_table
from domogate.cli._people import PlantName, find_plant
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.states import State
from domogate.management.modules import show_module
from domogate.services.plants.read_model import ModuleView, PlantView
from domogate.settings import Settings

modules = typer.Typer(help="Modules: what is known of each, and why one cannot be reached.", no_args_is_help=True)


def register(cli: typer.Typer) -> None:
    cli.add_typer(modules, name="module")


@command(modules, "list")
async def list_modules(
    settings: Settings,
    plant: PlantName,
    kind: Annotated[DeviceKind | None, typer.Option(help="Only modules of this kind.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Only those that cannot be reached.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what stands in a plant: its last states, and why something cannot be reached."""
    async with open_tools(settings) as tools:
        found = await _view(tools, (await find_plant(tools, plant)).id)
    views = [view for view in found.modules.values() if kind in (None, view.module.kind) and not (offline and view.reachable)]
    if as_json:
        print_json([as_printed(_show(found, view)) for view in views])
        return
    rows = [
        (
            view.module.name,
            view.module.kind,
            view.module.driver,
            _reach(view),
            _state(view.state),
            _reported(view),
            view.module.id,
        )
        for view in views
    ]
    print_table(("name", "kind", "driver", "reachable", "state", "reported at", "id"), rows)
    if not views:
        note(f"Nothing of that in {found.plant.name}.")


@command(modules, "show")
async def show(settings: Settings, module: ModuleName, as_json: AsJson = False) -> None:
    """Show one module: its state and, if it cannot be reached, since when, why, and what shows it."""
    async with open_tools(settings) as tools:
        plant, wanted = await find_module(tools, module)
        found = await _view(tools, plant.id)
    view = found.modules.get(wanted.id)
    if view is None:
        raise Mistake(f"the module {wanted.id} is gone.")
    if as_json:
        print_json(as_printed(_show(found, view)))
        return
    typer.echo(f"{wanted.name}, {wanted.kind} in {plant.name}, driven by {wanted.driver}\nid {wanted.id}")
    typer.echo(f"state: {_state(view.state)}\nreported at: {_reported(view)}\nreachable: {_reach(view)}")
    if view.absence is not None and view.absence.evidence:
        typer.echo(f"evidence: {view.absence.evidence}")


async def _view(tools: Tools, plant_id: Id) -> PlantView:
    """As the gateway sees it, with the faults that are injected."""
    stored = await tools.store.find_plant(plant_id)
    if stored is None:
        raise Mistake(f"the plant {plant_id} is gone.")
    return PlantView(stored)


def _show(plant: PlantView, view: ModuleView) -> object:
    ambient = next((one for one in plant.ambients.values() if view.module in one.modules), None)
    return show_module(view, ambient)


def _reach(view: ModuleView) -> str:
    if view.reachable:
        return "yes"
    return "no" if view.absence is None else f"no: {view.absence.why} since {iso(view.absence.since)}"


def _reported(view: ModuleView) -> str:
    return (iso(view.reported_at) or "-") if view.reported_at else "-"


def _state(state: State | None) -> str:
    """The part of it that fits into a table: what is known, without when."""
    return "-" if state is None else ", ".join(_words(msgspec.to_builtins(state))) or "-"


def _words(told: dict[str, object]) -> Sequence[str]:
    words = []
    for name, value in told.items():
        if name == "of" or value is None or value == () or name.endswith(("_at", "_since", "_time")):
            continue
        if isinstance(value, dict) and "unit" in value:
            value = f"{value['value']:g} {value['unit']}"
        elif isinstance(value, dict):
            value = " ".join(str(one) for one in value.values())
        elif isinstance(value, tuple):
            value = " ".join(str(one["type"]) if isinstance(one, dict) else _yes(one) for one in value)
        words.append(f"{name.replace('_', ' ')}: {_yes(value)}")
    return words


def _yes(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
