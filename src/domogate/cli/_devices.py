"""How commands name modules, and show what the management API shows."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

import msgspec
import typer

from domogate.app import Tools
from domogate.cli._command import Mistake
from domogate.domain.estate import Estate
from domogate.domain.ids import DASHED_UUID, HEX32, Id
from domogate.domain.plants import Module, Plant

ModuleName = Annotated[str, typer.Argument(metavar="MODULE", help="Its id in either spelling, or its name if no other has it.")]


class Target(msgspec.Struct, frozen=True):
    """A plant, or one module of it."""

    plant: Plant
    module: Module | None = None

    @property
    def id(self) -> Id:
        return self.plant.id if self.module is None else self.module.id

    @property
    def words(self) -> str:
        return self.plant.name if self.module is None else f"{self.module.name} in {self.plant.name}"


async def find_module(tools: Tools, wanted: str) -> tuple[Plant, Module]:
    return (await find_modules(tools, (wanted,)))[0]


async def find_modules(tools: Tools, wanted: Sequence[str]) -> list[tuple[Plant, Module]]:
    every = list(_every_module(await tools.store.export_estate()))
    found = [_choose(every, one, "module", "`domogate module list PLANT` shows those of a plant") for one in wanted]
    return [(target.plant, target.module) for target in found if target.module is not None]


async def find_target(tools: Tools, wanted: str) -> Target:
    """A plant or a module, whichever it is."""
    estate = await tools.store.export_estate()
    every = [*(Target(one.plant) for one in estate.plants), *_every_module(estate)]
    return _choose(every, wanted, "plant or module", "`domogate plant list` and `domogate module list PLANT` show all")


def _every_module(estate: Estate) -> Iterator[Target]:
    for one in estate.plants:
        for module in one.topology.every_module():
            yield Target(one.plant, module)


def _choose(targets: Iterable[Target], wanted: str, noun: str, where: str) -> Target:
    identity = DASHED_UUID.parse_id(wanted) or HEX32.parse_id(wanted)
    matching = [one for one in targets if one.id == identity or (one.module or one.plant).name == wanted]
    if not matching:
        raise Mistake(f"there is no {noun} {wanted!r}; {where}.")
    if len(matching) > 1:
        listed = "\n".join(f"  {one.id}  {one.words}" for one in matching[:20])
        raise Mistake(f"{wanted!r} can be several; say which by id:\n{listed}")
    return matching[0]


_HUMP = re.compile(r"[A-Z]")


def as_printed(shown: Any) -> Any:
    """What the management API answers, with the command line's spelling of names."""
    return _respell(msgspec.to_builtins(shown))


def _respell(value: Any) -> Any:
    if isinstance(value, dict):
        return {_HUMP.sub(lambda hump: f"_{hump[0].lower()}", name): _respell(told) for name, told in value.items()}
    return [_respell(one) for one in value] if isinstance(value, list | tuple) else value
