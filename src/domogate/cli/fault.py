"""`domogate fault …`: faults on demand, so that an application can be seen to bear them."""

from collections.abc import Iterable
from typing import Annotated

import typer

from domogate.app import Tools, open_tools
from domogate.cli._command import WrongUsage, command, until_applied
from domogate.cli._devices import as_printed, find_target
from domogate.cli._output import AsJson, iso, note, print_json, print_table
from domogate.cli._people import find_plant
from domogate.cli._words import parse_duration
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.management.faults import show_faults
from domogate.settings import Settings

faults = typer.Typer(help="Faults on demand: have a plant or module suffer one, list, clear.", no_args_is_help=True)

_TARGET = "A plant or a module: its id in either spelling, or its name if nothing else has it."


def register(cli: typer.Typer) -> None:
    cli.add_typer(faults, name="fault")


@command(faults, "inject")
async def inject(
    settings: Settings,
    target: Annotated[str, typer.Argument(metavar="TARGET", help=_TARGET)],
    fault: Annotated[InjectedFault, typer.Argument(help="What it is to suffer.")],
    value: Annotated[
        str, typer.Option(metavar="WORD", help="The battery level (very_low) or failure type (BLOCK.FAULTY_BATTERY).")
    ] = "",
    duration: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="As 10m, 2h or 45s; until it is cleared by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Have a plant or a module suffer a fault, for a while or until it is cleared. The same again replaces it."""
    seconds = None if duration is None else parse_duration(duration)
    async with open_tools(settings) as tools:
        found = await find_target(tools, target)
        module_id = None if found.module is None else found.module.id
        until = None if seconds is None else tools.clock.now() + seconds
        injected = await tools.fault_injector.inject(found.plant.id, module_id, fault, value, until)
        await until_applied(tools.store)
    if as_json:
        print_json(as_printed(show_faults((found.plant.id, one) for one in injected)))
        return
    ends = "until it is cleared" if until is None else f"until {iso(until)}"
    into = f"{len(injected)} modules in {found.words}" if len(injected) > 1 else found.words
    note(f"{fault}{f' {value}' if value else ''} is injected into {into}, {ends}.")


@command(faults, "list")
async def list_faults(
    settings: Settings,
    plant: Annotated[str | None, typer.Argument(metavar="[PLANT]", help="Only in this plant, by id or name.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the faults that are injected now."""
    async with open_tools(settings) as tools:
        plant_id = None if plant is None else (await find_plant(tools, plant)).id
        found = [one for one in await tools.fault_injector.list() if plant_id in (None, one[0])]
        names = {} if as_json else await _names(tools, found)
    if as_json:
        print_json(as_printed(show_faults(found)))
        return
    rows = [
        (names.get(of, of), names.get(one.module_id, one.module_id) if one.module_id else "-", one.fault, one.value or "-",
         iso(one.until) or "cleared")
        for of, one in found
    ]  # fmt: skip
    print_table(("plant", "module", "fault", "value", "until"), rows)


@command(faults, "clear")
async def clear(
    settings: Settings,
    target: Annotated[str | None, typer.Argument(metavar="[TARGET]", help=f"{_TARGET} A plant's modules go with it.")] = None,
    fault: Annotated[InjectedFault | None, typer.Option(help="Only this fault.")] = None,
    everywhere: Annotated[bool, typer.Option("--all", help="In all plants.")] = False,
) -> None:
    """Take faults away. What was covered by them is shown again at once."""
    if (target is None) is not everywhere:
        raise WrongUsage("say where: a plant, a module, or --all.")
    async with open_tools(settings) as tools:
        if target is None:
            where, plant_id, module_id = "all plants", None, None
        else:
            found = await find_target(tools, target)
            where, plant_id = found.words, found.plant.id
            module_id = None if found.module is None else found.module.id
        cleared = await tools.fault_injector.clear(plant_id, module_id, fault)
        await until_applied(tools.store)
    note(f"Cleared {cleared} {'fault' if cleared == 1 else 'faults'} in {where}.")


async def _names(tools: Tools, found: Iterable[tuple[Id, Injection]]) -> dict[Id, str]:
    names: dict[Id, str] = {}
    for plant_id in {of for of, _ in found}:
        stored = await tools.store.find_plant(plant_id)
        if stored is not None:
            names[plant_id] = stored.plant.name
            names |= {module.id: module.name for module in stored.topology.every_module()}
    return names
