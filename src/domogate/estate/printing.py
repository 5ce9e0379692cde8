"""Writes an Estate as an estate file. Reading the file gives the same Estate."""

from collections.abc import Sequence
from typing import Any

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.formats import email_key
from domogate.domain.ids import Id
from domogate.domain.people import Client, Subscription, User
from domogate.domain.plants import (
    Ambient,
    ControllerDetail,
    Floor,
    Module,
    Plant,
    SceneDetail,
    ThermostatDetail,
    UnitDetail,
)
from domogate.estate import format as words
from domogate.estate.emit import emit

Record = dict[str, Any]


def print_estate(estate: Estate) -> str:
    """Secrets are written as hashes. Values that equal their default are left out."""
    return emit(
        {
            "users": [_user(user) for user in estate.users],
            "subscriptions": [_subscription(subscription) for subscription in estate.subscriptions],
            "clients": [_client(client) for client in estate.clients],
            "plants": [_plant(plant) for plant in estate.plants],
            "spareParts": [words.SPARE_PARTS.write(parts) for parts in estate.spare_parts],
        }
    )


def _user(user: User) -> Record:
    record = words.USER.write(user)
    if user.id != words.derived_id("user", email_key(user.email)):
        record["id"] = user.id
    return record


def _subscription(subscription: Subscription) -> Record:
    rest = words.SUBSCRIPTION.write(subscription)
    record = {"name": rest.pop("name"), "keyHash": subscription.key_hash, "hint": subscription.hint, **rest}
    if subscription.id != words.derived_id("subscription", subscription.key_hash):
        record["id"] = subscription.id
    return record


def _client(client: Client) -> Record:
    return {**words.CLIENT.write(client), "scopes": list(client.scopes)}


def _ids(noun: Plant | Floor | Ambient | Module) -> Record:
    record: Record = {"id": noun.id}
    if noun.internal_id != words.derived_id("internal", noun.id):
        record["internalId"] = noun.internal_id
    return record


def _plant(described: EstatePlant) -> Record:
    plant, topology = described.plant, described.topology
    states = {state.module_id: state for state in described.states}
    record = {**_ids(plant), **words.PLANT.write(plant)}
    if plant.emergency_lighting:
        record["emergencyLighting"] = True
    record["owner"] = plant.owner.email
    record |= _if_any(
        allowed=[words.write_person(member) for member in plant.allowed],
        invited=[words.write_person(invitation) for invitation in plant.invited],
        floors=[_floor(floor, states) for floor in topology.floors],
        ambients=_ambients(topology.ambients, states),
        modules=_modules(topology.modules, states),
    )
    return record


def _if_any(**lists: list[Any]) -> Record:
    return {key: items for key, items in lists.items() if items}


def _floor(floor: Floor, states: dict[Id, FirstState]) -> Record:
    return {**_ids(floor), "name": floor.name, **_if_any(ambients=_ambients(floor.ambients, states))}


def _ambients(ambients: Sequence[Ambient], states: dict[Id, FirstState]) -> list[Record]:
    records = []
    for ambient in ambients:
        record = {**_ids(ambient), "name": ambient.name}
        if ambient.type != "other":
            record["type"] = ambient.type
        records.append({**record, **_if_any(modules=_modules(ambient.modules, states))})
    return records


def _modules(modules: Sequence[Module], states: dict[Id, FirstState]) -> list[Record]:
    """Units that directly follow their controller are written under it. Other units are written as modules of the plant."""
    records: list[Record] = []
    controller: Id | None = None
    for module in modules:
        record = _module(module, states.get(module.id))
        if module.kind is DeviceKind.EMERGENCY_UNIT and module.controller_id == controller and controller is not None:
            del record["kind"]
            if not module.name:
                del record["name"]
            records[-1].setdefault("units", []).append(record)
            continue
        controller = module.id if module.kind is DeviceKind.EMERGENCY_CONTROLLER else None
        if module.kind is DeviceKind.EMERGENCY_UNIT and module.controller_id is not None:
            record["controller"] = module.controller_id
        records.append(record)
    return records


def _module(module: Module, first: FirstState | None) -> Record:
    record = {**_ids(module), "name": module.name, "kind": str(module.kind), **words.MODULE.write(module)}
    match module.detail:
        case SceneDetail(steps=steps):
            record |= _if_any(steps=words.STEPS.write(steps))
        case ThermostatDetail() as detail:
            record |= words.THERMOSTAT_DETAIL.write(detail)
        case ControllerDetail() as detail:
            record |= words.CONTROLLER_DETAIL.write(detail)
        case UnitDetail() as detail:
            record |= words.UNIT_DETAIL.write(detail)
        case None:
            pass
    if first is not None and first.state is not None:
        record |= words.write_state(module.kind, first.state)
    if first is not None and not first.reachable:
        record["reachable"] = False
    return record
