"""Writes the operations: a declaration for each operation, and the methods of the two clients that send it."""

import re
from collections.abc import Iterable

from client_generator.documents import JSON, Described, Documents, Schema
from client_generator.layout import Layout, snake_case
from client_generator.models import HEADER
from client_generator.types import annotation, docstring, quoted, union

_NAMES = {"plantid": "plant_id", "moduleid": "module_id"}


class Writer:
    """Writes the modules of `api/` for all documents."""

    def __init__(self, documents: Documents, layout: Layout) -> None:
        self._documents = documents
        self._layout = layout

    def write(self) -> dict[str, str]:
        files = {"api/__init__.py": HEADER.format(title="The operations of all documents.") + "\n"}
        for document in self._documents.by_name:
            parts = self._documents.parts(document)
            own, names = snake_case(document), part_names(document, parts)
            for tag, operations in parts.items():
                files[f"api/{names[tag]}.py"] = self._write_part(_class_name(names[tag]), operations)
            if self._documents.has_tags(document):
                files[f"api/{own}.py"] = _write_union(document, list(names.values()))
        files["_groups.py"] = _write_groups(list(self._documents.by_name))
        return files

    def _write_part(self, name: str, operations: list[Described]) -> str:
        declarations = [self._declare(operation) for operation in operations]
        methods = {prefix: [self._method(one, prefix) for one in operations] for prefix in ("", "Async")}
        document, tag = operations[0].document, operations[0].tag
        about = f"The operations of {document}." if tag == document else f"The operations of {document}: {tag}."
        classes = [
            f'class {prefix}{name}({prefix or "Sync"}Group):\n    """{about}"""\n\n' + "\n".join(methods[prefix])
            for prefix in ("", "Async")
        ]
        body = "\n".join(declarations) + "\n\n\n" + "\n\n".join(classes)
        return "\n".join([*self._imports(operations, body), "", body])

    def _imports(self, operations: list[Described], body: str) -> list[str]:
        lines = [HEADER.format(title=f"Operations of {operations[0].document}."), "", "from __future__ import annotations", ""]
        abc = [name for name in ("AsyncIterator", "Iterator", "Sequence") if re.search(rf"\b{name}\[", body)]
        lines += [f"from collections.abc import {', '.join(abc)}", ""] if abc else []
        lines += ["from types import NoneType", ""] if "NoneType" in body else []
        lines += ["from typing import Literal", ""] if "Literal[" in body else []
        lines += ["from domogate_client._groups_base import AsyncGroup, SyncGroup"]
        runtime = [name for name in ("RawContent", "Operation") if re.search(rf"\b{name}\b", body)]
        lines += [f"from domogate_client._operation import {', '.join(runtime)}"]
        streams = [name for name in ("AsyncEventStream", "EventStream") if re.search(rf"\b{name}\b", body)]
        lines += [f"from domogate_client._stream import {', '.join(streams)}"] if streams else []
        for document, name in sorted({(one.document, name) for one in operations for name in self._names(one)}):
            lines.append(f"from domogate_client.models.{self._layout.module_of[document, name]} import {name}")
        return lines

    def _names(self, operation: Described) -> set[str]:
        return self._documents.names_in(operation)

    def _declare(self, operation: Described) -> str:
        token, needs_key = self._documents.credentials_of(operation)
        options = [f"token={quoted(token)}"] if token != "id" else []
        options += [] if needs_key else ["key=False"]
        options += ["hex_ids=True"] if operation.has_hex_ids else []
        options += ["etag=True"] if operation.has_etag else []
        options += ["repeatable=True"] if operation.takes_idempotency_key else []
        if operation.may_be_empty:
            options.append(f"empty={self._documents.empty_answer(operation).encode()!r}")
        kind = "NoneType" if _answer(operation) == "None" else _answer(operation)
        arguments = [quoted(operation.name), quoted(operation.method), quoted(operation.template), kind, *options]
        return f"{_constant(operation)} = Operation({', '.join(arguments)})"

    def _method(self, operation: Described, prefix: str) -> str:
        token, _ = self._documents.credentials_of(operation)
        path = [_argument(one["name"]) for one in operation.parameters("path")]
        query = operation.query
        arguments = ["self", *(["token: str"] if token == "given" else []), *(f"{name}: str" for name in path)]
        if operation.body is not None:
            arguments.append(f"body: {annotation(operation.body)}")
        sent = [_constant(operation), f"({', '.join(path)}{',' if len(path) == 1 else ''})"]
        options = [f"{_argument(one['name'])}: {_query_type(one['schema'])} = None" for one in query]
        values = ", ".join(f"{quoted(one['name'])}: {_argument(one['name'])}" for one in query)
        named = [f"query={{{values}}}"] if query else []
        named += ["body=body"] if operation.body is not None else []
        about = f"        {docstring(f'{operation.summary}.', 8)}"
        if operation.is_stream:
            signature = [*arguments, "*", *options, "cursor: str | None = None", "deadline: float | None = None"]
            return (
                f"    def listen({', '.join(signature)}) -> {prefix}EventStream:\n{about}\n"
                f"        return self._listen({', '.join([*sent, *named, 'cursor=cursor', 'deadline=deadline'])})\n"
            )
        if operation.takes_idempotency_key:
            options.append("idempotency_key: str | None = None")
            named.append("idempotency_key=idempotency_key")
        if token == "given":
            named.append("token=token")
        options.append("deadline: float | None = None")
        named.append("deadline=deadline")
        asynchronous, wait = ("async ", "await ") if prefix else ("", "")
        name = snake_case(operation.id)
        text = (
            f"    {asynchronous}def {name}({', '.join([*arguments, '*', *options])}) -> {_answer(operation)}:\n"
            f"{about}\n        {'return ' if operation.success else ''}{wait}self._send({', '.join([*sent, *named])})\n"
        )
        return text + ("\n" + self._iterator(operation, prefix, arguments, query, sent) if operation.is_paged else "")

    def _iterator(self, operation: Described, prefix: str, arguments: list[str], query: list[Schema], sent: list[str]) -> str:
        """A method that follows the pages of a list."""
        kept = [one for one in query if one["name"] != "after"]
        options = [f"{_argument(one['name'])}: {_query_type(one['schema'])} = None" for one in kept]
        values = ", ".join(f"{quoted(one['name'])}: {_argument(one['name'])}" for one in kept)
        name = re.sub(r"^list_", "iterate_", snake_case(operation.id))
        item = annotation(self._documents.item_of(operation))
        return (
            f"    def {name}({', '.join([*arguments, '*', *options])}) -> {prefix}Iterator[{item}]:\n"
            f"        {docstring(f'{operation.summary}. Reads all pages.', 8)}\n"
            f"        return self._pages({', '.join([*sent, f'query={{{values}}}'])})\n"
        )


def part_names(document: str, tags: Iterable[str]) -> dict[str, str]:
    """The names of the modules for the operations of a document, by tag."""
    own = snake_case(document)
    return {tag: own if tag == document else f"{own}_{snake_case(tag.replace(' ', '_'))}" for tag in tags}


def _answer(operation: Described) -> str:
    if not operation.success:
        return "None"
    return annotation(operation.answer) if JSON in operation.success else "RawContent"


def _constant(operation: Described) -> str:
    return f"_{snake_case(operation.id).upper()}"


def _argument(name: str) -> str:
    return _NAMES.get(name) or snake_case(name)


def _query_type(schema: Schema) -> str:
    if schema.get("type") == "array":
        return f"Sequence[{annotation(schema['items'])}] | None"
    return union(annotation(schema), "None")


def _class_name(module: str) -> str:
    return "".join(part.title() for part in module.split("_")) + "Api"


def _write_union(document: str, parts: list[str]) -> str:
    lines = [HEADER.format(title=f"All operations of {document}."), ""]
    lines += [f"from domogate_client.api.{part} import Async{_class_name(part)}, {_class_name(part)}" for part in sorted(parts)]
    for prefix in ("", "Async"):
        bases = ", ".join(f"{prefix}{_class_name(part)}" for part in parts)
        lines += [
            "",
            "",
            f"class {prefix}{_class_name(snake_case(document))}({bases}):",
            f'    """All operations of {document}."""',
        ]
    return "\n".join([*lines, ""])


def _write_groups(documents: list[str]) -> str:
    lines = [HEADER.format(title="The attributes of the clients: one for each document."), ""]
    lines += [
        "from __future__ import annotations",
        "",
        "from functools import cached_property",
        "from typing import TYPE_CHECKING",
        "",
    ]
    lines += ["from domogate_client._groups_base import AsyncSender, SyncSender", "", "if TYPE_CHECKING:"]
    modules = [snake_case(document) for document in documents]
    lines += [
        f"    from domogate_client.api.{one} import Async{_class_name(one)}, {_class_name(one)}" for one in sorted(modules)
    ]
    for prefix, sender in (("", "SyncSender"), ("Async", "AsyncSender")):
        lines += [
            "",
            "",
            f"class {prefix}Groups({sender}):",
            '    """The operations by document. Each is imported at its first use."""',
        ]
        for module in modules:
            name = f"{prefix}{_class_name(module)}"
            lines += ["", "    @cached_property", f"    def {module}(self) -> {name}:"]
            lines += [f"        from domogate_client.api.{module} import {name}", "", f"        return {name}(self)"]
    return "\n".join([*lines, ""])
