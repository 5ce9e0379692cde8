"""Decides in which module of the client each component of the documents is."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from client_generator.documents import Documents, Schema, references

SHARED = (("states", "State"), ("commands", "Command"))
"""Modules for components of several documents, each with a component: the module has this component and what it refers to."""


@dataclass
class Layout:
    """The module of each component, and the components of each module in the order of the documents."""

    module_of: dict[tuple[str, str], str] = field(default_factory=dict)
    content: dict[str, dict[str, Schema]] = field(default_factory=lambda: defaultdict(dict))

    def put(self, document: str, name: str, schema: Schema, module: str) -> None:
        self.module_of[document, name] = module
        known = self.content[module].setdefault(name, schema)
        if known != schema:
            raise ValueError(f"two different components {name} would be in {module}")


def snake_case(name: str) -> str:
    """Return a name of a document as Python writes it: `plant_id` for `plantId`, `color_hsv` for `colorHSV`."""
    parts: list[str] = []
    for before, letter, after in zip(f" {name}", name, f"{name[1:]} ", strict=False):
        if letter.isupper() and before != " " and (before.islower() or before.isdigit() or after.islower()):
            parts.append("_")
        parts.append(letter.lower() if letter.isalnum() else "_")
    return "".join(parts).replace("__", "_")


def make_layout(documents: Documents) -> Layout:
    layout = Layout()
    shared = _find_shared(documents)
    for document in documents.by_name:
        components = documents.components(document)
        places = _places_of(documents, document)
        for name, schema in components.items():
            if name == "CloudEvent":  # domogate_client.events has it, because its data depends on its type
                continue
            module = shared.get((document, name)) or places.get(name) or own_module(documents, document)
            layout.put(document, name, schema, module)
    return layout


def own_module(documents: Documents, document: str) -> str:
    """The module of the components that several tags of a document use.

    In a document without tags, it is the module of all components.
    """
    return f"{snake_case(document)}_common" if documents.has_tags(document) else snake_case(document)


def reachable(components: dict[str, Schema], roots: Iterable[str]) -> set[str]:
    """The names of the components that the roots need, with the roots."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found and name in components:
            found.add(name)
            waiting.extend(references(components[name]))
    return found


def _find_shared(documents: Documents) -> dict[tuple[str, str], str]:
    """The module of each component that is the same in several documents."""
    same: dict[str, list[tuple[str, str]]] = defaultdict(list)
    members: dict[str, set[str]] = {root: set() for _, root in SHARED}
    for document in documents.by_name:
        components = documents.components(document)
        for name in components:
            needed = {one: components[one] for one in sorted(reachable(components, [name]))}
            same[json.dumps([name, needed], sort_keys=True)].append((document, name))
        for root, found in members.items():
            found |= reachable(components, [root])
    shared: dict[tuple[str, str], str] = {}
    for places in same.values():
        if len(places) > 1:
            (name,) = {name for _, name in places}
            module = next((module for module, root in SHARED if name in members[root]), "shared")
            shared.update(dict.fromkeys(places, module))
    return shared


def _places_of(documents: Documents, document: str) -> dict[str, str]:
    """The module of each component that operations of only one tag use. Other components are in the document's own module."""
    tags: dict[str, set[str]] = defaultdict(set)
    components = documents.components(document)
    for operation in documents.operations(document):
        needed = [operation.schema.get("requestBody"), operation.success, operation.parameters("query")]
        for name in reachable(components, references(needed)):
            tags[name].add(operation.tag)
    package = snake_case(document)
    return {
        name: package if used == {document} else f"{package}_{snake_case(next(iter(used)).replace(' ', '_'))}"
        for name, used in tags.items()
        if len(used) == 1
    }
