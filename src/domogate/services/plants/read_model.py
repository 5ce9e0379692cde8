"""The read model: rights, topology and last states of the plants this process serves.

A hit is synchronous and uses no SQL and no thread. The read model is filled from the store on first use and bounded in memory.
Only the change feed updates it, and the store applies the feed before it answers a write (Decision 0006).
"""

from collections.abc import Sequence
from typing import Any, Protocol

from domogate.common.feed_cache import FeedCache
from domogate.domain.events import Change, PlantChanged, SparePartsChanged, StateChanged, UserChanged
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.limits import Places
from domogate.domain.plants import Ambient, Member, Module, Plant, Topology
from domogate.domain.reachability import Absence
from domogate.domain.safety import SpareParts
from domogate.domain.states import State
from domogate.ports import PlantStore, SparePartStore, StoredPlant, StoredState
from domogate.services.plants.fault_overlay import FaultOverlay, is_injected, overlay_of

_NOTHING_YET = StoredState(state=None, reachable=True, at=0.0)


class ReadModelStore(PlantStore, SparePartStore, Protocol):
    """The source of the read model."""


class ModuleView:
    """A module and its last state. `confirmed_at` is when its driver last confirmed the state."""

    __slots__ = ("_overlay", "absence", "confirmed_at", "encodings", "module", "plant_id", "reachable", "reported_at", "state")

    def __init__(self, plant_id: Id, module: Module, stored: StoredState, overlay: FaultOverlay | None = None) -> None:
        self.plant_id = plant_id
        self.module = module
        self.state: State | None = stored.state
        self.reachable = stored.reachable
        self.absence: Absence | None = stored.absence
        """Why the module cannot be reached, if that is known."""
        self.reported_at = stored.at
        self.confirmed_at = stored.at
        self.encodings: dict[str, Any] = {}
        """Cached encodings of the module (not of its state), by surface."""
        self._overlay = overlay
        self._cover()

    def take(self, event: StateChanged) -> None:
        """Take over a committed state."""
        self.state = event.state
        self.reachable = event.reachable
        self.absence = event.absence
        self.reported_at = self.confirmed_at = event.at
        if self._overlay is not None or event.absence is not None:
            self._cover()

    def _cover(self) -> None:
        """Apply the injected faults, and drop the effects of cleared ones, without waiting for a driver."""
        if self._overlay is not None:
            offline = self._overlay.report_absence(self.plant_id, self.module.id, self.reported_at)
            if offline is not None:
                self.reachable = False
                if not is_injected(self.absence):
                    self.absence = offline.absence
                return
            self.state = self._overlay.cover_state(self.module.id, self.state)
            if self._overlay.find(self.module.id, InjectedFault.SLOW) is not None:
                self.confirmed_at = 0.0
        if is_injected(self.absence):
            self.reachable, self.absence, self.confirmed_at = True, None, 0.0


class PlantView:
    """A plant with everything a request needs: its members, its modules, and cached encodings by surface."""

    __slots__ = (
        *("ambients", "cursor", "encodings", "injections", "joined", "members", "modules", "plant", "topology"),
        "views_of_guests",
    )

    def __init__(self, stored: StoredPlant) -> None:
        plant = stored.plant
        self.plant: Plant = plant
        self.topology: Topology = stored.topology
        self.cursor = stored.cursor
        self.injections: tuple[Injection, ...] = stored.injections
        """Injected faults. Ended ones stay until they are cleared, so check `Injection.holds`."""
        overlay = overlay_of(stored.injections)
        self.members: dict[Id, Member] = {member.user_id: member for member in (plant.owner, *plant.allowed)}
        """The people with rights on the plant. Only the rights module reads it."""
        self.joined: dict[Id, int] = stored.joined
        self.ambients: dict[Id, Ambient] = {ambient.id: ambient for ambient in stored.topology.every_ambient()}
        self.modules: dict[Id, ModuleView] = {
            module.id: ModuleView(plant.id, module, stored.states.get(module.id, _NOTHING_YET), overlay)
            for module in stored.topology.every_module()
        }
        self.encodings: dict[str, Any] = {}
        self.views_of_guests: dict[Places, PlantView] = {}
        """The plant as guests see it. Only the rights module uses it."""


class PersonView:
    """The plants of one user, removed ones included."""

    __slots__ = ("cursor", "encodings", "plants")

    def __init__(self, plants: tuple[Plant, ...], cursor: int) -> None:
        self.plants = plants
        self.cursor = cursor
        self.encodings: dict[str, Any] = {}


class ReadModel:
    """Plants, people and spare parts as this process knows them."""

    def __init__(
        self, store: ReadModelStore, *, max_modules: int, max_people: int = 20_000, max_references: int = 10_000
    ) -> None:
        self._store = store
        self._plants: FeedCache[Id, PlantView] = FeedCache(
            self._fetch_plant,
            capacity=max_modules,
            weigh=lambda view: 1 + len(view.modules),
            cursor_of=lambda view: view.cursor,
            invalidated_by={PlantChanged: lambda event: (event.plant_id,)},
        )
        self._people: FeedCache[Id, PersonView] = FeedCache(
            self._fetch_person,
            capacity=max_people,
            weigh=lambda view: 1 + len(view.plants),
            cursor_of=lambda view: view.cursor,
            invalidated_by={PlantChanged: lambda event: event.user_ids, UserChanged: lambda event: (event.user_id,)},
        )
        self._spare_parts: FeedCache[str, SpareParts] = FeedCache(
            store.find_spare_parts,
            capacity=max_references,
            # A unit that is added or removed can make its reference known or unknown.
            invalidated_by={PlantChanged: lambda _: None, SparePartsChanged: lambda event: (event.unit,)},
        )

    @property
    def held_modules(self) -> int:
        return self._plants.weight

    def find_plant(self, plant_id: Id) -> PlantView | None:
        """A plant that is in memory. None: call `get_plant`."""
        return self._plants.find(plant_id)

    async def get_plant(self, plant_id: Id) -> PlantView | None:
        return await self._plants.get(plant_id)

    async def get_person(self, user_id: Id) -> PersonView:
        view = await self._people.get(user_id)
        assert view is not None, "a person without plants has an empty list, not none"
        return view

    async def get_spare_parts(self, unit: str) -> SpareParts | None:
        return await self._spare_parts.get(unit)

    def apply(self, changes: Sequence[Change]) -> None:
        """To be a listener of the store. Most changes are states, which are updated in place."""
        others = []
        for change in changes:
            event = change.event
            if type(event) is StateChanged:
                self._apply_state(event, change.cursor)
            else:
                others.append(change)
        if others:
            self._plants.apply(others)
            self._people.apply(others)
            self._spare_parts.apply(others)

    def _apply_state(self, event: StateChanged, cursor: int) -> None:
        self._plants.outdate(event.plant_id, cursor)
        plant = self._plants.peek(event.plant_id)
        if plant is None or cursor <= plant.cursor:
            return
        view = plant.modules.get(event.module_id)
        if view is not None:
            view.take(event)

    async def _fetch_plant(self, plant_id: Id) -> PlantView | None:
        stored = await self._store.find_plant(plant_id)
        return None if stored is None else PlantView(stored)

    async def _fetch_person(self, user_id: Id) -> PersonView:
        return PersonView(*await self._store.list_plants_of(user_id))
