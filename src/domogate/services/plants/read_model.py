"""The read model: rights, topology and last states of the plants that this process serves.

A read from memory does not wait, runs no SQL and uses no other thread. A plant is loaded from the store at its first use.
Memory is bounded. The change feed updates the read model. After a write, the read model is updated before the caller of the
write continues (Decision 0006). `Control.refresh`, which asks a device for its state, also writes the answer to the read model.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from domogate.common.feed_cache import FeedCache
from domogate.domain.events import Change, ChangesLost, PlantChanged, SparePartsChanged, StateChanged, UserChanged
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.limits import Places
from domogate.domain.plants import Ambient, Member, Module, Plant, Topology
from domogate.domain.reachability import Absence
from domogate.domain.safety import SpareParts
from domogate.domain.states import State
from domogate.ports import NO_STATE_YET, PlantStore, SparePartStore, StoredPlant, StoredState
from domogate.services.plants.fault_overlay import FaultOverlay, is_injected, overlay_of

_MOST_PEOPLE, _MOST_REFERENCES = 20_000, 10_000


class ReadModelStore(PlantStore, SparePartStore, Protocol):
    """The parts of the store that the read model reads."""


class ModuleView(msgspec.Struct, eq=False, gc=False):
    """A module and its last state.

    A process may hold 100,000 of these views. So the garbage collector does not visit them (`gc=False`). This is safe, because
    no view is part of a reference cycle.
    """

    plant_id: Id
    module: Module
    state: State | None
    reachable: bool
    absence: Absence | None
    """The reason why the module cannot be reached, if it is known."""
    reported_at: float
    confirmed_at: float
    """The time at which the driver last confirmed the state."""
    _overlay: FaultOverlay | None = None
    encodings: dict[str, Any] = {}
    """Cached encodings of the module without its state, by surface."""

    def take(self, event: StateChanged) -> None:
        """Update the module with a committed state."""
        self.state = event.state
        self.reachable = event.reachable
        self.absence = event.absence
        self.reported_at = self.confirmed_at = event.at
        if self._overlay is not None or event.absence is not None:
            self.cover()

    def cover(self) -> None:
        """Apply the injected faults to this module, and undo the effects of cleared faults, without waiting for a driver."""
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


def view_module(plant_id: Id, module: Module, stored: StoredState, overlay: FaultOverlay | None = None) -> ModuleView:
    view = ModuleView(plant_id, module, stored.state, stored.reachable, stored.absence, stored.at, stored.at, overlay)
    if overlay is not None or stored.absence is not None:
        view.cover()
    return view


class PlantView:
    """A plant with all data that a request needs: its members, its modules, and encoded answers that the surfaces cache."""

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
        """Injected faults. Ended faults stay in this tuple until they are cleared, so check `Injection.holds`."""
        overlay = overlay_of(stored.injections)
        self.members: dict[Id, Member] = {member.user_id: member for member in (plant.owner, *plant.allowed)}
        """The people with rights on the plant. Only `services/rights/` reads this attribute."""
        self.joined: dict[Id, int] = stored.joined
        self.ambients: dict[Id, Ambient] = {ambient.id: ambient for ambient in stored.topology.every_ambient()}
        self.modules: dict[Id, ModuleView] = {
            module.id: view_module(plant.id, module, stored.states.get(module.id, NO_STATE_YET), overlay)
            for module in stored.topology.every_module()
        }
        self.encodings: dict[str, Any] = {}
        self.views_of_guests: dict[Places, PlantView] = {}
        """The plant as guests see it. Only `services/rights/` uses this attribute."""

    def take(self, event: StateChanged, cursor: int) -> None:
        """Update a module with a committed state, unless the plant was read from the store after this change."""
        view = self.modules.get(event.module_id) if cursor > self.cursor else None
        if view is not None:
            view.take(event)


class PersonView:
    """The plants of one user, including removed plants."""

    __slots__ = ("cursor", "encodings", "plants")

    def __init__(self, plants: tuple[Plant, ...], cursor: int) -> None:
        self.plants = plants
        self.cursor = cursor
        self.encodings: dict[str, Any] = {}


class ReadModel:
    """Plants, people and spare parts as this process knows them."""

    def __init__(self, store: ReadModelStore, *, max_modules: int) -> None:
        self._store = store
        self._new_states: dict[Id, list[dict[Id, tuple[int, StateChanged]]]] = {}
        """For each running read of a plant from the store: for each module, the newest state since the read began.

        After the read, these states are added to the plant. A repetition of the read would not help: the modules of a large
        plant report so often that each read would be out of date.
        """
        self._plants: FeedCache[Id, PlantView] = FeedCache(
            self._fetch_plant,
            capacity=max_modules,
            weigh=lambda view: 1 + len(view.modules),
            cursor_of=lambda view: view.cursor,
            invalidated_by={PlantChanged: lambda event: (event.plant_id,), ChangesLost: lambda _: None},
        )
        self.find_plant = self._plants.find
        """Return the plant if it is in memory. If the result is None, call `get_plant`."""
        self._people: FeedCache[Id, PersonView] = FeedCache(
            self._fetch_person,
            capacity=_MOST_PEOPLE,
            weigh=lambda view: 1 + len(view.plants),
            cursor_of=lambda view: view.cursor,
            invalidated_by={
                PlantChanged: lambda event: event.user_ids,
                UserChanged: lambda event: (event.user_id,),
                ChangesLost: lambda _: None,
            },
        )
        self._spare_parts: FeedCache[str, SpareParts] = FeedCache(
            store.find_spare_parts,
            capacity=_MOST_REFERENCES,
            # When a unit is added or removed, its reference can become known or unknown.
            invalidated_by={
                PlantChanged: lambda _: None,
                SparePartsChanged: lambda event: (event.unit,),
                ChangesLost: lambda _: None,
            },
        )

    @property
    def held_modules(self) -> int:
        return self._plants.weight

    async def get_plant(self, plant_id: Id) -> PlantView | None:
        return await self._plants.get(plant_id)

    async def get_person(self, user_id: Id) -> PersonView:
        view = await self._people.get(user_id)
        assert view is not None, "a person without plants has an empty list, not none"
        return view

    async def get_spare_parts(self, unit: str) -> SpareParts | None:
        return await self._spare_parts.get(unit)

    def apply(self, changes: Sequence[Change]) -> None:
        """Update the read model with committed changes. This method is a listener of the store.

        Most changes are new states of modules. The read model updates them in memory, and does not read the plant again.
        """
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
        for new_states in self._new_states.get(event.plant_id, ()):
            new_states[event.module_id] = cursor, event
        plant = self._plants.peek(event.plant_id)
        if plant is not None:
            plant.take(event, cursor)

    async def _fetch_plant(self, plant_id: Id) -> PlantView | None:
        new_states: dict[Id, tuple[int, StateChanged]] = {}
        reads = self._new_states.setdefault(plant_id, [])
        reads.append(new_states)
        try:
            stored = await self._store.find_plant(plant_id)
        finally:
            # Not `remove`, which compares the content: two reads of a plant can run at the same time.
            reads[:] = [other for other in reads if other is not new_states]
            if not reads:
                del self._new_states[plant_id]
        if stored is None:
            return None
        plant = PlantView(stored)
        for cursor, event in new_states.values():
            plant.take(event, cursor)
        return plant

    async def _fetch_person(self, user_id: Id) -> PersonView:
        return PersonView(*await self._store.list_plants_of(user_id))
