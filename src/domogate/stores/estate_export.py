"""Exports the whole estate, in parts.

After an import of the exported estate into an empty store, the families show the same plants and states. Injected faults are
not exported.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import BindParameter, Connection, Row, bindparam, collate, func, select

from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.ids import Id
from domogate.domain.reachability import AbsenceReason
from domogate.domain.safety import SpareParts
from domogate.stores.clients import list_clients
from domogate.stores.codec import decode_absence, decode_parts, decode_state
from domogate.stores.injections import covered_states
from domogate.stores.keys import list_subscriptions
from domogate.stores.parts import split
from domogate.stores.people import list_users
from domogate.stores.plants import (
    HAS_CONTROLLER,
    SELECT_AMBIENTS,
    SELECT_FLOORS,
    SELECT_INVITATIONS,
    SELECT_MEMBERS,
    SELECT_MODULES,
)
from domogate.stores.rows import people_from_rows, plant_from_row, topology_from_rows
from domogate.stores.tables.plants import ambients, floors, invitations, members, modules, plants, spare_parts

_IDS: BindParameter[Any] = bindparam("ids", expanding=True)
_PLANTS = select(plants, HAS_CONTROLLER).where(plants.c.id.in_(_IDS))
_MEMBERS = SELECT_MEMBERS.where(members.c.plant_id.in_(_IDS))
_INVITATIONS = SELECT_INVITATIONS.where(invitations.c.plant_id.in_(_IDS))
_FLOORS = SELECT_FLOORS.where(floors.c.plant_id.in_(_IDS))
_AMBIENTS = SELECT_AMBIENTS.where(ambients.c.plant_id.in_(_IDS))
_MODULES = SELECT_MODULES.where(modules.c.plant_id.in_(_IDS))


def export_estate(connection: Connection) -> Estate:
    exported: list[EstatePlant] = []
    estate = export_in_parts(connection, exported.append)
    return msgspec.structs.replace(estate, plants=tuple(exported))


def export_in_parts(connection: Connection, take: Callable[[EstatePlant], None]) -> Estate:
    """Pass the plants to `take`, ordered by name. Return the estate without plants. All data is from one snapshot."""
    covered = covered_states(connection)
    by_code_point = collate(plants.c.name, "C" if connection.dialect.name == "postgresql" else "BINARY")
    size = select(func.count()).where(modules.c.plant_id == plants.c.id).scalar_subquery()
    in_order = select(plants.c.id, size.label("size")).order_by(by_code_point, plants.c.id)
    for part in split(connection.execute(in_order, execution_options={"yield_per": 1_000}), lambda row: row.size):
        for plant in _export_plants(connection, [row.id for row in part], covered):
            take(plant)
    parts = connection.execute(select(spare_parts).order_by(spare_parts.c.unit))
    return Estate(
        users=tuple(list_users(connection)),
        subscriptions=tuple(list_subscriptions(connection)),
        clients=tuple(list_clients(connection)),
        spare_parts=tuple(SpareParts(row.unit, decode_parts(row.parts)) for row in parts),
    )


def _export_plants(connection: Connection, ids: Sequence[Id], covered: Mapping[Id, str]) -> Iterator[EstatePlant]:
    """Yield the plants in the order of `ids`. `covered` has the real states that injected faults replaced, by module."""
    these = {"ids": ids}
    people = people_from_rows(connection.execute(_MEMBERS, these), connection.execute(_INVITATIONS, these))
    floor_rows = _by_plant(connection.execute(_FLOORS, these))
    ambient_rows = _by_plant(connection.execute(_AMBIENTS, these))
    module_rows = _by_plant(connection.execute(_MODULES, these))
    plant_rows = {row.id: row for row in connection.execute(_PLANTS, these)}
    for plant_id in ids:
        row, in_plant = plant_rows[plant_id], module_rows.get(plant_id, [])
        yield EstatePlant(
            plant=plant_from_row(row._mapping, people[plant_id], is_site=row.has_controller),
            topology=topology_from_rows(floor_rows.get(plant_id, []), ambient_rows.get(plant_id, []), in_plant),
            states=tuple(_first_state(module, covered) for module in in_plant if module.reachable is not None),
        )


def _first_state(row: Row[Any], covered: Mapping[Id, str]) -> FirstState:
    """Return the state without injected faults, because an estate does not contain them."""
    text = covered.get(row.id, row.state)
    played = row.absence is not None and decode_absence(row.absence).why is AbsenceReason.INJECTED
    return FirstState(row.id, None if text is None else decode_state(text), row.reachable or played)


def _by_plant(rows: Iterable[Row[Any]]) -> dict[Id, list[Row[Any]]]:
    grouped: dict[Id, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        grouped[row.plant_id].append(row)
    return grouped
