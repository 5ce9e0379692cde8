"""Changes that operators make to a plant: its name and owner, floors, ambients and modules."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol, Self, TypeVar

import msgspec

from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.ids import Id, derived_id, new_id
from domogate.domain.plants import Ambient, Floor, Member, Module, Plant, PlantType, Topology
from domogate.ports import ImportSummary, PlantEditStore, PlantStore
from domogate.services.refusals import Conflict, Invalid, NotFound, Reason

_ATTEMPTS = 10
"""A change is checked at most this number of times. It is checked again if others changed the plant meanwhile."""

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

Row = tuple[T, Id | None]
"""A part of a plant, and the id of the floor or ambient that contains this part. The id is None if nothing contains it."""

PlantCheck = Callable[[EstatePlant | None, EstatePlant], Awaitable[Sequence[str]]]
"""A function that compares a plant before and after a change, and returns the problems that the change causes."""


class EditingStore(PlantStore, PlantEditStore, Protocol):
    async def import_estate(self, estate: Estate, *, prune: bool) -> ImportSummary: ...


class TopologyDraft:
    """The content of a plant as tables, which are easier to change than a tree.

    The row of an ambient has the id of its floor. The row of a module has the id of its ambient.
    """

    def __init__(self) -> None:
        self.floors: dict[Id, Floor] = {}
        self.ambients: dict[Id, Row[Ambient]] = {}
        self.modules: dict[Id, Row[Module]] = {}

    @classmethod
    def of(cls, topology: Topology) -> Self:
        draft = cls()
        for floor in (*topology.floors, None):
            if floor is not None:
                draft.floors[floor.id] = floor
            for ambient in topology.ambients if floor is None else floor.ambients:
                draft.ambients[ambient.id] = (ambient, None if floor is None else floor.id)
                draft.modules |= {module.id: (module, ambient.id) for module in ambient.modules}
        draft.modules |= {module.id: (module, None) for module in topology.modules}
        return draft

    def build(self) -> Topology:
        replace = msgspec.structs.replace
        modules_in = _by_container(self.modules.values())
        ambients_on = _by_container(
            (replace(ambient, modules=tuple(modules_in.get(key, ()))), floor_id)
            for key, (ambient, floor_id) in self.ambients.items()
        )
        return Topology(
            floors=tuple(replace(floor, ambients=tuple(ambients_on.get(key, ()))) for key, floor in self.floors.items()),
            ambients=tuple(ambients_on.get(None, ())),
            modules=tuple(modules_in.get(None, ())),
        )

    def floor(self, floor_id: Id) -> Floor:
        return _find(self.floors, floor_id, "floor")

    def ambient(self, ambient_id: Id) -> Row[Ambient]:
        return _find(self.ambients, ambient_id, "ambient")

    def module(self, module_id: Id) -> Row[Module]:
        return _find(self.modules, module_id, "module")

    def put_ambient(self, ambient: Ambient, floor_id: Id | None) -> None:
        if floor_id is not None:
            self.floor(floor_id)
        self.ambients[ambient.id] = (ambient, floor_id)

    def put_module(self, module: Module, ambient_id: Id | None) -> None:
        if ambient_id is not None:
            self.ambient(ambient_id)
        self.modules[module.id] = (module, ambient_id)

    def add_module(self, module: Module, ambient_id: Id | None) -> None:
        if module.id in self.modules:
            raise Conflict(f"This plant has a module {module.id} already.")
        self.put_module(module, ambient_id)

    def change_ambient(self, ambient_id: Id, **changes: Any) -> tuple[Row[Ambient], Row[Ambient]]:
        """Change an ambient, and return its rows before and after the change.

        A new `floor_id` moves the ambient. All other arguments are new values of its fields.
        """
        before = self.ambient(ambient_id)
        self.put_ambient(*_changed(before, "floor_id", changes))
        return before, self.ambients[ambient_id]

    def change_module(self, module_id: Id, **changes: Any) -> Row[Module]:
        """Change a module, and return its row before the change.

        A new `ambient_id` moves the module. All other arguments are new values of its fields.
        """
        before = self.module(module_id)
        self.put_module(*_changed(before, "ambient_id", changes))
        return before

    def remove_floor(self, floor_id: Id) -> None:
        floor = self.floor(floor_id)
        if any(where == floor_id for _, where in self.ambients.values()):
            raise Conflict(f"{floor.name} still has ambients. Move or delete them first.", Reason.FLOOR_NOT_EMPTY)
        del self.floors[floor_id]

    def remove_ambient(self, ambient_id: Id) -> None:
        ambient, _ = self.ambient(ambient_id)
        if any(where == ambient_id for _, where in self.modules.values()):
            raise Conflict(f"{ambient.name} still has modules. Move or delete them first.", Reason.ROOM_NOT_EMPTY)
        del self.ambients[ambient_id]

    def remove_module(self, module_id: Id) -> None:
        self.module(module_id)
        del self.modules[module_id]


def _changed(row: Row[S], container: str, changes: dict[str, Any]) -> Row[S]:
    before, inside = row
    inside = changes.pop(container, inside)
    return msgspec.structs.replace(before, **changes), inside


def _by_container(rows: Iterable[Row[T]]) -> dict[Id | None, list[T]]:
    found: dict[Id | None, list[T]] = {}
    for one, container in rows:
        found.setdefault(container, []).append(one)
    return found


def _find(table: dict[Id, T], key: Id, noun: str) -> T:
    found = table.get(key)
    if found is None:
        raise NotFound(f"There is no {noun} {key} in this plant.")
    return found


def internal_id_of(identity: Id) -> Id:
    return derived_id("internal", identity)


def new_floor(name: str) -> Floor:
    identity = new_id()
    return Floor(identity, internal_id_of(identity), name)


def new_ambient(name: str, kind: str) -> Ambient:
    identity = new_id()
    return Ambient(identity, internal_id_of(identity), name, kind)


class _PlantChanged(Exception):
    """Another request changed the plant after the check of an edit."""


def _only_if_equal(checked: EstatePlant, edit: Callable[[EstatePlant], EstatePlant]) -> Callable[[EstatePlant], EstatePlant]:
    """Return a function that calls `edit`, or raises _PlantChanged if the plant is not equal to `checked`."""

    def edit_checked(now: EstatePlant) -> EstatePlant:
        if now != checked:
            raise _PlantChanged
        return edit(now)

    return edit_checked


class PlantEditor:
    """Changes plants.

    Each change is checked by the same rules as an estate file. Then the change is made in one transaction, on the plant as it
    is stored at this time. Raises Invalid if the check finds problems. Raises NotFound if there is no such plant. Raises
    Conflict if the change does not fit the stored data. An example is the deletion of a floor that still has ambients.
    """

    def __init__(self, store: EditingStore, check: PlantCheck) -> None:
        self._store = store
        self._check = check

    async def create(self, name: str, kind: PlantType, owner: Member, **facts: str | None) -> Plant:
        """Create a plant. `facts` are other fields of Plant."""
        identity = new_id()
        plant = msgspec.structs.replace(Plant(identity, internal_id_of(identity), name, kind, owner), **facts)
        await self._refuse_problems(None, EstatePlant(plant, Topology()))
        await self._store.import_estate(Estate(plants=(EstatePlant(plant, Topology()),)), prune=False)
        return plant

    async def change_facts(self, plant_id: Id, **facts: Any) -> None:
        await self._edit(plant_id, lambda now: EstatePlant(msgspec.structs.replace(now.plant, **facts), now.topology))

    async def change_content(self, plant_id: Id, change: Callable[[TopologyDraft], T]) -> T:
        """Apply `change` to the content of the plant, and return the result of `change`.

        `change` is called twice. After the first call, the new content is checked by the rules of an estate file. The second
        call is in the transaction. If another request changed the plant after the check, the first call and the check are
        repeated before the second call. The result of the last call is returned.
        """
        results: list[T] = []

        def edit(now: EstatePlant) -> EstatePlant:
            draft = TopologyDraft.of(now.topology)
            results.append(change(draft))
            content = draft.build()
            # A plant stops being a site when its last controller is removed.
            is_site = now.plant.emergency_lighting and (content.has_controller() or not now.topology.has_controller())
            return EstatePlant(msgspec.structs.replace(now.plant, emergency_lighting=is_site), content)

        await self._edit(plant_id, edit)
        return results[-1]

    async def _edit(self, plant_id: Id, edit: Callable[[EstatePlant], EstatePlant]) -> None:
        for _ in range(_ATTEMPTS):
            stored = await self._store.find_plant(plant_id)
            if stored is None:
                raise NotFound(f"There is no plant {plant_id}.")
            before = EstatePlant(stored.plant, stored.topology)
            await self._refuse_problems(before, edit(before))
            try:
                await self._store.edit_plant(plant_id, _only_if_equal(before, edit))
                return
            except _PlantChanged:
                continue
            except ValueError as error:
                raise Conflict(f"Nothing was changed: {error}.") from None
        raise Conflict("Nothing was changed: others change this plant all the time. Try again later.")

    async def _refuse_problems(self, before: EstatePlant | None, after: EstatePlant) -> None:
        problems = await self._check(before, after)
        if problems:
            raise Invalid("; ".join(problems) + ".")
