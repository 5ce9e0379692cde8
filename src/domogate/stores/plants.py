"""Reads one plant or a list of plants, and stores changes of plants that do not come from an estate file."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Connection, Select, bindparam, exists, func, select, update

from domogate.domain.devices import DeviceKind
from domogate.domain.events import PlantAspect
from domogate.domain.ids import Id
from domogate.domain.plants import Module, Plant, PlantStatus
from domogate.domain.reachability import AbsenceReason
from domogate.ports import StoredPlant, StoredState, UnnamedDrivers
from domogate.stores.codec import decode_absence, decode_state, to_json
from domogate.stores.cursors import CompleteCursorOf, complete_cursor
from domogate.stores.direct import DirectStatement
from domogate.stores.engine import Transaction, chunked
from domogate.stores.injections import injections_of
from domogate.stores.members import changing_plants
from domogate.stores.rows import MODULE_COLUMNS, People, RowLike, people_from_rows, plant_from_row, topology_from_rows
from domogate.stores.tables.devices import injections
from domogate.stores.tables.identity import users
from domogate.stores.tables.plants import ambients, floors, invitations, members, modules, plants, states

CONTROLLER = DeviceKind.EMERGENCY_CONTROLLER.value
HAS_CONTROLLER = exists().where(modules.c.plant_id == plants.c.id, modules.c.kind == CONTROLLER).label("has_controller")

# The rows are ordered by position, then by id: after an import without pruning, two records can have the same position.
SELECT_MEMBERS = (
    select(members.c.plant_id, members.c.user_id, members.c.owner, members.c.limits, members.c.since, users.c.email)
    .join(users, users.c.id == members.c.user_id)
    .order_by(members.c.position, members.c.user_id)
)
SELECT_INVITATIONS = select(invitations.c.plant_id, invitations.c.email, invitations.c.limits).order_by(
    invitations.c.position, invitations.c.email_key
)
SELECT_FLOORS = select(floors).order_by(floors.c.position, floors.c.id)
SELECT_AMBIENTS = select(ambients).order_by(ambients.c.position, ambients.c.id)
_STATE = (states.c.state, states.c.reachable, states.c.at, states.c.absence)
_ID, _KIND, _POSITION = 0, Module.__struct_fields__.index("kind"), len(MODULE_COLUMNS) + 1
_STATE_IN_ROW = slice(_POSITION + 1, _POSITION + 1 + len(_STATE))
_REACHABLE = _POSITION + 2
_UNSORTED_MODULES = select(*MODULE_COLUMNS, modules.c.ambient_id, modules.c.position, *_STATE).outerjoin(
    states, states.c.module_id == modules.c.id
)
SELECT_MODULES = _UNSORTED_MODULES.add_columns(modules.c.plant_id).order_by(modules.c.position, modules.c.id)
"""Modules with their states. If a module has no state yet, `reachable` is NULL."""

_THIS: BindParameter[Any] = bindparam("plant_id")
_HAS_FAULTS = select(func.min(injections.c.id)).scalar_subquery().is_not(None).label("has_faults")
_PLANT = DirectStatement(select(plants, CompleteCursorOf(_THIS).label("cursor"), _HAS_FAULTS).where(plants.c.id == _THIS))
_MEMBERS = DirectStatement(SELECT_MEMBERS.where(members.c.plant_id == _THIS))
_INVITATIONS = DirectStatement(SELECT_INVITATIONS.where(invitations.c.plant_id == _THIS))
_FLOORS = DirectStatement(SELECT_FLOORS.where(floors.c.plant_id == _THIS))
_AMBIENTS = DirectStatement(SELECT_AMBIENTS.where(ambients.c.plant_id == _THIS))
_MODULES = DirectStatement(_UNSORTED_MODULES.where(modules.c.plant_id == _THIS))
_by_position = itemgetter(_POSITION, _ID)

_MINE = select(members.c.plant_id).where(members.c.user_id == bindparam("user_id"))
_MY_PLANTS = select(plants, HAS_CONTROLLER).where(plants.c.id.in_(_MINE))
_MY_MEMBERS = SELECT_MEMBERS.where(members.c.plant_id.in_(_MINE))
_MY_INVITATIONS = SELECT_INVITATIONS.where(invitations.c.plant_id.in_(_MINE))

_PAGE = select(plants, HAS_CONTROLLER).order_by(plants.c.id).limit(bindparam("limit"))
_ON_PAGE: BindParameter[Any] = bindparam("ids", expanding=True)
_PAGE_MEMBERS: Select[Any] = SELECT_MEMBERS.where(members.c.plant_id.in_(_ON_PAGE))
_PAGE_INVITATIONS: Select[Any] = SELECT_INVITATIONS.where(invitations.c.plant_id.in_(_ON_PAGE))

_DRIVEN = (
    select(plants.c.id)
    .where(
        plants.c.status == PlantStatus.ACTIVE.value,
        exists().where(modules.c.driver == bindparam("driver"), modules.c.plant_id == plants.c.id),
    )
    .order_by(plants.c.id)
    .limit(bindparam("limit"))
)


def find_plant(connection: Connection, plant_id: Id) -> StoredPlant | None:
    """Return the plant, or None if it does not exist. Six queries in one snapshot read it.

    If any plant of the store has injected faults, one more query reads the faults of this plant. The number of queries does not
    depend on the number of modules.
    """

    this = {"plant_id": plant_id}
    row = _PLANT.first(connection, this)
    if row is None:
        return None
    # Python sorts the rows: SQLite would copy all columns of all rows to sort them.
    module_rows = sorted(_MODULES.all(connection, this), key=_by_position)
    member_rows = _MEMBERS.all(connection, this)
    people = people_from_rows(member_rows, _INVITATIONS.all(connection, this))[plant_id]
    topology = topology_from_rows(_FLOORS.all(connection, this), _AMBIENTS.all(connection, this), module_rows)
    is_site = CONTROLLER in {one[_KIND] for one in module_rows}
    return StoredPlant(
        plant=plant_from_row(row, people, is_site=is_site),
        topology=topology,
        states={one[_ID]: state_from_row(one) for one in module_rows if one[_REACHABLE] is not None},
        cursor=row["cursor"] or 0,
        injections=injections_of(connection, plant_id) if row["has_faults"] else (),
        joined={user_id: since for _, user_id, _, _, since, _ in member_rows},
    )


def is_absent_because(why: AbsenceReason) -> ColumnElement[bool]:
    """Return a condition for modules that are absent because of this reason.

    The stored JSON of an absence begins with the reason.
    """
    return states.c.absence.startswith(f'{{"why":"{why}"')


def state_from_row(row: RowLike) -> StoredState:
    """Make a stored state from a row of SELECT_MODULES."""
    text, reachable, at, absence = row[_STATE_IN_ROW]
    state = None if text is None else decode_state(text)
    return StoredState(state, bool(reachable), at, None if absence is None else decode_absence(absence))


def list_plants_of(connection: Connection, user_id: Id) -> tuple[tuple[Plant, ...], int]:
    mine = {"user_id": user_id}
    cursor = complete_cursor(connection)
    people = people_from_rows(connection.execute(_MY_MEMBERS, mine), connection.execute(_MY_INVITATIONS, mine))
    found = [
        plant_from_row(row._mapping, people[row.id], is_site=row.has_controller) for row in connection.execute(_MY_PLANTS, mine)
    ]
    # Sorted here, because databases sort text differently.
    return tuple(sorted(found, key=lambda plant: (plant.name, plant.id))), cursor


def list_plants(connection: Connection, after: Id | None, limit: int) -> Sequence[Plant]:
    page = _PAGE if after is None else _PAGE.where(plants.c.id > after)
    rows = connection.execute(page, {"limit": limit}).all()
    people: dict[Id, People] = {}
    for ids in chunked(row.id for row in rows):
        on_page = {"ids": ids}
        people |= people_from_rows(connection.execute(_PAGE_MEMBERS, on_page), connection.execute(_PAGE_INVITATIONS, on_page))
    return [plant_from_row(row._mapping, people[row.id], is_site=row.has_controller) for row in rows]


def list_plant_ids(connection: Connection, driver: str, limit: int) -> tuple[Id, ...]:
    return tuple(connection.execute(_DRIVEN, {"driver": driver, "limit": limit}).scalars())


def set_plant_status(tx: Transaction, plant_id: Id, status: PlantStatus, at: float) -> None:
    removed_at = at if status is PlantStatus.REMOVED else None
    with changing_plants(tx, [plant_id], PlantAspect.FACTS):
        changed = tx.connection.execute(
            update(plants).where(plants.c.id == plant_id).values(status=status.value, removed_at=removed_at)
        )
    if not changed.rowcount:
        raise ValueError(f"there is no plant {plant_id}")


def set_module_options(tx: Transaction, module_id: Id, options: dict[str, Any]) -> bool:
    plant_id = tx.connection.execute(select(modules.c.plant_id).where(modules.c.id == module_id)).scalar()
    if plant_id is None:
        return False
    with changing_plants(tx, [plant_id], PlantAspect.FACTS):
        tx.connection.execute(update(modules).where(modules.c.id == module_id).values(options=to_json(options)))
        # With other options the module may be in another state, so its last state is unconfirmed.
        tx.connection.execute(update(states).where(states.c.module_id == module_id).values(at=0.0))
    return True


def find_unnamed_drivers(connection: Connection) -> UnnamedDrivers | None:
    # Modules of real drivers always have a named driver. So this query needs no condition on the driver. Such a
    # condition would keep SQLite from using the index of these modules.
    unnamed = (
        select(modules.c.id, modules.c.name, plants.c.name.label("plant"))
        .join(plants)
        .where(modules.c.driver_named.is_(False), plants.c.status == PlantStatus.ACTIVE.value)
    )
    first = connection.execute(unnamed.order_by(plants.c.name, modules.c.name, modules.c.id).limit(1)).first()
    if first is None:
        return None
    count = connection.execute(select(func.count()).select_from(unnamed.subquery())).scalar_one()
    return UnnamedDrivers(count, first.plant, first.name, first.id)
