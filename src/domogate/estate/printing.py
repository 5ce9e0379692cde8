"""Writes an Estate as an estate file. Reading the file gives the same Estate."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.formats import email_key
from domogate.domain.ids import Id, derived_id
from domogate.domain.people import Client, Subscription, User
from domogate.domain.plants import (
    SIMULATED_DRIVERS,
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
from domogate.estate.emit import emit_lists

Record = dict[str, Any]


def print_estate(estate: Estate) -> str:
    """Return the estate as the text of an estate file. Values that equal their default are not written.

    Passwords, keys and client secrets are written as hashes. But `totpSecret` is the secret itself.
    """
    return "".join(print_in_parts(estate, estate.plants))


def print_in_parts(people: Estate, plants: Iterable[EstatePlant]) -> Iterator[str]:
    """Yield the text of the estate file in pieces. The plants come from `plants`, and everything else from `people`."""
    return emit_lists(
        {
            "users": map(_user, people.users),
            "subscriptions": map(_subscription, people.subscriptions),
            "clients": map(_client, people.clients),
            "plants": map(_plant, plants),
            "spareParts": map(words.SPARE_PARTS.write, people.spare_parts),
        }
    )


def _user(user: User) -> Record:
    record = words.USER.write(user)
    if user.id != derived_id("user", email_key(user.email)):
        record["id"] = user.id
    return record


def _subscription(subscription: Subscription) -> Record:
    rest = words.SUBSCRIPTION.write(subscription)
    record = {"name": rest.pop("name"), "keyHash": subscription.key_hash, "hint": subscription.hint, **rest}
    if subscription.id != derived_id("subscription", subscription.key_hash):
        record["id"] = subscription.id
    return record


def _client(client: Client) -> Record:
    return {**words.CLIENT.write(client), "scopes": list(client.scopes)}


def _ids(noun: Plant | Floor | Ambient | Module) -> Record:
    record: Record = {"id": noun.id}
    if noun.internal_id != derived_id("internal", noun.id):
        record["internalId"] = noun.internal_id
    return record


class _Context(NamedTuple):
    """The `FirstState` of each module of a plant, and the driver of all modules except scenes (None if drivers differ)."""

    states: dict[Id, FirstState]
    driver: str | None


def _plant(described: EstatePlant) -> Record:
    plant, topology = described.plant, described.topology
    drivers = {module.driver for module in topology.every_module() if module.kind is not DeviceKind.SCENE}
    common = drivers.pop() if len(drivers) == 1 else None
    context = _Context({state.module_id: state for state in described.states}, common)
    record = {**_ids(plant), **words.PLANT.write(plant)}
    if plant.emergency_lighting:
        record["emergencyLighting"] = True
    record["owner"] = plant.owner.email
    if common is not None:
        record["driver"] = common
    places = {part.id for parts in (topology.floors, topology.every_ambient(), topology.every_module()) for part in parts}
    record |= _if_any(
        allowed=[words.write_person(member, places) for member in plant.allowed],
        invited=[words.write_person(invitation, places) for invitation in plant.invited],
        floors=[_floor(floor, context) for floor in topology.floors],
        ambients=_ambients(topology.ambients, context),
        modules=_modules(topology.modules, context),
    )
    return record


def _if_any(**lists: list[Any]) -> Record:
    return {key: items for key, items in lists.items() if items}


def _floor(floor: Floor, context: _Context) -> Record:
    return {**_ids(floor), "name": floor.name, **_if_any(ambients=_ambients(floor.ambients, context))}


def _ambients(ambients: Sequence[Ambient], context: _Context) -> list[Record]:
    records = []
    for ambient in ambients:
        record = {**_ids(ambient), "name": ambient.name}
        if ambient.type != "other":
            record["type"] = ambient.type
        records.append({**record, **_if_any(modules=_modules(ambient.modules, context))})
    return records


def _modules(modules: Sequence[Module], context: _Context) -> list[Record]:
    """Return the records of the modules.

    A unit that comes in `modules` after its controller, with only units of this controller between them, is written under the
    controller. All other units are written as separate modules.
    """
    records: list[Record] = []
    controller: Id | None = None
    for module in modules:
        record = _module(module, context)
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


def _module(module: Module, context: _Context) -> Record:
    record = {**_ids(module), "name": module.name, "kind": str(module.kind)}
    by_gateway = module.kind is DeviceKind.SCENE and module.driver in SIMULATED_DRIVERS
    if not by_gateway and (module.driver != context.driver or module.kind is DeviceKind.SCENE):
        record["driver"] = module.driver
    record |= {key: value for key, value in words.MODULE.write(module).items() if key != "driver"}
    first = context.states.get(module.id)
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
