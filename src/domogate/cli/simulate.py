"""`domogate simulate`: tell a simulated device to be offline, slow or refusing, so that every status can be shown."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer

from domogate.app import open_tools
from domogate.cli._command import Mistake, command, until_applied
from domogate.cli._output import note
from domogate.domain.estate import Estate
from domogate.domain.ids import DASHED_UUID, HEX32
from domogate.domain.plants import Module, Plant
from domogate.settings import Settings

DRIVER = "simulator"
OPTION = "simulate"


class Behaviour(StrEnum):
    """How a simulated device behaves."""

    NORMAL = "normal"
    OFFLINE = "offline"
    SLOW = "slow"
    REFUSING = "refusing"


def register(cli: typer.Typer) -> None:
    command(cli, "simulate")(simulate)


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
