"""`domogate simulate`: tell a simulated device how to behave, and watch a simulated day without waiting for it."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from domogate.app import open_tools
from domogate.cli._command import Mistake, WrongUsage, command, until_applied
from domogate.cli._day_plot import draw_day, print_day
from domogate.cli._output import note
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.ids import DASHED_UUID, HEX32
from domogate.domain.plants import Module, Plant
from domogate.domain.states import ThermostatMode, ThermostatState
from domogate.drivers import simulator
from domogate.estate import demo_text, read_estate
from domogate.ports import AttachedModule
from domogate.settings import Settings

DRIVER = "simulator"
OPTION = "simulate"


class Behaviour(StrEnum):
    """How a simulated device behaves."""

    NORMAL = "normal"
    OFFLINE = "offline"
    SLOW = "slow"
    REFUSING = "refusing"


class _ModuleUnlessCommand(TyperGroup):
    """`simulate MODULE BEHAVIOUR` is short for `simulate module MODULE BEHAVIOUR`: a module has an id or a name of its own."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # typer brings the classes of click, or its own copy of them
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["module", *args]
        return super().resolve_command(ctx, args)


simulated = typer.Typer(
    cls=_ModuleUnlessCommand,
    help="Simulated devices: how one behaves (`simulate MODULE offline`), and a day of one (`simulate day`).",
    no_args_is_help=True,
)


def register(cli: typer.Typer) -> None:
    cli.add_typer(simulated, name="simulate")


@command(simulated, "module")
async def simulate(
    settings: Settings,
    module: Annotated[str, typer.Argument(help="Its id in either spelling, or its name if no other module has it.")],
    behaviour: Annotated[Behaviour, typer.Argument(help="How it is to behave from now on.")],
) -> None:
    """Make a simulated device go offline (404), answer too late (408), refuse, or behave again."""
    async with open_tools(settings) as tools:
        plant, found = _find_module(await tools.store.export_estate(), module)
        if found.driver != DRIVER:
            raise Mistake(f"{found.name} in {plant.name} is driven by {found.driver}, not by the simulator.")
        options = {name: value for name, value in found.options.items() if name != OPTION}
        if behaviour is not Behaviour.NORMAL:
            options[OPTION] = behaviour.value
        if not await tools.store.set_module_options(found.id, options):
            raise Mistake(f"the module {found.id} is gone.")
        await until_applied(tools.store)
        note(f"{found.name} in {plant.name} is now {behaviour}.")


WINTER_DAY = date(2026, 1, 14)
"""A Wednesday: a working day, and cold."""


@command(simulated, "day", flags=())
async def simulate_day(
    settings: Settings,
    seed: Annotated[int | None, typer.Option(metavar="NUMBER", help="The setting simulator_seed when left out.")] = None,
    day: Annotated[str, typer.Option("--date", metavar="YYYY-MM-DD", help="Which day.")] = WINTER_DAY.isoformat(),
    csv: Annotated[bool, typer.Option("--csv", help="Numbers instead of a picture.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to; standard output when left out.")] = None,
) -> None:
    """A day of the demo house's thermostat: room temperature, set point and load, as an SVG plot or as CSV."""
    try:
        begins = datetime.combine(date.fromisoformat(day), time(), UTC)
    except ValueError:
        raise WrongUsage(f"--date {day!r} is no date; write it as {WINTER_DAY}.") from None
    house, thermostat = _find_thermostat(read_estate(demo_text(), "demo.yaml").estate)
    moments = simulator.live_a_day(
        house.plant.id,
        _placed(house),
        thermostat.id,
        seed=simulator.DRIVER.settings_in(settings.drivers).seed if seed is None else seed,
        midnight=begins.timestamp(),
    )
    title = f"{thermostat.name}, {house.plant.name}, {begins:%A} {day}"
    text = print_day(moments) if csv else draw_day(moments, title)
    if out is None:
        typer.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")
        note(f"Wrote {title} to {out}.")


def _find_thermostat(estate: Estate) -> tuple[EstatePlant, Module]:
    """The first that follows a program."""
    for house in estate.plants:
        states = {told.module_id: told.state for told in house.states}
        for module in house.topology.every_module():
            state = states.get(module.id)
            if isinstance(state, ThermostatState) and state.mode is ThermostatMode.AUTOMATIC and not module.options.get(OPTION):
                return house, module
    raise Mistake("no thermostat of the demo estate follows a program.")


def _placed(house: EstatePlant) -> list[AttachedModule]:
    states = {told.module_id: told for told in house.states}
    modules = (module for module in house.topology.every_module() if module.kind is not DeviceKind.SCENE)
    return [AttachedModule(module, states.get(module.id, FirstState(module.id))) for module in modules]


def _find_module(estate: Estate, wanted: str) -> tuple[Plant, Module]:
    identity = DASHED_UUID.parse_id(wanted) or HEX32.parse_id(wanted)
    matching = [(plant, module) for plant, module in _every_module(estate) if module.id == identity or module.name == wanted]
    if not matching:
        raise Mistake(f"there is no module {wanted!r}; `domogate estate export` shows all.")
    if len(matching) > 1:
        listed = "\n".join(f"  {module.id}  {module.name} in {plant.name}" for plant, module in matching[:20])
        raise Mistake(f"several modules are called {wanted!r}; say which by id:\n{listed}")
    return matching[0]


def _every_module(estate: Estate) -> Iterator[tuple[Plant, Module]]:
    for one in estate.plants:
        for module in one.topology.every_module():
            yield one.plant, module
