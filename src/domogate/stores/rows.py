"""Converts plants and their modules to rows and back."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.limits import Limits
from domogate.domain.plants import (
    Ambient,
    Floor,
    Invitation,
    Member,
    Module,
    Plant,
    PlantStatus,
    PlantType,
    Topology,
    UnitDetail,
)
from domogate.stores.codec import (
    decode_capabilities,
    decode_detail,
    decode_limits,
    decode_metrics,
    decode_options,
    from_columns,
    to_json,
    to_json_or_none,
    to_row,
)
from domogate.stores.tables.plants import modules

MODULE_COLUMNS = [modules.c[name] for name in Module.__struct_fields__]
"""The columns that make a module, in the order of its fields.

Rows are read by position, because reading by name takes more time.
"""
_WIDTH = len(MODULE_COLUMNS)
_ENCODED = Module.__struct_fields__.index("metrics")
"""The place in MODULE_COLUMNS of the first column whose value is JSON."""
_AMBIENT_ID = _WIDTH
"""The place of the ambient's id in a row of SELECT_MODULES."""
_KINDS = {kind.value: kind for kind in DeviceKind}

RowLike = Sequence[Any]
"""A row of SQLAlchemy or of the database driver. Its values are read by position, because reading by name is slower."""

People = tuple[Member, tuple[Member, ...], tuple[Invitation, ...]]
"""The owner, the allowed users and the invited people of a plant."""


def plant_to_row(plant: Plant, removed_at: float | None) -> dict[str, Any]:
    return to_row(
        plant, type=plant.type.value, status=plant.status.value, removed_at=removed_at, marked_as_site=plant.emergency_lighting
    )


def plant_from_row(row: Mapping[Any, Any], people: People, *, is_site: bool) -> Plant:
    owner, allowed, invited = people
    return from_columns(
        Plant,
        row,
        type=PlantType(row["type"]),
        status=PlantStatus(row["status"]),
        owner=owner,
        allowed=allowed,
        invited=invited,
        emergency_lighting=bool(row["marked_as_site"]) or is_site,
    )


def people_from_rows(member_rows: Iterable[RowLike], invitation_rows: Iterable[RowLike]) -> Mapping[Id, People]:
    """Return the people of each plant. The rows are rows of SELECT_MEMBERS and SELECT_INVITATIONS (plants.py)."""
    owners: dict[Id, Member] = {}
    allowed: dict[Id, list[Member]] = defaultdict(list)
    invited: dict[Id, list[Invitation]] = defaultdict(list)
    for plant_id, user_id, is_owner, limits, _, email in member_rows:
        member = Member(user_id, email, _decode_limits(limits))
        if is_owner:
            owners[plant_id] = member
        else:
            allowed[plant_id].append(member)
    for plant_id, email, limits in invitation_rows:
        invited[plant_id].append(Invitation(email, _decode_limits(limits)))
    return {
        plant_id: (owner, tuple(allowed.get(plant_id, ())), tuple(invited.get(plant_id, ())))
        for plant_id, owner in owners.items()
    }


def _decode_limits(text: str | None) -> Limits | None:
    return None if text is None else decode_limits(text)


def module_to_values(module: Module, plant_id: Id, ambient_id: Id | None, position: int) -> tuple[Any, ...]:
    """Return the values of a module's row, in the order of the columns."""
    return (
        module.id,
        plant_id,
        ambient_id,
        position,
        module.internal_id,
        module.name,
        str(module.kind),  # In Python 3.11, `value` takes much longer.
        module.driver,
        module.type,
        module.hw_type,
        module.device_type,
        to_json_or_none(module.metrics),
        to_json_or_none(module.capabilities),
        to_json_or_none(module.detail),
        to_json(module.options),
        module.controller_id,
        module.detail.reference if isinstance(module.detail, UnitDetail) else None,
        True,
    )


def module_from_row(row: RowLike) -> Module:
    """Make a module from a row that begins with MODULE_COLUMNS."""
    module_id, internal_id, name, kind, driver, of_type, hw_type, device_type = row[:_ENCODED]
    metrics, capabilities, detail, options, controller_id = row[_ENCODED:_WIDTH]
    return Module(
        module_id,
        internal_id,
        name,
        _KINDS[kind],
        driver,
        of_type,
        hw_type,
        device_type,
        None if metrics is None else decode_metrics(metrics),
        None if capabilities is None else decode_capabilities(capabilities),
        None if detail is None else decode_detail(detail),
        {} if options == "{}" else decode_options(options),
        controller_id,
    )


def topology_from_rows(
    floor_rows: Iterable[RowLike], ambient_rows: Iterable[RowLike], module_rows: Iterable[RowLike]
) -> Topology:
    """Build the topology from the rows of one plant. The rows are rows of SELECT_FLOORS, SELECT_AMBIENTS and SELECT_MODULES."""
    modules_in: dict[Id | None, list[Module]] = defaultdict(list)
    for row in module_rows:
        modules_in[row[_AMBIENT_ID]].append(module_from_row(row))
    ambients_on: dict[Id | None, list[Ambient]] = defaultdict(list)
    for ambient_id, _, floor_id, _, internal_id, name, kind in ambient_rows:
        ambients_on[floor_id].append(Ambient(ambient_id, internal_id, name, kind, tuple(modules_in.get(ambient_id, ()))))
    return Topology(
        floors=tuple(
            Floor(floor_id, internal_id, name, tuple(ambients_on.get(floor_id, ())))
            for floor_id, _, _, internal_id, name in floor_rows
        ),
        ambients=tuple(ambients_on.get(None, ())),
        modules=tuple(modules_in.get(None, ())),
    )
