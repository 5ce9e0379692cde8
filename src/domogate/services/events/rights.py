"""Who may be told of what: nobody hears of what no operation of a family would show them (Decision 0043)."""

from collections.abc import Set

from domogate.domain.devices import DeviceKind
from domogate.domain.events import Change, PlantChanged, StateChanged
from domogate.domain.ids import Id
from domogate.domain.notices import Notice, kinds_of_plant, kinds_of_state
from domogate.domain.people import Scope
from domogate.domain.plants import PlantStatus
from domogate.services.plants.read_model import PlantView

READ_SCOPE: dict[DeviceKind, Scope] = {
    DeviceKind.LIGHT: Scope.LIGHT_READ,
    DeviceKind.PLUG: Scope.PLUG_READ,
    DeviceKind.MULTISOCKET: Scope.PLUG_READ,
    DeviceKind.REMOTE: Scope.TOPOLOGY_READ,
    DeviceKind.CHRONOTHERMOSTAT: Scope.COMFORT_READ,
    DeviceKind.EMERGENCY_CONTROLLER: Scope.SAFETY_READ,
    DeviceKind.EMERGENCY_UNIT: Scope.SAFETY_READ,
}
"""By which scope some operation shows the state of such a module (E2, E4, E8, E12, E16, E18); of the others none does."""

PLANT_SCOPES = frozenset({Scope.TOPOLOGY_READ, Scope.COMFORT_READ})
"""Any of these lists plants (E6, E10, E14, X3, X5); `safety.read` lists those that are sites (E17)."""


def find_notice(change: Change, plant: PlantView) -> Notice | None:
    """What the change is to applications; None: nothing that concerns any, or of a module that is not there any more."""
    event = change.event
    if isinstance(event, StateChanged):
        view = plant.modules.get(event.module_id)
        if view is None or view.module.kind not in READ_SCOPE:
            return None
        return Notice(change.cursor, change.at, event, kinds_of_state(event, view.module.kind))
    if isinstance(event, PlantChanged):
        kinds = kinds_of_plant(event)
        return Notice(change.cursor, change.at, event, kinds) if kinds else None
    return None


def may_read_plant(user_id: Id, plant: PlantView) -> bool:
    return plant.plant.status is PlantStatus.ACTIVE and user_id in plant.readers


def scopes_of(notice: Notice, plant: PlantView) -> frozenset[str]:
    """Any one of these lets an application hear of it."""
    event = notice.event
    if isinstance(event, StateChanged):
        return frozenset({READ_SCOPE[plant.modules[event.module_id].module.kind]})
    return PLANT_SCOPES | {Scope.SAFETY_READ} if plant.plant.emergency_lighting else PLANT_SCOPES


def may_see(user_id: Id, scopes: Set[str], plant: PlantView, notice: Notice) -> bool:
    """By the rights of this moment, whatever they were when it happened."""
    return may_read_plant(user_id, plant) and not scopes_of(notice, plant).isdisjoint(scopes)
