"""`domogate fault …`: faults on demand, to test how an application handles them."""

from typing import Annotated

from domogate.cli._command import WrongUsage, changing, command, group, reading
from domogate.cli._names import TARGET_HELP, Target, find_plant_id, find_target, module_names
from domogate.cli._options import argument, flag, option
from domogate.cli._output import AsJson, as_printed, iso, note, print_json, print_list
from domogate.cli._words import optional_duration
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault
from domogate.management.faults import faults_out
from domogate.settings import Settings

commands = group("fault")


@command(commands, "inject")
async def inject(
    settings: Settings,
    target: Annotated[str, argument("TARGET", TARGET_HELP)],
    fault: Annotated[InjectedFault, argument("FAULT", "The fault to inject.")],
    value: Annotated[str, option("WORD", "For battery: a level (very_low). For failure: a type (BLOCK.FAULTY_BATTERY).")] = "",
    duration: Annotated[
        str | None, option("DURATION", "Duration, such as 10m, 2h or 45s. Default: until the fault is cleared.", "--for")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Inject a fault into a plant or a module. Injecting the same fault again replaces it.

    Example: `domogate fault inject "Casa Bianchi" offline --for 10m`
    """
    seconds = optional_duration(duration)
    async with changing(settings) as tools:
        found = await find_target(tools, target)
        until = None if seconds is None else tools.clock.now() + seconds
        injected = await tools.fault_injector.inject(found.plant.id, found.module_id, fault, value, until)
    if as_json:
        print_json(as_printed(faults_out((found.plant.id, one) for one in injected)))
        return
    ends = "until it is cleared" if until is None else f"until {iso(until)}"
    into = f"{len(injected)} modules in {found.words}" if len(injected) > 1 else found.words
    note(f"{fault}{f' {value}' if value else ''} is injected into {into}, {ends}.")


@command(commands, "list")
async def list_faults(
    settings: Settings,
    plant: Annotated[str | None, argument("PLANT", "Only this plant, by id or name. Default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the faults that are active now."""
    async with reading(settings) as tools:
        plant_id = await find_plant_id(tools, plant)
        found = [one for one in await tools.fault_injector.list() if plant_id in (None, one[0])]
        names = await module_names(tools, (of for of, _ in found))
    rows = (
        (_name(of, names), _name(one.module_id, names), one.fault, one.value or None, iso(one.until) or "cleared")
        for of, one in found
    )
    print_list(as_json, as_printed(faults_out(found)), ("plant", "module", "fault", "value", "until"), rows)


@command(commands, "clear")
async def clear(
    settings: Settings,
    target: Annotated[str | None, argument("TARGET", f"{TARGET_HELP} A plant includes its modules.")] = None,
    fault: Annotated[InjectedFault | None, option(None, "Only this fault. Default: all.")] = None,
    everywhere: Annotated[bool, flag("--all", "All plants, instead of a target.")] = False,
) -> None:
    """Clear injected faults. The real states are shown again at once."""
    if (target is None) is not everywhere:
        raise WrongUsage("name a plant or a module, or add --all for all plants.")
    async with changing(settings) as tools:
        if target is None:
            where, cleared = "all plants", await tools.fault_injector.clear(None, None, fault)
        else:
            found = await find_target(tools, target)
            where, cleared = found.words, await tools.fault_injector.clear(found.plant.id, found.module_id, fault)
    note(f"Cleared {cleared} {'fault' if cleared == 1 else 'faults'} in {where}.")


def _name(identity: Id | None, names: dict[Id, Target]) -> str | None:
    found = None if identity is None else names.get(identity)
    return identity if found is None else (found.module or found.plant).name
