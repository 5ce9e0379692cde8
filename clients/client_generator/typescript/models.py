"""Writes the models: an interface for each object of the documents."""

from client_generator.documents import Documents, Schema, references
from client_generator.layout import Layout, snake_case
from client_generator.typescript.types import HEADER, comment, member, type_of


def write_models(documents: Documents, layout: Layout) -> dict[str, str]:
    """Return the text of each file of `models/`, by file name."""
    files: dict[str, str] = {}
    own_modules = {snake_case(name): name for name in documents.by_name}
    for module, components in layout.content.items():
        homes = {name: document for (document, name), place in layout.module_of.items() if place == module}
        needed = {(homes[name], one) for name, schema in components.items() for one in references(schema)}
        blocks = [*import_types(needed, layout, module), *(_write(name, schema) for name, schema in components.items())]
        if module in own_modules:
            blocks += _export_others(own_modules[module], layout, module)
        files[f"models/{module}.ts"] = _join(f"Models of {module.replace('_', ' ')}.", blocks)
    for document in filter(documents.has_tags, documents.by_name):
        module = snake_case(document)
        files[f"models/{module}.ts"] = _join(f"All models of {document}.", _export_others(document, layout, module))
    return files


def import_types(needed: set[tuple[str, str]], layout: Layout, module: str, folder: str = ".") -> list[str]:
    """The imports of components from other files."""
    return [
        f'import type {{ {", ".join(names)} }} from "{folder}/{place}.js";'
        for place, names in _by_place(needed, layout, module).items()
    ]


def _export_others(document: str, layout: Layout, module: str) -> list[str]:
    """All components of a document that are in other files."""
    places = _by_place({place for place in layout.module_of if place[0] == document}, layout, module)
    return [f'export type {{ {", ".join(names)} }} from "./{place}.js";' for place, names in places.items()]


def _by_place(needed: set[tuple[str, str]], layout: Layout, module: str) -> dict[str, list[str]]:
    places: dict[str, set[str]] = {}
    for document, name in needed:
        places.setdefault(layout.module_of[document, name], set()).add(name)
    return {place: sorted(places[place]) for place in sorted(places) if place != module}


def _join(title: str, blocks: list[str]) -> str:
    return "\n\n".join([HEADER.format(title=title), *blocks]) + "\n"


def _write(name: str, schema: Schema) -> str:
    about = f"{comment(schema['description'])}\n" if "description" in schema else ""
    if schema.get("type") != "object":
        return f"{about}export type {name} = {type_of(schema)};"
    required = schema.get("required", ())
    fields = [
        f"  readonly {member(field)}{'' if field in required else '?'}: {type_of(inner)};"
        for field, inner in schema.get("properties", {}).items()
    ]
    return "\n".join([f"{about}export interface {name} {{", *fields, "}"])
