"""The port that finds modules of all plants, for operators."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.reachability import AbsenceReason
from domogate.ports.stores.plants import StoredState


class ModuleFilter(msgspec.Struct, frozen=True):
    """The conditions of a search for modules.

    A module must fulfil all given conditions. Every word of `text` must be in the name of the module, its room or its plant.
    """

    text: str = ""
    plant_id: Id | None = None
    ambient_id: Id | None = None
    kind: DeviceKind | None = None
    driver: str | None = None
    reachable: bool | None = None
    reason: AbsenceReason | None = None


class ModulePlace(msgspec.Struct, frozen=True):
    plant_id: Id
    plant: str
    ambient_id: Id | None
    ambient: str | None


class PlacedModule(msgspec.Struct, frozen=True):
    """A module with its place and its last known state."""

    module: Module
    place: ModulePlace
    stored: StoredState


class Named(msgspec.Struct, frozen=True):
    """The name of a plant, module, client or subscription. For a module, `plant_id` is its plant."""

    kind: Literal["plant", "module", "client", "subscription"]
    name: str
    plant_id: Id | None = None


class ModuleSearchStore(Protocol):
    async def search_modules(self, wanted: ModuleFilter, after: Id | None, limit: int) -> Sequence[PlacedModule]:
        """Return the matching modules whose ids are greater than `after`, ordered by id."""
        ...

    async def find_places(self, module_ids: Sequence[Id]) -> dict[Id, ModulePlace]:
        """Return the place of each of these modules. Unknown modules are not in the result."""
        ...

    async def find_names(self, ids: Sequence[str]) -> dict[str, Named]:
        """Return the names of these plants, modules, clients and subscriptions. Unknown ids are not in the result."""
        ...
