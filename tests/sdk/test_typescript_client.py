"""Types that openapi-typescript generates from the documents compile with calls of every operation, and the calls succeed."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support import node_packages
from support.sdk_calls import CALLS, NO_BODY, Call
from support.sdk_demo import SdkDemo
from support.sdk_recording import documents_of, place_of
from support.typescript_client import COMPILER

pytestmark = pytest.mark.slow  # the compiler and all calls take long on a busy machine

SOURCE = Path(__file__).parent / "node"
STRICT = ["--strict", "--noUncheckedIndexedAccess", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom"]

PROGRAM = """// @ts-ignore: the types of Node are not installed
import { readFileSync } from "node:fs";
import createClient from "openapi-fetch";
%(imports)s
declare const process: { argv: string[] };
type Setup = { baseUrl: string; headers: Record<string, Record<string, string>>; known: Record<string, string> };
const setup: Setup = JSON.parse(readFileSync(process.argv[2]!, "utf8"));
const { known } = setup;
const baseUrl = setup.baseUrl;
%(clients)s

function expect(name: string, response: Response, status: number): void {
  if (response.status !== status) throw new Error(`${name} answered ${response.status}, not ${status}`);
}
%(calls)s
"""


def spelled(document: str) -> str:
    return document.replace("-", "_")


def literal(value: Any) -> str:
    """As TypeScript: names in braces are values that an earlier answer gave."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {literal(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, str) and "{" in value:
        return "`" + re.sub(r"\{(\w+)\}", r"${known.\1}", value) + "`"
    return json.dumps(value)


def print_call(call: Call, document: dict[str, Any]) -> str:
    path, method = place_of(document, call.operation)
    answer = next(iter(document["paths"][path][method.lower()]["responses"].values()))
    is_json = "application/json" in answer.get("content", {"application/json": {}})
    headers = '{ Authorization: `Bearer ${known.pictureToken}` }' if call.operation == "picture" else (
        f"setup.headers[{json.dumps(f'{call.document} {call.who}')}]"
    )  # fmt: skip
    options = [f"headers: {headers}"]
    if params := {where: values for where, values in (("path", call.path), ("query", call.query)) if values}:
        options.append(f"params: {literal(params)}")
    if call.body is not NO_BODY:
        options.append(f"body: {literal(call.body)}")
    if not is_json:
        options.append('parseAs: "stream"')
    lines = [
        f"const answer = await {spelled(call.document)}.{method}({json.dumps(path)}, {{ {', '.join(options)} }});",
        f"expect({json.dumps(call.name)}, answer.response, {call.status});",
    ]
    if not is_json:
        lines.append("await answer.data?.cancel();")
    for name, place in call.keep.items():
        steps = "".join(f"[{step}]!" if step.isdigit() else f".{step}!" for step in place.split("."))
        lines.append(f"known.{name} = String(answer.data!{steps});")
    return "{\n  " + "\n  ".join(lines) + "\n}"


def write_program(folder: Path, documents: dict[str, Any]) -> None:
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    text = PROGRAM % {
        "imports": "\n".join(f'import type {{ paths as {spelled(name)}_paths }} from "./{name}.js";' for name in documents),
        "clients": "\n".join(
            f"const {spelled(name)} = createClient<{spelled(name)}_paths>({{ baseUrl }});" for name in documents
        ),
        "calls": "\n".join(print_call(call, documents[call.document]) for call in CALLS),
    }
    (folder / "calls.ts").write_text(text)


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command[:2])} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"


def test_generated_types_compile_and_every_operation_is_called(sdk_demo: SdkDemo, tmp_path: Path) -> None:
    packages = node_packages.install(SOURCE, "sdk", "generate.mjs")
    (tmp_path / "node_modules").symlink_to(packages / "node_modules")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    documents = documents_of(sdk_demo.gateway.base_url)
    write_program(tmp_path, documents)
    run(tmp_path, "node", str(packages / "generate.mjs"), *(str(tmp_path / f"{name}.json") for name in documents))
    run(tmp_path, "node", str(COMPILER), *STRICT, "calls.ts")
    headers = {f"{call.document} {call.who}": sdk_demo.headers_for(call) for call in CALLS if call.operation != "picture"}
    setup = {"baseUrl": sdk_demo.gateway.base_url, "headers": headers, "known": sdk_demo.known}
    (tmp_path / "setup.json").write_text(json.dumps(setup))
    run(tmp_path, "node", "calls.js", "setup.json")
