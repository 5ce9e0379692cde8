"""Stores injected faults, separately from the reports of drivers."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    Select,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from domogate.domain.events import PlantAspect
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.stores.codec import decode_state
from domogate.stores.engine import Transaction, chunked, execute_many
from domogate.stores.entries import log_restored
from domogate.stores.members import changing_plants
from domogate.stores.tables.devices import injections
from domogate.stores.tables.plants import modules, plants, states

COVERING = frozenset({InjectedFault.BATTERY, InjectedFault.FAILURE})
"""Faults that replace the real state of a module."""

_of_plant: ColumnElement[Any] = func.coalesce(injections.c.plant_id, modules.c.plant_id)
_ALL = (
    select(injections, _of_plant.label("of_plant"))
    .outerjoin(modules, modules.c.id == injections.c.module_id)
    .order_by(injections.c.id)
)
_here: BindParameter[Any] = bindparam("here")
_IN_PLANT = or_(
    injections.c.plant_id == _here, injections.c.module_id.in_(select(modules.c.id).where(modules.c.plant_id == _here))
)
_OF_PLANT = _ALL.where(_IN_PLANT)
_INSERT = insert(injections)
_REMOVE = delete(injections).where(injections.c.id == bindparam("of_id"))
_STATES = select(states.c.module_id, states.c.state).where(states.c.module_id.in_(bindparam("ids", expanding=True)))
_COVERED: Select[Any] = select(injections.c.module_id, injections.c.covers).where(injections.c.covers.is_not(None))
_RESTORE = update(states).where(states.c.module_id == bindparam("of_module")).values(state=bindparam("own"), at=0.0)


def injections_of(connection: Connection, plant_id: Id) -> tuple[Injection, ...]:
    return tuple(_from_row(row) for row in connection.execute(_OF_PLANT, {"here": plant_id}))


def list_injections(connection: Connection) -> Sequence[tuple[Id, Injection]]:
    return [(row.of_plant, _from_row(row)) for row in connection.execute(_ALL)]


def covered_states(connection: Connection) -> dict[Id, str]:
    """Return the real state, as JSON, of each module whose state is replaced by a fault."""
    return {row.module_id: row.covers for row in connection.execute(_COVERED)}


def _from_row(row: Row[Any]) -> Injection:
    covers = None if row.covers is None else decode_state(row.covers)
    return Injection(InjectedFault(row.fault), row.module_id, row.value, row.until, covers)


def inject(tx: Transaction, plant_id: Id, wanted: Sequence[Injection]) -> bool:
    if tx.connection.execute(select(plants.c.id).where(plants.c.id == plant_id)).first() is None:
        return False
    here = set(tx.connection.execute(select(modules.c.id).where(modules.c.plant_id == plant_id)).scalars())
    if not all(injection.module_id is None or injection.module_id in here for injection in wanted):
        return False
    newest = {(injection.module_id, injection.fault): injection for injection in wanted}
    if not newest:
        return True
    replaced_states = sorted({module_id for module_id, fault in newest if module_id is not None and fault in COVERING})
    # If another fault replaced the state, the stored state is not the real state of the module.
    own = _stored_states(tx.connection, replaced_states) | covered_states(tx.connection)
    there = _find_matching(tx, plant_id, None, None, None)
    replaced = [row for row in there if (row.module_id, InjectedFault(row.fault)) in newest]
    with changing_plants(tx, [plant_id], PlantAspect.FAULTS):
        execute_many(tx.connection, _REMOVE, [{"of_id": row.id} for row in replaced])
        execute_many(
            tx.connection,
            _INSERT,
            [
                {
                    "plant_id": plant_id if module_id is None else None,
                    "module_id": module_id,
                    "fault": fault.value,
                    "value": injection.value,
                    "until": injection.until,
                    "covers": own.get(module_id) if module_id is not None and fault in COVERING else None,
                }
                for (module_id, fault), injection in newest.items()
            ],
        )
    return True


def _stored_states(connection: Connection, module_ids: Sequence[Id]) -> dict[Id, str]:
    rows = [row for ids in chunked(module_ids) for row in connection.execute(_STATES, {"ids": ids})]
    return {row.module_id: row.state for row in rows if row.state is not None}


def clear_injections(
    tx: Transaction,
    plant_id: Id | None,
    module_id: Id | None = None,
    fault: InjectedFault | None = None,
    *,
    ended_by: float | None = None,
) -> int:
    gone = _find_matching(tx, plant_id, module_id, fault, ended_by)
    with changing_plants(tx, {row.of_plant for row in gone}, PlantAspect.FAULTS):
        execute_many(tx.connection, _REMOVE, [{"of_id": row.id} for row in gone])
        _restore(tx, gone)
    return len(gone)


def _find_matching(
    tx: Transaction, plant_id: Id | None, module_id: Id | None, fault: InjectedFault | None, ended_by: float | None
) -> Sequence[Row[Any]]:
    query = _ALL
    if plant_id is not None:
        query = query.where(_IN_PLANT)
    if module_id is not None:
        query = query.where(injections.c.module_id == module_id)
    if fault is not None:
        query = query.where(injections.c.fault == fault.value)
    if ended_by is not None:
        query = query.where(injections.c.until <= ended_by)
    return tx.connection.execute(query, {} if plant_id is None else {"here": plant_id}).all()


def _restore(tx: Transaction, gone: Iterable[Row[Any]]) -> None:
    """Restore the real states of modules after the faults `gone` were removed.

    A state that another fault still replaces is not restored. The restored states get the time 0 (no report has confirmed
    them), because the real states may have changed during the fault.
    """
    still = covered_states(tx.connection)
    own = {row.module_id: row.covers for row in gone if row.covers is not None and row.module_id not in still}
    log_restored(tx, own)
    execute_many(tx.connection, _RESTORE, [{"of_module": module_id, "own": text} for module_id, text in own.items()])
