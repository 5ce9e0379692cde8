"""Finds modules of all plants by name, room, kind, driver, or the reason why they cannot be reached.

Also finds the names of modules, plants, clients and subscriptions by their ids.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, func, or_, select, true

from domogate.domain.ids import Id
from domogate.ports import NO_STATE_YET, ModuleFilter, ModulePlace, Named, PlacedModule
from domogate.stores.codec import NUL
from domogate.stores.engine import chunked
from domogate.stores.plants import SELECT_MODULES, is_absent_because, state_from_row
from domogate.stores.rows import module_from_row
from domogate.stores.tables.identity import clients
from domogate.stores.tables.keys import subscriptions
from domogate.stores.tables.plants import ambients, modules, plants, states

_MODULES = (
    SELECT_MODULES.add_columns(plants.c.name.label("plant_name"), ambients.c.name.label("ambient_name"))
    .join(plants, plants.c.id == modules.c.plant_id)
    .outerjoin(ambients, ambients.c.id == modules.c.ambient_id)
    .order_by(None)
)


def search_modules(connection: Connection, wanted: ModuleFilter, after: Id | None, limit: int) -> Sequence[PlacedModule]:
    """Return at most `limit` modules that match `wanted` and whose ids are greater than `after`, ordered by id."""
    if NUL in f"{wanted.text}{wanted.driver}":
        return []
    query = _MODULES.where(_condition(wanted)).order_by(modules.c.id).limit(limit)
    if after is not None:
        query = query.where(modules.c.id > after)
    return [
        PlacedModule(module_from_row(row), _place(row), NO_STATE_YET if row.reachable is None else state_from_row(row))
        for row in connection.execute(query)
    ]


def find_places(connection: Connection, module_ids: Sequence[Id]) -> dict[Id, ModulePlace]:
    """Return the place (plant and room) of each of these modules. Unknown modules are not in the result."""
    these = _MODULES.where(modules.c.id.in_(bindparam("ids", expanding=True)))
    return {row.id: _place(row) for row in connection.execute(these, {"ids": module_ids})}


def find_names(connection: Connection, ids: Sequence[str]) -> dict[str, Named]:
    found: dict[str, Named] = {}
    for some in chunked(one for one in ids if NUL not in one):
        rows = connection.execute(select(modules.c.id, modules.c.name, modules.c.plant_id).where(modules.c.id.in_(some)))
        found |= {row.id: Named("module", row.name, row.plant_id) for row in rows}
        rows = connection.execute(select(plants.c.id, plants.c.name).where(plants.c.id.in_(some)))
        found |= {row.id: Named("plant", row.name) for row in rows}
        rows = connection.execute(select(clients.c.id, clients.c.name).where(clients.c.id.in_(some)))
        found |= {row.id: Named("client", row.name) for row in rows}
        rows = connection.execute(select(subscriptions.c.id, subscriptions.c.name).where(subscriptions.c.id.in_(some)))
        found |= {row.id: Named("subscription", row.name) for row in rows}
    return found


def _place(row: Row[Any]) -> ModulePlace:
    return ModulePlace(row.plant_id, row.plant_name, row.ambient_id, row.ambient_name)


def _condition(wanted: ModuleFilter) -> ColumnElement[bool]:
    found: list[ColumnElement[bool]] = [true()]
    for word in wanted.text.split():
        # Every word must be in the name of the module, its room or its plant.
        # SQLite changes the case of ASCII letters only, so the word is also searched for as it is written.
        names = (modules.c.name, ambients.c.name, plants.c.name)
        lower = (func.lower(name).contains(word.lower(), autoescape=True) for name in names)
        found.append(or_(*lower, *(name.contains(word, autoescape=True) for name in names)))
    equal = {modules.c.plant_id: wanted.plant_id, modules.c.ambient_id: wanted.ambient_id, modules.c.kind: wanted.kind}
    found += [column == value for column, value in {**equal, modules.c.driver: wanted.driver}.items() if value is not None]
    if wanted.reachable is not None:
        found.append(func.coalesce(states.c.reachable, true()).is_(wanted.reachable))
    if wanted.reason is not None:
        found.append(is_absent_because(wanted.reason))
    return and_(*found)
