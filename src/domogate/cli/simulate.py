"""`domogate simulate`: sets the behaviour of a simulated device, and plots a simulated day."""

from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Annotated, Any

import click

from domogate.cli._command import Mistake, WrongUsage, changing, command, group
from domogate.cli._day_plot import draw_day, print_day
from domogate.cli._help import PlainGroup
from domogate.cli._names import ModuleName, find_module
from domogate.cli._options import argument, flag, option
from domogate.cli._output import note
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.plants import Module
from domogate.domain.states import ThermostatMode, ThermostatState
from domogate.drivers.simulator import DRIVER as SIMULATOR
from domogate.drivers.simulator.behaviour import Behaviour
from domogate.drivers.simulator.day import simulate_day_of
from domogate.estate import demo_text, read_estate
from domogate.ports import AttachedModule
from domogate.settings import Settings

DRIVER = "simulator"
OPTION = "simulate"


class _ModuleByDefault(PlainGroup):
    """A group of commands in which `simulate MODULE BEHAVIOUR` is short for `simulate module MODULE BEHAVIOUR`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["module", *args]
        return super().resolve_command(ctx, args)


commands = group("simulate", _ModuleByDefault)


@command(commands, "module")
async def simulate(
    settings: Settings,
    module: ModuleName,
    behaviour: Annotated[Behaviour, argument("BEHAVIOUR", "The behaviour of the device from now on.")],
) -> None:
    """Make a simulated device go offline, answer too late, refuse commands, or work normally again."""
    async with changing(settings) as tools:
        plant, found = await find_module(tools, module)
        if found.driver != DRIVER:
            raise Mistake(f"{found.name} in {plant.name} is driven by {found.driver}, not by the simulator.")
        options = {name: value for name, value in found.options.items() if name != OPTION}
        if behaviour is not Behaviour.NORMAL:
            options[OPTION] = behaviour.value
        if not await tools.store.set_module_options(found.id, options):
            raise Mistake(f"the module {found.id} no longer exists.")
    note(f"{found.name} in {plant.name} is now {behaviour}.")


WINTER_DAY = date(2026, 1, 14)
"""The day that `domogate simulate day` uses without --date: a Wednesday in winter."""


@command(commands, "day", flags=())
async def simulate_day(
    settings: Settings,
    seed: Annotated[int | None, option("NUMBER", "Seed of the simulation. Default: the setting simulator_seed.")] = None,
    day: Annotated[str, option("YYYY-MM-DD", "The day to simulate.", "--date")] = WINTER_DAY.isoformat(),
    csv: Annotated[bool, flag("--csv", "Print numbers as CSV instead of a plot.")] = False,
    out: Annotated[Path | None, option("FILE", "File to write. Default: standard output.")] = None,
) -> None:
    """Simulate a day of a thermostat of the demo: room temperature, set point and load, as an SVG plot or as CSV."""
    try:
        begins = datetime.combine(date.fromisoformat(day), time(), UTC)
    except ValueError:
        raise WrongUsage(f"--date {day!r} is not a date; write it as {WINTER_DAY}.") from None
    house, thermostat = _find_thermostat(read_estate(demo_text(), "demo.yaml").estate)
    moments = simulate_day_of(
        house.plant.id,
        _placed(house),
        thermostat.id,
        seed=SIMULATOR.settings_in(settings.drivers).seed if seed is None else seed,
        midnight=begins.timestamp(),
    )
    title = f"{thermostat.name}, {house.plant.name}, {begins:%A} {day}"
    text = print_day(moments) if csv else draw_day(moments, title)
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")
        note(f"Wrote {title} to {out}.")


def _find_thermostat(estate: Estate) -> tuple[EstatePlant, Module]:
    """Return the first thermostat that follows a program and has no simulated fault, with its plant.

    Raises Mistake if the estate has no such thermostat.
    """
    for house in estate.plants:
        states = {first.module_id: first.state for first in house.states}
        for module in house.topology.every_module():
            state = states.get(module.id)
            if isinstance(state, ThermostatState) and state.mode is ThermostatMode.AUTOMATIC and not module.options.get(OPTION):
                return house, module
    raise Mistake("no thermostat of the demo estate follows a program.")


def _placed(house: EstatePlant) -> list[AttachedModule]:
    states = {first.module_id: first for first in house.states}
    modules = (module for module in house.topology.every_module() if module.kind is not DeviceKind.SCENE)
    return [AttachedModule(module, states.get(module.id, FirstState(module.id))) for module in modules]
