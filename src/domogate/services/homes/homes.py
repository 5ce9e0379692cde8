"""Finds the homes of a person, and decides what the person's application may do there."""

from collections.abc import Sequence

import msgspec

from domogate.domain.commands import Activate, OpenLock, SwitchCamera
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import NoSuchModule
from domogate.domain.ids import Id
from domogate.domain.people import Principal, Scope
from domogate.domain.plants import Module, Plant, SceneDetail
from domogate.ports import Clock
from domogate.services.plants.read_model import ModuleView, PlantView, ReadModel
from domogate.services.rights.access import Access, Role, get_access, list_own_plants
from domogate.wire.commands import command_for

DOOR_SCOPE = Scope.AUDIOVIDEO_READ
"""The scope for doors and cameras. It is also the scope of tickets (E11, E15)."""
DOOR_KINDS = frozenset({DeviceKind.LOCK, DeviceKind.ACTIVATION, DeviceKind.AUDIOVIDEO_UNIT})
_DOOR_COMMANDS = (OpenLock, Activate, SwitchCamera)
RUN_SCENE = "run scene"


class Home(msgspec.Struct, frozen=True):
    """One plant as one person sees it now, and what the person's application may do there."""

    access: Access
    role: Role
    may_use_doors: bool

    @property
    def view(self) -> PlantView:
        return self.access.plant

    @property
    def plant(self) -> Plant:
        return self.access.plant.plant

    def find_module(self, module_id: Id) -> ModuleView:
        """Return the module. Raises NoSuchModule if the home has no such module, or if a guest may not see it."""
        found = self.view.modules.get(module_id)
        if found is None:
            raise NoSuchModule(f"the home has no module {module_id}")
        return found

    def find_command(self, module: Module) -> str | None:
        """Return the name of the command that this person may send to the module. The command of a scene is `run scene`.

        Return None if the person may send no command.
        """
        if uses_doors(module) and not self.may_use_doors:
            return None
        return RUN_SCENE if module.kind is DeviceKind.SCENE else command_for(module.kind)


def uses_doors(module: Module) -> bool:
    """Whether a command to this module opens a lock, closes a relay (such as a gate opener) or switches a camera.

    For a scene: whether one of its steps does one of these things.
    """
    steps = module.detail.steps if isinstance(module.detail, SceneDetail) else ()
    return module.kind in DOOR_KINDS or any(isinstance(step.command, _DOOR_COMMANDS) for step in steps)


class Homes:
    """Finds the homes that the person of a token may see or use."""

    def __init__(self, read_model: ReadModel, clock: Clock) -> None:
        self._read_model = read_model
        self._clock = clock

    async def list_plants(self, principal: Principal) -> Sequence[Plant]:
        person = await self._read_model.get_person(principal.user_id)
        return list_own_plants(person.plants, principal.user_id, principal.plants, self._clock.now()).plants

    async def open(self, principal: Principal, plant_id: Id) -> Home:
        """Return the home as the person sees it now. Raises NoSuchPlant, NotYourPlant."""
        view = self._read_model.find_plant(plant_id) or await self._read_model.get_plant(plant_id)
        access = get_access(principal, plant_id, view, self._clock.now())
        return Home(access, access.role_of(principal.user_id), DOOR_SCOPE in principal.scopes)
