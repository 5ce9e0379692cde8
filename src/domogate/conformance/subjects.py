"""Finds the plants, modules and sites that the user has, by the lists and topologies of the contract."""

import re
from typing import Any, NamedTuple

from domogate.conformance.exchange import Exchange
from domogate.conformance.operations import E3, E6, E7, E9, E10, E14, E16, E17, E18, LISTS, OPERATIONS, Operation
from domogate.conformance.rules import Rule, Schema
from domogate.conformance.session import SUCCESS, Session
from domogate.conformance.values import HEX32, UUID

LISTED_EXISTS = Rule("4.E6.list", "E6 lists the plants of the user, and E7 returns the topology of a plant.")

MOST_PLANTS, MOST_MODULES = 3, 5
"""The greatest number of plants whose modules are read, and of modules of one kind that are read in one plant."""

KINDS = {
    "E2": "remote",
    "E4": "plug",
    "E5": "scene",
    "E8": "light",
    "E11": "lock",
    "E12": "thermostat",
    "E13": "thermostat",
    "E15": "camera",
}
"""The kind of module that each operation about a module needs."""

Ids = dict[str, str]


class Subjects:
    """The ids for the paths of the operations. `modules` has, for each kind, the ids of the modules and of their plants."""

    def __init__(self) -> None:
        self.plants: list[str] = []
        self.listed: set[str] = set()
        """The plants that E6 lists, without removed plants."""
        self.sites: list[str] = []
        self.references: list[str] = []
        self.ambients: list[Ids] = []
        self.plugs: dict[str, set[str]] = {}
        """The ids of the plugs of each ambient."""
        self.modules: dict[str, list[Ids]] = {kind: [] for kind in dict.fromkeys(KINDS.values())}

    def ids_for(self, operation: Operation) -> list[Ids]:
        """Return the ids with which the operation can be called. The list is empty if the user has nothing suitable."""
        if operation.name in KINDS:
            return self.modules[KINDS[operation.name]]
        if "{ambient}" in operation.path:
            return self.ambients
        if "{reference}" in operation.path:
            return [{"reference": reference} for reference in self.references]
        if operation is E18:
            return [{"plant": site} for site in self.sites]
        if "{plant}" in operation.path:
            spell = without_dashes if operation.needs_access_token else str
            return [{"plant": spell(plant)} for plant in self.plants]
        return [{}]

    def missing_for(self, operation: Operation) -> str:
        """Return a text that says what was not found. Call this if `ids_for` returns no ids for the operation."""
        if operation.name in KINDS:
            kind = KINDS[operation.name]
            hint = f"; name one with --module {kind}=PLANT/MODULE" if kind == "thermostat" else ""
            return f"no {kind} was found in the plants of the user{hint}"
        if operation is E18:
            return "the user has no site with emergency lighting"
        if "{ambient}" in operation.path:
            return "no ambient with plugs was found in the plants of the user"
        return "no reference of a unit was found" if "{reference}" in operation.path else "no plant with a UUID was found"


class Named(NamedTuple):
    """A module that the person who runs `domogate conformance` named for a check. The ids can be with or without dashes."""

    kind: str
    plant: str
    module: str


def without_dashes(identity: str) -> str:
    """Return the id as home control writes ids: 32 hexadecimal characters (Spec 8)."""
    return identity.replace("-", "")


def with_dashes(identity: str) -> str:
    """Return the id as all families except home control write ids: a UUID. A text that is not an id is returned unchanged."""
    if not _matches(HEX32, identity):
        return identity
    return "-".join((identity[:8], identity[8:12], identity[12:16], identity[16:20], identity[20:]))


def find_subjects(session: Session, families: tuple[str, ...], named: tuple[Named, ...] = ()) -> Subjects:
    """Read the lists and topologies of these families, and judge every answer.

    Return the plants and modules in the answers, and the modules in `named` with their plants.
    """
    found = Subjects()
    for one in named:
        spell = without_dashes if one.kind in ("remote", "plug") else with_dashes
        found.modules[one.kind].append({"plant": spell(one.plant), "module": spell(one.module)})
        found.plants.append(with_dashes(one.plant))
    for operation in (E6, E10, E14):
        if operation.family in families:
            items = objects_in(session.read(session.ask_known(operation)), LISTS[operation.name])
            found.plants += uuids_of(items)
            if operation is E6:
                found.listed = set(uuids_of([item for item in items if item.get("status") != "Removed"]))
    found.plants = list(dict.fromkeys(found.plants))[:MOST_PLANTS]
    for plant in found.plants:
        _read_plant(session, found, plant, families)
    if E17.family in families:
        found.sites = list(dict.fromkeys(uuids_of(objects_in(session.read(session.ask_known(E17))))))[:MOST_PLANTS]
        for site in found.sites:
            for controller in objects_in(session.read(session.ask_known(E18, {"plant": site}))):
                units = objects_in(controller, "children")
                found.references += [unit["reference"] for unit in units if isinstance(unit.get("reference"), str)]
        found.references = [one for one in dict.fromkeys(found.references) if one][:MOST_MODULES]
    return found


def _read_plant(session: Session, found: Subjects, plant: str, families: tuple[str, ...]) -> None:
    for operation, collect in ((E7, _from_home_automation), (E9, _from_door_entry), (E3, _from_home_control)):
        if operation.family in families:
            asked = without_dashes(plant) if operation is E3 else plant
            exchange = session.ask_known(operation, {"plant": asked})
            if operation is E7 and plant in found.listed:
                detail = f"E6 lists the plant, but the status is {exchange.status}"
                session.check(LISTED_EXISTS, E7, exchange, exchange.status != 404, detail)
            body = session.read(exchange)
            if isinstance(body, dict) and isinstance(body.get("plant"), dict):
                collect(found, asked, body["plant"])
    if E16.family in families:
        session.ask_known(E16, {"plant": plant})


def read_everything(session: Session, subjects: Subjects, families: tuple[str, ...]) -> None:
    """Call every reading operation that `find_subjects` did not call, for some modules of each kind."""
    called = (E3, E6, E7, E9, E10, E14, E16, E17, E18)
    for operation in OPERATIONS:
        if operation.family not in families or operation.method != "GET":
            continue
        ids = subjects.ids_for(operation)
        if not ids:
            session.skip(operation.lists_rule, operation, subjects.missing_for(operation))
        if operation not in called:
            _judge_devices(session, operation, [session.ask_known(operation, one) for one in ids])


def _judge_devices(session: Session, operation: Operation, exchanges: list[Exchange]) -> None:
    """Note a finding if the operation answers 500 and never 200.

    If it answers 500 for some devices and 200 for other devices, note nothing: the devices may be the problem.
    """
    failed = [one for one in exchanges if one.status == 500]
    if failed and 500 in operation.statuses and not any(one.status == 200 for one in exchanges):
        session.check(SUCCESS, operation, failed[0], False, "the status is 500 for every device that can be read")


def objects_in(part: Any, field: str = "") -> list[dict[str, Any]]:
    """Return the objects in the list `part`, or in the list in the field `field` of the object `part`. Other values are left
    out.
    """
    if field:
        part = part.get(field) if isinstance(part, dict) else None
    return [item for item in part if isinstance(item, dict)] if isinstance(part, list) else []


def uuids_of(items: list[dict[str, Any]]) -> list[str]:
    """Return the ids of these objects. An id that is not a UUID cannot be used in a path (Spec 4), and is left out."""
    return [item["id"] for item in items if _matches(UUID, item.get("id"))]


def is_id(value: Any) -> bool:
    """Whether the value has the form of an id: a UUID, or 32 hexadecimal characters."""
    return _matches(UUID, value) or _matches(HEX32, value)


def _matches(schema: Schema, value: Any) -> bool:
    return isinstance(value, str) and re.match(schema["pattern"], value) is not None


def _modules_below(part: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the modules of a topology: of the plant, of its floors and of its ambients."""
    found = objects_in(part, "modules")
    for name in ("floors", "ambients"):
        for below in objects_in(part, name):
            found += _modules_below(below)
    return found


def _collect(found: Subjects, plant: str, topology: dict[str, Any], kinds: dict[str, str], form: Schema = UUID) -> None:
    for device, kind in kinds.items():
        modules = [module for module in _modules_below(topology) if module.get("device") == device]
        ids = dict.fromkeys(module["id"] for module in modules if _matches(form, module.get("id")))
        known = found.modules[kind]
        known += [one for one in ({"plant": plant, "module": name} for name in list(ids)[:MOST_MODULES]) if one not in known]


def _from_home_automation(found: Subjects, plant: str, topology: dict[str, Any]) -> None:
    _collect(found, plant, topology, {"Light": "light", "Scene": "scene"})


def _from_door_entry(found: Subjects, plant: str, topology: dict[str, Any]) -> None:
    _collect(found, plant, topology, {"lock": "lock", "audiovideo unit": "camera"})


def _from_home_control(found: Subjects, plant: str, topology: dict[str, Any]) -> None:
    _collect(found, plant, topology, {"plug": "plug", "remote": "remote"}, HEX32)
    for ambient in objects_in(topology, "ambients"):
        modules = [module for module in _modules_below(ambient) if module.get("device") == "plug"]
        plugs = {module["id"].lower() for module in modules if _matches(HEX32, module.get("id"))}
        if plugs and _matches(HEX32, ambient.get("id")):
            found.ambients.append({"plant": plant, "ambient": ambient["id"]})
            found.plugs[ambient["id"]] = plugs
