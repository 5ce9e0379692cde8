"""Makes notices for applications from committed changes."""

from domogate.domain.events import Change, PlantChanged, StateChanged
from domogate.domain.notices import Notice, kinds_of_plant, kinds_of_state
from domogate.services.plants.read_model import PlantView


def find_notice(change: Change, plant: PlantView) -> Notice | None:
    """Return the notice of a change.

    Return None if applications do not get this change, or if its module was removed (Decision 0043).
    """
    event = change.event
    if isinstance(event, StateChanged):
        view = plant.modules.get(event.module_id)
        if view is None:
            return None
        return Notice(change.cursor, change.at, event, kinds_of_state(event, view.module.kind))
    if isinstance(event, PlantChanged):
        kinds = kinds_of_plant(event)
        return Notice(change.cursor, change.at, event, kinds) if kinds else None
    return None
