"""Exports the whole estate. A gateway that imports it into an empty store gives the same answers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Row, select

from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.ids import Id
from domogate.domain.reachability import AbsenceReason
from domogate.domain.safety import SpareParts
from domogate.stores.clients import list_clients
from domogate.stores.codec import decode_absence, decode_parts, decode_state
from domogate.stores.injections import covered_states
from domogate.stores.keys import list_subscriptions
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
from domogate.stores.tables import plants, spare_parts


def export_estate(connection: Connection) -> Estate:
    parts = connection.execute(select(spare_parts).order_by(spare_parts.c.unit))
    return Estate(
        users=tuple(list_users(connection)),
        subscriptions=tuple(list_subscriptions(connection)),
        clients=tuple(list_clients(connection)),
        plants=tuple(sorted(_export_plants(connection), key=lambda each: (each.plant.name, each.plant.id))),
        spare_parts=tuple(SpareParts(row.unit, decode_parts(row.parts)) for row in parts),
    )


def _export_plants(connection: Connection) -> Iterable[EstatePlant]:
    people = people_from_rows(connection.execute(SELECT_MEMBERS), connection.execute(SELECT_INVITATIONS))
    floor_rows = _by_plant(connection.execute(SELECT_FLOORS))
    ambient_rows = _by_plant(connection.execute(SELECT_AMBIENTS))
    module_rows = _by_plant(connection.execute(SELECT_MODULES))
    covered = covered_states(connection)
    for row in connection.execute(select(plants, HAS_CONTROLLER)):
        in_plant = module_rows.get(row.id, [])
        yield EstatePlant(
            plant=plant_from_row(row, people[row.id], is_site=row.has_controller),
            topology=topology_from_rows(floor_rows.get(row.id, []), ambient_rows.get(row.id, []), in_plant),
            states=tuple(_first_state(module, covered) for module in in_plant if module.reported is not None),
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
