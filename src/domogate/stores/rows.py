"""Converts plants and their modules to rows and back."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Row

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
    from_row,
    to_json,
    to_json_or_none,
    to_row,
)
from domogate.stores.tables import modules

MODULE_COLUMNS = [modules.c[name] for name in Module.__struct_fields__]
"""The columns that make a module, in the order of its fields. Rows are read by position, because names take more time."""
_WIDTH = len(MODULE_COLUMNS)
_KINDS = {kind.value: kind for kind in DeviceKind}

People = tuple[Member, tuple[Member, ...], tuple[Invitation, ...]]
"""The owner, the allowed users and the invited people."""


def plant_to_row(plant: Plant, removed_at: float | None) -> dict[str, Any]:
    return to_row(
        plant, type=plant.type.value, status=plant.status.value, removed_at=removed_at, marked_as_site=plant.emergency_lighting
    )


def plant_from_row(row: Row[Any], people: People, *, is_site: bool) -> Plant:
    owner, allowed, invited = people
    return from_row(
        Plant,
        row,
        type=PlantType(row.type),
        status=PlantStatus(row.status),
        owner=owner,
        allowed=allowed,
        invited=invited,
        emergency_lighting=row.marked_as_site or is_site,
    )


def people_from_rows(member_rows: Iterable[Row[Any]], invitation_rows: Iterable[Row[Any]]) -> Mapping[Id, People]:
    """Return the people of each plant. The rows must be ordered by position."""
    owners: dict[Id, Member] = {}
    allowed: dict[Id, list[Member]] = defaultdict(list)
    invited: dict[Id, list[Invitation]] = defaultdict(list)
    for row in member_rows:
        member = Member(row.user_id, row.email, limits_from_row(row))
        if row.owner:
            owners[row.plant_id] = member
        else:
            allowed[row.plant_id].append(member)
    for row in invitation_rows:
        invited[row.plant_id].append(Invitation(row.email, limits_from_row(row)))
    return {
        plant_id: (owner, tuple(allowed.get(plant_id, ())), tuple(invited.get(plant_id, ())))
        for plant_id, owner in owners.items()
    }


def limits_from_row(row: Row[Any]) -> Limits | None:
    return None if row.limits is None else decode_limits(row.limits)


def module_to_values(module: Module, plant_id: Id, ambient_id: Id | None, position: int) -> tuple[Any, ...]:
    """Return the values of a module's row, in the order of the columns."""
    return (
        module.id,
        plant_id,
        ambient_id,
        position,
        module.internal_id,
        module.name,
        module.kind.value,
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


def module_from_row(row: Row[Any]) -> Module:
    """Make the module of a row that begins with MODULE_COLUMNS."""
    module_id, internal_id, name, kind, driver, kind_of_type, hw_type, device_type, *encoded, controller_id = row[:_WIDTH]
    metrics, capabilities, detail, options = encoded
    return Module(
        module_id,
        internal_id,
        name,
        _KINDS[kind],
        driver,
        kind_of_type,
        hw_type,
        device_type,
        None if metrics is None else decode_metrics(metrics),
        None if capabilities is None else decode_capabilities(capabilities),
        None if detail is None else decode_detail(detail),
        {} if options == "{}" else decode_options(options),
        controller_id,
    )


def topology_from_rows(
    floor_rows: Sequence[Row[Any]], ambient_rows: Sequence[Row[Any]], module_rows: Sequence[Row[Any]]
) -> Topology:
    """Build the topology from the rows of one plant. The rows must be ordered by position."""
    modules_in: dict[Id | None, list[Module]] = defaultdict(list)
    for row in module_rows:
        modules_in[row.ambient_id].append(module_from_row(row))
    ambients_on: dict[Id | None, list[Ambient]] = defaultdict(list)
    for row in ambient_rows:
        ambient = Ambient(row.id, row.internal_id, row.name, row.type, tuple(modules_in.get(row.id, ())))
        ambients_on[row.floor_id].append(ambient)
    return Topology(
        floors=tuple(Floor(row.id, row.internal_id, row.name, tuple(ambients_on.get(row.id, ()))) for row in floor_rows),
        ambients=tuple(ambients_on.get(None, ())),
        modules=tuple(modules_in.get(None, ())),
    )
