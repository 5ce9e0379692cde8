"""Makes the rows of the floors, ambients, modules and states of an estate.

This does not need the database, so the rows can be made before a transaction begins.
"""

from collections.abc import Iterator
from operator import itemgetter

import msgspec

from domogate.domain.estate import Estate
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.stores.reconcile import RowValues, collect
from domogate.stores.recorder import state_to_json
from domogate.stores.rows import module_to_values

PLANT_ID = 1
"""The position of the plant's id in a row of a floor, ambient or module, counted from 0."""


class EstateRows(msgspec.Struct):
    """The rows of the floors, ambients and modules of an estate by their ids.

    It also has the rows of the states that the estate gives for its modules. It does not have the rows of the plants, because
    these rows depend on the stored plants.
    """

    floors: dict[Id, RowValues]
    ambients: dict[Id, RowValues]
    modules: dict[Id, RowValues]
    states: list[RowValues]


def make_rows(estate: Estate) -> EstateRows:
    """Return the rows of the estate.

    Raises ValueError if the estate contradicts itself. An example: two modules have the same id.
    """
    collect("plants", ((each.plant.id,) for each in estate.plants))
    module_rows = collect("modules", _module_rows(estate))
    return EstateRows(
        floors=collect("floors", _floor_rows(estate)),
        ambients=collect("ambients", _ambient_rows(estate)),
        modules=module_rows,
        # In the order of their key, neighbouring rows are written to the same page one after the other.
        states=sorted(_state_rows(estate, module_rows), key=itemgetter(0)),
    )


def _floor_rows(estate: Estate) -> Iterator[RowValues]:
    for each in estate.plants:
        for position, floor in enumerate(each.topology.floors):
            yield (floor.id, each.plant.id, position, floor.internal_id, floor.name)


def _ambient_rows(estate: Estate) -> Iterator[RowValues]:
    for each in estate.plants:
        placed = [(ambient, floor.id) for floor in each.topology.floors for ambient in floor.ambients]
        for position, (ambient, floor_id) in enumerate([*placed, *((ambient, None) for ambient in each.topology.ambients)]):
            yield (ambient.id, each.plant.id, floor_id, position, ambient.internal_id, ambient.name, ambient.type)


def _module_rows(estate: Estate) -> Iterator[RowValues]:
    for each in estate.plants:
        position = 0
        rooms: list[tuple[Id | None, tuple[Module, ...]]] = [
            (ambient.id, ambient.modules) for ambient in each.topology.every_ambient()
        ]
        for ambient_id, in_room in [*rooms, (None, each.topology.modules)]:
            for module in in_room:
                yield module_to_values(module, each.plant.id, ambient_id, position)
                position += 1


def _state_rows(estate: Estate, module_rows: dict[Id, RowValues]) -> Iterator[RowValues]:
    for each in estate.plants:
        for given in each.states:
            if given.module_id not in module_rows:
                raise ValueError(f"the estate gives a state for the module {given.module_id}, which is not in it")
            text = None if given.state is None else state_to_json(given.module_id, given.state)
            yield (given.module_id, text, given.reachable, 0.0, None)
