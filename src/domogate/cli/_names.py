"""Finds users, plants and modules that the command line names by e-mail, by id, or by name."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, TypeVar

import msgspec

from domogate.app import Tools
from domogate.cli._command import Mistake
from domogate.cli._options import argument, option
from domogate.common.names import find_near
from domogate.domain.estate import Estate
from domogate.domain.ids import DASHED_UUID, HEX32, Id
from domogate.domain.people import User
from domogate.domain.plants import Module, Plant

_BY_ID_OR_NAME = "id (with or without dashes), or name if it is unique."

Email = Annotated[str, argument("EMAIL", "E-mail address of the user.")]
PlantName = Annotated[str, argument("PLANT", f"The plant: {_BY_ID_OR_NAME}")]
ModuleName = Annotated[str, argument("MODULE", f"The module: {_BY_ID_OR_NAME}")]
OnlyPlant = Annotated[str | None, option("PLANT", f"Only this plant: {_BY_ID_OR_NAME} Default: all.")]
TARGET_HELP = f"A plant or a module: {_BY_ID_OR_NAME}"

_PAGE = 500
T = TypeVar("T")


class Target(msgspec.Struct, frozen=True):
    """A plant, or one module of a plant."""

    plant: Plant
    module: Module | None = None
    ambient: str = ""
    """The name of the module's ambient. Only `_every_module` sets it. Empty if the module is in no ambient."""

    @property
    def id(self) -> Id:
        return self.plant.id if self.module is None else self.module.id

    @property
    def module_id(self) -> Id | None:
        return None if self.module is None else self.module.id

    @property
    def words(self) -> str:
        return self.plant.name if self.module is None else f"{self.module.name} in {self.plant.name}"


async def find_user(tools: Tools, email: str) -> User:
    user = await tools.store.find_user_by_email(email)
    if user is None:
        raise Mistake(f"there is no user {email!r}; `domogate user list` shows all users.")
    return user


async def list_plants(tools: Tools) -> list[Plant]:
    found: list[Plant] = []
    while page := await tools.store.list_plants(found[-1].id if found else None, _PAGE):
        found += page
    return found


async def find_plant(tools: Tools, wanted: str) -> Plant:
    identity = parse_either_id(wanted)
    if identity is not None and (stored := await tools.store.find_plant(identity)) is not None:
        return stored.plant
    matching = [plant for plant in await list_plants(tools) if plant.name == wanted]
    hint = "`domogate plant list` shows all plants"
    return choose(matching, wanted, "plant", hint, lambda plant: f"{plant.id}  owner {plant.owner.email}")


async def find_plant_id(tools: Tools, wanted: str | None) -> Id | None:
    return None if wanted is None else (await find_plant(tools, wanted)).id


async def find_module(tools: Tools, wanted: str) -> tuple[Plant, Module]:
    return (await find_modules(tools, (wanted,)))[0]


async def find_modules(tools: Tools, wanted: Sequence[str]) -> list[tuple[Plant, Module]]:
    every = list(_every_module(await tools.store.export_estate()))
    found = [
        _choose_target(every, one, "module", "`domogate module list PLANT` shows the modules of a plant") for one in wanted
    ]
    return [(target.plant, target.module) for target in found if target.module is not None]


async def find_target(tools: Tools, wanted: str) -> Target:
    estate = await tools.store.export_estate()
    every = [*(Target(one.plant) for one in estate.plants), *_every_module(estate)]
    return _choose_target(every, wanted, "plant or module", "`domogate plant list` and `domogate module list PLANT` show them")


def choose(
    matching: Sequence[T], wanted: str, noun: str, hint: str, describe: Callable[[T], str], names: Iterable[str] = ()
) -> T:
    """Return the only match. Raises Mistake if there is no match or more than one. The message says what to do.

    If there is no match, the message suggests the name in `names` that is similar to `wanted`. If no name is similar, the
    message has the `hint`.
    """
    if not matching:
        near = find_near(wanted, names)
        raise Mistake(f"there is no {noun} {wanted!r}; {f'{hint}.' if near is None else f'did you mean {near!r}?'}")
    if len(matching) > 1:
        listed = "\n".join(f"  {describe(one)}" for one in matching[:20])
        raise Mistake(f"{wanted!r} is not unique; use the id of one of these:\n{listed}")
    return matching[0]


def parse_either_id(text: str) -> Id | None:
    return DASHED_UUID.parse_id(text) or HEX32.parse_id(text)


async def module_names(tools: Tools, plant_ids: Iterable[Id]) -> dict[Id, Target]:
    """Return these plants and all their modules, by id. A plant that does not exist any more is left out."""
    targets: dict[Id, Target] = {}
    for plant_id in set(plant_ids):
        stored = await tools.store.find_plant(plant_id)
        if stored is not None:
            targets[plant_id] = Target(stored.plant)
            targets |= {module.id: Target(stored.plant, module) for module in stored.topology.every_module()}
    return targets


def _every_module(estate: Estate) -> Iterator[Target]:
    for one in estate.plants:
        for ambient in one.topology.every_ambient():
            for module in ambient.modules:
                yield Target(one.plant, module, ambient.name)
        for module in one.topology.modules:
            yield Target(one.plant, module)


def _choose_target(targets: Iterable[Target], wanted: str, noun: str, hint: str) -> Target:
    identity = parse_either_id(wanted)
    matching = [one for one in targets if one.id == identity or (one.module or one.plant).name == wanted]
    return choose(matching, wanted, noun, hint, _describe)


def _describe(one: Target) -> str:
    """Return the id and name of a plant or module, and for a module also its plant and, if known, its ambient.

    The plant and the ambient distinguish modules with the same name.
    """
    place = f"{one.module.name} in {one.ambient}, {one.plant.name}" if one.module is not None and one.ambient else one.words
    return f"{one.id}  {place}"
