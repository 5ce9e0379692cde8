"""The plant as a guest sees it: only the floors, ambients and modules within the guest's limits (Decision 0058)."""

from collections.abc import Iterable

import msgspec

from domogate.domain.commands import SceneStep
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.limits import Limits
from domogate.domain.plants import Ambient, Module, SceneDetail, Topology
from domogate.services.plants.read_model import PlantView

_MODULES_KEPT = 2
"""Together, the cached views of a plant have at most `_MODULES_KEPT` * (modules of the plant) + `_FEW` modules."""
_FEW = 100


class GuestView(PlantView):
    """A plant within the limits of a guest.

    It shares the states with the whole plant, and does not show allowed users and invited users.
    """

    __slots__ = ()

    def __init__(self, whole: PlantView, limits: Limits) -> None:
        self.plant = msgspec.structs.replace(whole.plant, allowed=(), invited=())
        self.topology = limit_topology(whole.topology, limits)
        self.cursor = whole.cursor
        self.members = {}
        self.joined = {}
        self.ambients = {ambient.id: ambient for ambient in self.topology.every_ambient()}
        self.modules = {module.id: whole.modules[module.id] for module in self.topology.every_module()}
        self.injections = tuple(it for it in whole.injections if it.module_id is None or it.module_id in self.modules)
        self.encodings = {}
        self.views_of_guests = {}


def view_for_guest(plant: PlantView, limits: Limits) -> PlantView:
    """Return the view of a guest with these limits.

    If the limits name no floor, no ambient and no module, the view is the whole plant.

    Views are cached with their encoded topologies. The least recently used views are removed from the cache.
    """
    if limits.everywhere:
        return plant
    views = plant.views_of_guests
    view = views.pop(limits.places, None)
    if view is None:
        view = GuestView(plant, limits)
        left = _MODULES_KEPT * len(plant.modules) + _FEW - _weigh((view, *views.values()))
        while left < 0 and views:
            left += _weigh((views.pop(next(iter(views))),))
    views[limits.places] = view
    return view


def _weigh(views: Iterable[PlantView]) -> int:
    return sum(1 + len(view.modules) for view in views)


def limit_topology(whole: Topology, limits: Limits) -> Topology:
    """Return the topology within the limits.

    A scene is included if all its steps and the scene itself are within the limits. A scene in no ambient is also included if
    it has steps and all of them are within the limits.
    """
    floors, ambients, modules = map(frozenset, limits.places)
    within = {module.id for module in whole.modules if module.id in modules}
    for holder, is_named in _every_ambient(whole, floors, ambients):
        within.update(module.id for module in holder.modules if is_named or module.id in modules)
    shown = {module.id for module in whole.every_module() if _is_shown(module, within)}
    shown.update(module.id for module in whole.modules if _is_common_scene(module, within))

    def limit_ambients(of: Iterable[Ambient], *, all_named: bool) -> tuple[Ambient, ...]:
        limited = ((ambient, tuple(module for module in ambient.modules if module.id in shown)) for ambient in of)
        return tuple(
            msgspec.structs.replace(ambient, modules=kept)
            for ambient, kept in limited
            if kept or all_named or ambient.id in ambients
        )

    limited_floors = (
        msgspec.structs.replace(floor, ambients=limit_ambients(floor.ambients, all_named=floor.id in floors))
        for floor in whole.floors
    )
    return Topology(
        floors=tuple(floor for floor in limited_floors if floor.ambients or floor.id in floors),
        ambients=limit_ambients(whole.ambients, all_named=False),
        modules=tuple(module for module in whole.modules if module.id in shown),
    )


def _every_ambient(whole: Topology, floors: frozenset[Id], ambients: frozenset[Id]) -> Iterable[tuple[Ambient, bool]]:
    """Yield each ambient, and whether the limits name it or its floor."""
    for floor in whole.floors:
        yield from ((ambient, floor.id in floors or ambient.id in ambients) for ambient in floor.ambients)
    yield from ((ambient, ambient.id in ambients) for ambient in whole.ambients)


def _steps_of(module: Module) -> tuple[SceneStep, ...]:
    return module.detail.steps if isinstance(module.detail, SceneDetail) else ()


def _is_shown(module: Module, within: set[Id]) -> bool:
    return module.id in within and all(step.module_id in within for step in _steps_of(module))


def _is_common_scene(module: Module, within: set[Id]) -> bool:
    """Whether the module is a scene with steps, and all these steps are within the limits.

    Call this function only for modules that are in no ambient.
    """
    steps = _steps_of(module)
    return module.kind is DeviceKind.SCENE and bool(steps) and all(step.module_id in within for step in steps)
