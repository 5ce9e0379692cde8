"""An exported estate, for tests that must know its content without the operations under test."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from support.spec_operations import Operation, Target

Record = dict[str, Any]


class _PlainLoader(yaml.CSafeLoader):
    """YAML as in the estate file: `on`, 062520 and a date are text."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag in ("tag:yaml.org,2002:null", "tag:yaml.org,2002:float")]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_PlainLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))
_PlainLoader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile("^-?(0|[1-9][0-9]*)$"), list("-0123456789"))


def read_yaml(text: str) -> Record:
    document: Record = yaml.load(text, Loader=_PlainLoader)
    return document


@dataclass(frozen=True)
class PlantView:
    """One plant of the estate."""

    record: Record

    @property
    def id(self) -> str:
        return str(self.record["id"])

    @property
    def active(self) -> bool:
        return bool(self.record.get("status", "active") == "active")

    @property
    def owner(self) -> str:
        return str(self.record["owner"])

    @property
    def people(self) -> set[str]:
        """Owner and allowed users."""
        return {self.owner, *self.record.get("allowed", ())}

    @property
    def floors(self) -> list[Record]:
        return list(self.record.get("floors", ()))

    @property
    def loose_ambients(self) -> list[Record]:
        return list(self.record.get("ambients", ()))

    @property
    def loose_modules(self) -> list[Record]:
        return list(self.record.get("modules", ()))

    def every_ambient(self) -> Iterator[Record]:
        for floor in self.floors:
            yield from floor.get("ambients", ())
        yield from self.loose_ambients

    def every_module(self) -> Iterator[Record]:
        for ambient in self.every_ambient():
            yield from ambient.get("modules", ())
        yield from self.loose_modules

    def modules(self, *kinds: str) -> list[Record]:
        return [module for module in self.every_module() if module["kind"] in kinds]

    def units_of(self, controller_id: str) -> set[str]:
        """Emergency units under the controller, and those elsewhere in the plant that name it."""
        controller = next(module for module in self.every_module() if module["id"] == controller_id)
        under = {str(unit["id"]) for unit in controller.get("units", ())}
        return under | {str(unit["id"]) for unit in self.modules("emergency unit") if unit.get("controller") == controller_id}

    @property
    def is_site(self) -> bool:
        return bool(self.record.get("emergencyLighting")) or bool(self.modules("emergency controller"))

    @property
    def plug_ambients(self) -> list[Record]:
        return [room for room in self.every_ambient() if any(module["kind"] == "plug" for module in room.get("modules", ()))]


class EstateView:
    """An estate file, with queries for tests."""

    def __init__(self, document: Record) -> None:
        self.document = document
        self.plants = [PlantView(record) for record in document.get("plants", ())]
        self.users: list[Record] = list(document.get("users", ()))

    def plant(self, plant_id: str) -> PlantView:
        return next(plant for plant in self.plants if plant.id == plant_id)

    def active_plants_of(self, email: str) -> list[PlantView]:
        return [plant for plant in self.plants if plant.active and email in plant.people]

    def find_plants(self, wanted: Callable[[PlantView], bool]) -> list[PlantView]:
        return [plant for plant in self.plants if plant.active and wanted(plant)]

    def standing(self, email: str) -> str:
        return next(str(user.get("standing", "good")) for user in self.users if user["email"] == email)

    def references(self) -> list[str]:
        return [str(entry["unit"]) for entry in self.document.get("spareParts", ())]

    def unreachable(self, module: Record) -> bool:
        """Whether the module does not answer, by its first state or by its simulator option."""
        return module.get("reachable") is False or bool((module.get("options") or {}).get("simulate"))

    def troubled(self, module: Record) -> bool:
        """Slow or refusing by its simulator option."""
        return (module.get("options") or {}).get("simulate") in ("slow", "refusing")


def targets_in(plant: PlantView, operation: Operation) -> Iterator[Target]:
    """All targets in the plant for the operation; none for operations that name no plant."""
    if not operation.about_a_plant:
        return
    if "{ambient}" in operation.path:
        for room in plant.plug_ambients:
            yield {"plant": plant.id, "ambient": str(room["id"])}
    elif operation.kind is not None:
        for module in plant.modules(operation.kind):
            yield {"plant": plant.id, "module": str(module["id"])}
    elif operation.name == "E16":
        if plant.modules("plug", "multisocket"):
            yield {"plant": plant.id}
    elif operation.name == "E18":
        if plant.is_site:
            yield {"plant": plant.id}
    else:
        yield {"plant": plant.id}


def asked_of(plant: PlantView, target: Target) -> list[Record]:
    """The modules that must answer for this target: the one it names, or the plugs of its ambient."""
    if "ambient" in target:
        rooms = [room for room in plant.every_ambient() if room["id"] == target["ambient"]]
        return [module for room in rooms for module in room.get("modules", ()) if module["kind"] == "plug"]
    return [module for module in plant.every_module() if module["id"] == target.get("module")]
