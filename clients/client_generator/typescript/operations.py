"""Writes the operations: a declaration for each operation, and the method that sends it."""

import json
import re

from client_generator.documents import JSON, Described, Documents
from client_generator.layout import Layout, snake_case
from client_generator.operations import part_names
from client_generator.typescript.models import import_types
from client_generator.typescript.types import HEADER, camel_case, comment, member, type_of

_NAMES = {"plantid": "plantId", "moduleid": "moduleId"}


class Writer:
    """Writes the files of `api/` for all documents, and the class `Client`."""

    def __init__(self, documents: Documents, layout: Layout) -> None:
        self._documents = documents
        self._layout = layout

    def write(self) -> dict[str, str]:
        files: dict[str, str] = {}
        for document in self._documents.by_name:
            parts = self._documents.parts(document)
            names = part_names(document, parts)
            for tag, operations in parts.items():
                files[f"api/{names[tag]}.ts"] = self._write_part(names[tag], operations)
            if self._documents.has_tags(document):
                files[f"api/{snake_case(document)}.ts"] = _write_union(document, list(names.values()))
        files["client.ts"] = _write_client(list(self._documents.by_name))
        return files

    def _write_part(self, name: str, operations: list[Described]) -> str:
        document, tag = operations[0].document, operations[0].tag
        about = f"The operations of {document}." if tag == document else f"The operations of {document}: {tag}."
        declarations = "\n".join(map(self._declare, operations))
        queries = [_write_query(one) for one in operations if one.query]
        methods = "\n".join(self._method(one) for one in operations)
        group = f"{comment(about)}\nexport const {camel_case(name)} = (caller: Caller) => ({{\n{methods}\n}});"
        blocks = [HEADER.format(title=f"Operations of {document}."), self._imports(operations, group), declarations]
        return "\n\n".join([*blocks, *queries, group]) + "\n"

    def _imports(self, operations: list[Described], body: str) -> str:
        types = [name for name in ("CallOptions", "CommandOptions", "RawContent") if re.search(rf"\b{name}\b", body)]
        lines = [f'import type {{ {", ".join(["Caller", *types])} }} from "../caller.js";']
        lines.append('import type { Operation } from "../operation.js";')
        if "EventStream" in body:
            lines.append('import type { EventStream, StreamOptions } from "../stream.js";')
        needed = {(one.document, name) for one in operations for name in self._documents.names_in(one)}
        return "\n".join([*lines, *import_types(needed, self._layout, "", "../models")])

    def _declare(self, operation: Described) -> str:
        token, needs_key = self._documents.credentials_of(operation)
        fields = [
            f"name: {json.dumps(operation.name)}",
            f"method: {json.dumps(operation.method)}",
            f"path: {json.dumps(operation.template)}",
            f"token: {json.dumps(token or 'none')}",
            f"key: {json.dumps(needs_key)}",
        ]
        if JSON not in operation.success:
            fields.append(f"answer: {json.dumps('content' if operation.success else 'nothing')}")
        fields += ["hexIds: true"] if operation.has_hex_ids else []
        fields += ["etag: true"] if operation.has_etag else []
        fields += ["repeatable: true"] if operation.takes_idempotency_key else []
        if operation.may_be_empty:
            fields.append(f"empty: {json.dumps(self._documents.empty_answer(operation))}")
        lines = "".join(f"  {field},\n" for field in fields)
        return f"const {_constant(operation)}: Operation = {{\n{lines}}};"

    def _method(self, operation: Described) -> str:
        token, _ = self._documents.credentials_of(operation)
        path = [_NAMES.get(one["name"], camel_case(one["name"])) for one in operation.parameters("path")]
        arguments = [*(["token: string"] if token == "given" else []), *(f"{name}: string" for name in path)]
        sent = ["...options"]
        if operation.body is not None:
            arguments.append(f"body: {type_of(operation.body)}")
            sent.append("body")
        if operation.query:
            default = "" if any(one.get("required") for one in operation.query) else " = {}"
            arguments.append(f"query: {_query_name(operation)}{default}")
            sent.append("query")
        sent += ["token"] if token == "given" else []
        target = f"{_constant(operation)}, [{', '.join(path)}]"
        if operation.is_stream:
            return _print(operation.summary, "listen", [*arguments, "options?: StreamOptions"], "EventStream",
                          f"caller.listen({target}, query, options)")  # fmt: skip
        arguments.append(f"options?: {'CommandOptions' if operation.takes_idempotency_key else 'CallOptions'}")
        given = f"{{ {', '.join(sent)} }}" if len(sent) > 1 else "options"
        text = _print(operation.summary, operation.id, arguments, f"Promise<{_answer(operation)}>",
                      f"caller.call({target}, {given})")  # fmt: skip
        if not operation.is_paged:
            return text
        result = f"AsyncGenerator<{type_of(self._documents.item_of(operation))}, void, undefined>"
        name = re.sub(r"^list", "iterate", operation.id)
        pages = _print(f"{operation.summary}. Reads all pages", name, arguments, result, f"caller.pages({target}, {given})")
        return f"{text}\n{pages}"


def _print(about: str, name: str, arguments: list[str], result: str, action: str) -> str:
    line = f"  {name}: ({', '.join(arguments)}): {result} =>"
    if len(line) > 120:
        line = f"  {name}: (\n" + "".join(f"    {one},\n" for one in arguments) + f"  ): {result} =>"
    return f"{comment(f'{about}.', 2)}\n{line}\n    {action},"


def _write_query(operation: Described) -> str:
    fields = [
        f"  readonly {member(one['name'])}{'' if one.get('required') else '?'}: {type_of(one['schema'])};"
        for one in operation.query
    ]
    return "\n".join([f"export interface {_query_name(operation)} {{", *fields, "}"])


def _query_name(operation: Described) -> str:
    return f"{operation.id[0].upper()}{operation.id[1:]}Query"


def _answer(operation: Described) -> str:
    if not operation.success:
        return "void"
    return type_of(operation.answer) if JSON in operation.success else "RawContent"


def _constant(operation: Described) -> str:
    return snake_case(operation.id).upper()


def _write_union(document: str, parts: list[str]) -> str:
    lines = [HEADER.format(title=f"All operations of {document}."), "", 'import type { Caller } from "../caller.js";']
    lines += [f'import {{ {camel_case(part)} }} from "./{part}.js";' for part in sorted(parts)]
    lines += ["", comment(f"All operations of {document}.")]
    lines += [f"export const {camel_case(document)} = (caller: Caller) => ({{"]
    lines += [*(f"  ...{camel_case(part)}(caller)," for part in parts), "});", ""]
    return "\n".join(lines)


def _write_client(documents: list[str]) -> str:
    lines = [HEADER.format(title="The client, with an attribute for each document."), ""]
    lines += [f'import {{ {camel_case(one)} }} from "./api/{snake_case(one)}.js";' for one in sorted(documents)]
    lines += ['import { Caller } from "./caller.js";', "", "/** A client of one gateway. */"]
    lines += ["export class Client extends Caller {"]
    lines += [*(f"  readonly {camel_case(one)} = {camel_case(one)}(this);" for one in documents), "}", ""]
    return "\n".join(lines)
