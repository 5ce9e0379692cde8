"""Imports an estate in one transaction, or in parts. With `prune`, it also removes the records that the estate does not list.

Stored states are kept. The state of a module in the file is used only if no state of this module is stored. Only differences
are written. So importing the same file again changes nothing and emits no event.
"""

from collections.abc import Iterator, Sequence

import msgspec
from sqlalchemy import bindparam, delete, select, update

from domogate.domain.estate import Estate
from domogate.domain.events import PlantChanged, SparePartsChanged
from domogate.domain.ids import Id
from domogate.domain.plants import SIMULATED_DRIVERS, PlantStatus
from domogate.ports import ImportSummary
from domogate.stores.clients import remove_clients
from domogate.stores.codec import to_json
from domogate.stores.engine import Transaction, chunked, execute_many
from domogate.stores.estate_people import (
    ImportedUsers,
    PeopleOfPlants,
    compare_clients,
    compare_members,
    compare_subscriptions,
    compare_users,
    write_clients,
    write_members,
    write_subscriptions,
    write_users,
)
from domogate.stores.estate_rows import PLANT_ID, EstateRows, make_rows
from domogate.stores.keys import remove_subscriptions
from domogate.stores.members import list_plants_of_user, people_of, take_up_invitations
from domogate.stores.people import remove_users
from domogate.stores.reconcile import Difference, RowValues, collect, compare, remove, values_of, write
from domogate.stores.rows import plant_to_row
from domogate.stores.tables.devices import injections, series
from domogate.stores.tables.plants import ambients, floors, invitations, modules, plants, spare_parts, states

_COLUMN = {name: index for index, name in enumerate(modules.columns.keys())}
TABLE_OF = {"plants": plants, "floors": floors, "ambients": ambients, "modules": modules, "spare parts": spare_parts}


def import_estate(tx: Transaction, estate: Estate, *, prune: bool) -> ImportSummary:
    """Import the estate in one transaction.

    Raises ValueError and changes nothing if the estate contradicts itself or the store.
    """
    return import_part(tx, estate, prune=prune, is_all=True)[1]


def import_part(
    tx: Transaction,
    estate: Estate,
    users: ImportedUsers | None = None,
    rows: EstateRows | None = None,
    *,
    prune: bool = False,
    is_all: bool = False,
) -> tuple[ImportedUsers, ImportSummary]:
    """Import a part of an estate. The first part has the users.

    The other parts have only plants. For them, `users` are the users of the first part. `rows` are the rows of the part, if
    they were made before the transaction.

    If `prune` is true, each part removes the memberships and invitations that its plants do not list. The first part also
    removes the applications, keys and spare parts that it does not list. If `is_all` is true, the part is the whole estate.
    With `prune` and `is_all`, unlisted users, plants, floors, ambients and modules are removed too. With `prune` alone,
    `estate_prune.py` removes them later.
    """
    people_before = people_of(tx.connection, _known_plants(tx, estate, prune=prune and is_all))
    rows = rows or make_rows(estate)
    plan = plan_import(tx, estate, rows, users, prune=prune, is_all=is_all)
    differences = plan.differences
    write_users(tx, differences["users"])
    write_clients(tx, differences["clients"])
    write_subscriptions(tx, differences["subscriptions"])
    for noun in ("plants", "floors", "ambients", "modules", "spare parts"):
        write(tx, TABLE_OF[noun], differences[noun])
    _follow_moves(tx, differences)
    write_members(tx, plan.people)
    first_states_of = _import_states(tx, rows, differences["modules"])
    for noun in ("modules", "ambients", "floors", "plants", "spare parts"):
        remove(tx, TABLE_OF[noun], differences[noun])
    if is_all:
        remove_users(tx, [row[0] for row in differences["users"].gone])
    remove_clients(tx, [row[0] for row in differences["clients"].gone])
    remove_subscriptions(tx, [row[0] for row in differences["subscriptions"].gone])

    changed_plants = plan.people.plant_ids | first_states_of | differences["plants"].touched(0)
    for noun in ("floors", "ambients", "modules"):
        changed_plants |= differences[noun].touched(PLANT_ID)
    if users is None:
        changed_plants |= take_up_invitations(tx)
        for user_id in plan.users.renamed:
            changed_plants.update(list_plants_of_user(tx.connection, user_id))
    else:  # Somebody may have become active after the first part.
        for plant_ids in chunked(sorted({str(row["plant_id"]) for row in plan.people.invitations})):
            changed_plants |= take_up_invitations(tx, invitations.c.plant_id.in_(plant_ids))
    emit_changes(tx, changed_plants, people_before, differences)
    return plan.users, summarise(differences, plan.people.plant_ids)


class ImportPlan(msgspec.Struct):
    """The changes that an import makes, for each kind of record."""

    users: ImportedUsers
    people: PeopleOfPlants
    differences: dict[str, Difference]


def plan_import(
    tx: Transaction, estate: Estate, rows: EstateRows, users: ImportedUsers | None = None, *, prune: bool, is_all: bool
) -> ImportPlan:
    """Compare the estate with the store, and return the changes that `import_part` has to make. This function writes nothing.

    `import_part` explains the arguments.
    """
    prune_all = prune and is_all
    differences: dict[str, Difference] = {}
    imported_users = users or compare_users(tx, estate, prune=prune)
    differences["users"] = Difference() if users else imported_users.difference
    differences["clients"] = Difference() if users else compare_clients(tx, estate, prune=prune)
    differences["subscriptions"] = Difference() if users else compare_subscriptions(tx, estate, prune=prune)
    differences["plants"] = compare(tx, plants, collect("plants", _plant_rows(tx, estate)), prune=prune_all)
    differences["floors"] = compare(tx, floors, rows.floors, prune=prune_all)
    differences["ambients"] = compare(tx, ambients, rows.ambients, prune=prune_all)
    differences["modules"] = compare(tx, modules, rows.modules, prune=prune_all)
    parts = collect("spare parts", ((each.unit, to_json(each.parts)) for each in estate.spare_parts))
    differences["spare parts"] = compare(tx, spare_parts, parts, prune=prune and users is None)
    people = compare_members(tx, (each.plant for each in estate.plants), imported_users, prune=prune)
    return ImportPlan(imported_users, people, differences)


def _known_plants(tx: Transaction, estate: Estate, *, prune: bool) -> Sequence[Id]:
    return tx.connection.execute(select(plants.c.id)).scalars().all() if prune else [each.plant.id for each in estate.plants]


def _plant_rows(tx: Transaction, estate: Estate) -> Iterator[RowValues]:
    removed = select(plants.c.id, plants.c.removed_at).where(plants.c.status == PlantStatus.REMOVED.value)
    removed_at = {row.id: row.removed_at for row in tx.connection.execute(removed)}
    for each in estate.plants:
        plant = each.plant
        if plant.status is PlantStatus.ACTIVE:
            yield values_of(plants, plant_to_row(plant, None))
        elif plant.removed_at is not None:
            yield values_of(plants, plant_to_row(plant, plant.removed_at))
        else:
            yield values_of(plants, plant_to_row(plant, removed_at.get(plant.id, tx.now)))


def _follow_moves(tx: Transaction, differences: dict[str, Difference]) -> None:
    """If a floor or ambient moved to another plant, move its ambients and modules too.

    Ambients and modules that the estate does not list are moved too.
    """
    updated = [*differences["floors"].updated, *differences["ambients"].updated]
    if all(old[PLANT_ID] == new[PLANT_ID] for old, new in updated):
        return
    for inner, key, outer in ((ambients, ambients.c.floor_id, floors), (modules, modules.c.ambient_id, ambients)):
        strays = select(outer.c.id, outer.c.plant_id).join(inner, key == outer.c.id).where(inner.c.plant_id != outer.c.plant_id)
        follow = update(inner).where(key == bindparam("outer_id")).values(plant_id=bindparam("to_plant"))
        rows = tx.connection.execute(strays.distinct()).all()
        execute_many(tx.connection, follow, [{"outer_id": outer_id, "to_plant": plant_id} for outer_id, plant_id in rows])


def _import_states(tx: Transaction, rows: EstateRows, difference: Difference) -> set[Id]:
    """If a module has no stored state, store the state that the estate gives for it. Return the changed plants.

    Before this, old data of changed modules is removed. If a module has another kind now, its state and its injected faults are
    removed. If a module is not simulated any more, its state and its readings are removed, and it gets no state from the
    estate. In all other cases of a new driver or new options, the state is kept with the time 0: no report has confirmed it.
    """
    kind, driver, options = _COLUMN["kind"], _COLUMN["driver"], _COLUMN["options"]
    replaced = [{"of_module": new[0]} for old, new in difference.updated if old[kind] != new[kind]]
    now_real = {
        new[0] for old, new in difference.updated if old[driver] in SIMULATED_DRIVERS and new[driver] not in SIMULATED_DRIVERS
    }
    invented = [{"of_module": module_id} for module_id in now_real]
    # If a module has another kind now, its stored state and its injected faults do not apply any more. If it was simulated, its
    # state and its readings were invented.
    for table, gone in ((states, [*replaced, *invented]), (injections, replaced), (series, invented)):
        execute_many(tx.connection, delete(table).where(table.c.module_id == bindparam("of_module")), gone)
    # With another driver or other options the module may be in another state, so the last state is unconfirmed.
    unconfirmed = [
        {"of_module": new[0]} for old, new in difference.updated if (old[driver], old[options]) != (new[driver], new[options])
    ]
    execute_many(tx.connection, update(states).where(states.c.module_id == bindparam("of_module")).values(at=0.0), unconfirmed)
    has_state = select(states.c.module_id, states.c.state.is_not(None)).where(tx.database.is_listed(states.c.module_id, "ids"))
    # A new module has no stored state, so the states of new modules are not searched.
    new = {row[0] for row in difference.added}
    given_for = [row[0] for row in rows.states if row[0] not in new]
    stored = {id: has for ids in chunked(given_for) for id, has in tx.connection.execute(has_state, {"ids": ids})}
    changed_plants: set[Id] = set()
    first: list[RowValues] = []
    filled: list[dict[str, object]] = []
    for row in rows.states:
        module_id, text, *_ = row
        if module_id in now_real:
            continue  # the estate has the invented state, for example from an export
        if module_id not in stored:
            first.append(row)
            stored[module_id] = text is not None
        elif text is not None and not stored[module_id]:
            filled.append({"of_module": module_id, "given": text})
        else:
            continue
        changed_plants.add(rows.modules[module_id][PLANT_ID])
    tx.database.insert_rows(tx.connection, states, first)
    # The module reported something else, for example that it is offline. A state of the estate is not confirmed by this.
    fill = update(states).where(states.c.module_id == bindparam("of_module")).values(state=bindparam("given"), at=0.0)
    execute_many(tx.connection, fill, filled)
    return changed_plants


def emit_changes(
    tx: Transaction,
    changed_plants: set[Id],
    people_before: dict[Id, dict[Id, str | None]],
    differences: dict[str, Difference],
) -> None:
    people_after = people_of(tx.connection, changed_plants)
    for plant_id in sorted(changed_plants):
        people = people_before.get(plant_id, {}).keys() | people_after.get(plant_id, {}).keys()
        tx.emit(PlantChanged(plant_id=plant_id, user_ids=tuple(sorted(people))))
    # A reference is known if a unit in any plant has it (E19).
    reference = _COLUMN["reference"]
    moved = differences["modules"]
    units = differences["spare parts"].touched(0) if "spare parts" in differences else set()
    units |= {row[reference] for row in [*moved.added, *moved.gone]}
    for old, new in moved.updated:
        if old[reference] != new[reference]:
            units.update((old[reference], new[reference]))
    for unit in sorted(unit for unit in units if unit is not None):
        tx.emit(SparePartsChanged(unit=unit))


def summarise(differences: dict[str, Difference], changed_people: set[Id]) -> ImportSummary:
    updated = {noun: len(difference.updated) for noun, difference in differences.items()}
    # A plant whose people changed counts as updated too.
    added_plants = {row[0] for row in differences["plants"].added}
    updated["plants"] = len({new[0] for _, new in differences["plants"].updated} | (changed_people - added_plants))
    return ImportSummary(
        added={noun: len(difference.added) for noun, difference in differences.items()},
        updated=updated,
        removed={noun: len(difference.gone) for noun, difference in differences.items()},
    )
