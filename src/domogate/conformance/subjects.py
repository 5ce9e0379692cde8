"""Finds the plants, modules and sites that the user has, by the lists and topologies of the contract."""

from typing import Any, NamedTuple

from domogate.conformance.exchange import Exchange
from domogate.conformance.operations import E3, E6, E7, E9, E10, E14, E16, E17, E18, OPERATIONS, Operation
from domogate.conformance.session import Session

MOST_PLANTS, MOST_MODULES = 3, 5
"""The plants of which modules are read, and the modules of one kind in one plant that are read."""

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
    """The ids for the paths of the operations. `modules` has the ids of each kind of module."""

    def __init__(self) -> None:
        self.plants: list[str] = []
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
        """Say what is missing if `ids_for` returns nothing."""
        if operation.name in KINDS:
            kind = KINDS[operation.name]
            hint = f"; name one with --module {kind}=PLANT/MODULE" if kind == "thermostat" else ""
            return f"no {kind} was found in the plants of the user{hint}"
        if operation in (E18,):
            return "the user has no site with emergency lighting"
        return "no reference of a unit was found" if "{reference}" in operation.path else "the user has no suitable plant"


class Named(NamedTuple):
    """A module that the caller of the tool named."""

    kind: str
    plant: str
    module: str


def without_dashes(identity: str) -> str:
    """Return the id as home control writes ids: 32 hexadecimal characters (Spec 8)."""
    return identity.replace("-", "")


def find_subjects(session: Session, families: tuple[str, ...], named: tuple[Named, ...] = ()) -> Subjects:
    """Read the lists and topologies of these families, and judge every answer. Return the ids in the answers."""
    found = Subjects()
    for one in named:
        hexadecimal = one.kind in ("remote", "plug")
        spell = without_dashes if hexadecimal else str
        found.modules[one.kind].append({"plant": spell(one.plant), "module": spell(one.module)})
        found.plants.append(one.plant)
    for operation in (E6, E10, E14):
        if operation.family in families:
            found.plants += _ids(_items(session, session.ask(operation), "plants"))
    found.plants = list(dict.fromkeys(found.plants))[:MOST_PLANTS]
    for plant in found.plants:
        for operation, collect in ((E7, _from_home_automation), (E9, _from_door_entry), (E3, _from_home_control)):
            if operation.family in families:
                asked = without_dashes(plant) if operation is E3 else plant
                body = session.read(session.ask(operation, {"plant": asked}))
                if isinstance(body, dict) and isinstance(body.get("plant"), dict):
                    collect(found, asked, body["plant"])
        if E16.family in families:
            session.ask(E16, {"plant": plant})
    if E17.family in families:
        found.sites = _ids(_items(session, session.ask(E17), ""))[:MOST_PLANTS]
        for site in found.sites:
            for controller in _items(session, session.ask(E18, {"plant": site}), ""):
                units = [unit for unit in controller.get("children") or [] if isinstance(unit, dict)]
                found.references += [unit["reference"] for unit in units if isinstance(unit.get("reference"), str)]
        found.references = list(dict.fromkeys(found.references))[:MOST_MODULES]
    return found


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
            for one in ids:
                session.ask(operation, one)


def _items(session: Session, exchange: Exchange, field: str) -> list[dict[str, Any]]:
    body = session.read(exchange)
    if isinstance(body, dict):
        body = body.get(field)
    return [item for item in body if isinstance(item, dict)] if isinstance(body, list) else []


def _ids(items: list[dict[str, Any]]) -> list[str]:
    return [item["id"] for item in items if isinstance(item.get("id"), str)]


def _modules_below(part: Any) -> list[dict[str, Any]]:
    """Return the modules of a topology: of the plant, of its floors and of its ambients."""
    if not isinstance(part, dict):
        return []
    found = [module for module in part.get("modules") or [] if isinstance(module, dict) and isinstance(module.get("id"), str)]
    for name in ("floors", "ambients"):
        for below in part.get(name) or []:
            found += _modules_below(below)
    return found


def _collect(found: Subjects, plant: str, topology: dict[str, Any], kinds: dict[str, str]) -> None:
    for device, kind in kinds.items():
        ids = [module["id"] for module in _modules_below(topology) if module.get("device") == device]
        found.modules[kind] += [{"plant": plant, "module": one} for one in ids[:MOST_MODULES]]


def _from_home_automation(found: Subjects, plant: str, topology: dict[str, Any]) -> None:
    _collect(found, plant, topology, {"Light": "light", "Scene": "scene"})


def _from_door_entry(found: Subjects, plant: str, topology: dict[str, Any]) -> None:
    _collect(found, plant, topology, {"lock": "lock", "audiovideo unit": "camera"})


def _from_home_control(found: Subjects, plant: str, topology: dict[str, Any]) -> None:
    _collect(found, plant, topology, {"plug": "plug", "remote": "remote"})
    for ambient in topology.get("ambients") or []:
        plugs = [module for module in _modules_below(ambient) if module.get("device") == "plug"]
        if plugs and isinstance(ambient.get("id"), str):
            found.ambients.append({"plant": plant, "ambient": ambient["id"]})
            found.plugs[ambient["id"]] = {plug["id"].lower() for plug in plugs}
