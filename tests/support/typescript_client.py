"""Builds the TypeScript client of `clients/typescript`, and a program that calls every operation with it."""

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Page

from client_generator.documents import Described
from client_generator.typescript.types import camel_case
from domogate.app import Tools
from domogate.domain.people import Client as RegisteredClient
from support.browser_tab import PATIENCE, open_chromium
from support.client_operations import every_operation
from support.gateway import Gateway
from support.http import KEY_HEADER
from support.named_code import ROOT
from support.node_packages import use_node
from support.scripted_server import Step, scripted
from support.sdk_calls import CALLS, NO_BODY, Call
from support.sdk_demo import SdkDemo
from support.store_access import run_with_tools

SOURCE = ROOT / "clients" / "typescript"
# This compiler of web/ needs a fifth of the time of those that are written in JavaScript.
COMPILER = ROOT / "web" / "node_modules" / "typescript" / "bin" / "tsc"
ESBUILD = ROOT / "web" / "node_modules" / "esbuild" / "bin" / "esbuild"
STRICT = [
    *("--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--skipLibCheck", "false"),
    *("--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom,dom.iterable,dom.asynciterable", "--types", ""),
]

PROGRAM = """import { Client } from "@domogate/client";

export interface Setup {
  baseUrl: string;
  credentials: Record<string, { key: string; token: string }>;
  known: Record<string, string>;
}

export async function callAll({ baseUrl, credentials, known }: Setup): Promise<string[]> {
  const called: string[] = [];
  function clientOf(who: string): Client {
    const { token, key } = credentials[who]!;
    const tokens = { accessToken: token, idToken: token };
    return new Client(baseUrl, { ...(key && { subscriptionKey: key }), tokens, deadline: 180_000 });
  }
  function expect(name: string, isRight: boolean): void {
    if (!isRight) throw new Error(`${name} has another answer than expected`);
    called.push(name);
  }
%s
  return called;
}
"""


MAIN = """import { readFileSync } from "node:fs";
import { callAll } from "./calls.js";
console.log(JSON.stringify(await callAll(JSON.parse(readFileSync("setup.json", "utf8")))));
"""


def run(folder: Path, *command: str | Path) -> str:
    """Run a program in the folder and return its output."""
    use_node()
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout[-6000:]}{done.stderr[-3000:]}"
    return done.stdout


def build_package(folder: Path) -> Path:
    """Compile the client. Programs in the folder import it as `@domogate/client`."""
    package = folder / "node_modules" / "@domogate" / "client"
    package.mkdir(parents=True)
    shutil.copy(SOURCE / "package.json", package)
    assert COMPILER.exists(), "the packages of web/ are needed: run ./dev web once"
    run(SOURCE, "node", COMPILER, "--outDir", package / "dist")
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def build_with_program(folder: Path) -> None:
    """Compile the client, and the program that calls every operation."""
    write_program(build_package(folder))


def call_all_in_node(demo: SdkDemo, folder: Path) -> set[str]:
    """Return the names of the operations that were called."""
    write_program(folder)
    (folder / "setup.json").write_text(json.dumps(setup_of(demo)))
    (folder / "main.js").write_text(MAIN)
    return set(json.loads(run(folder, "node", "main.js")))


def call_all_in_chromium(demo: SdkDemo, folder: Path) -> set[str]:
    """Return the names of the operations that a page of another origin called."""
    write_program(folder)
    script = bundle(folder, "calls.js")

    async def call(site: str) -> set[str]:
        async with open_page(site, script) as page:
            return set(await page.evaluate("setup => program.callAll(setup)", setup_of(demo)))

    with web_application(demo.gateway) as site:
        return asyncio.run(call(site))


@contextmanager
def web_application(gateway: Gateway) -> Iterator[str]:
    """The URL of a web application, which is registered as `web-app`."""
    with scripted(Step(headers={"content-type": "text/html"}, body=b"<!doctype html><title>application</title>")) as server:

        async def register(tools: Tools) -> None:
            redirect_uris = (f"{server.url}/callback",)
            await tools.store.save_client(
                RegisteredClient("web-app", "Web app", None, redirect_uris, scopes=("topology.read",))
            )

        run_with_tools(gateway, register)
        yield server.url


@asynccontextmanager
async def open_page(url: str, script: str) -> AsyncIterator[Page]:
    """A page in Chromium in which the script has run. The exports of the script are in `program`."""
    async with open_chromium() as browser:
        page = await browser.new_page()
        page.set_default_timeout(PATIENCE)
        await page.goto(url)
        await page.evaluate(f"{script}; globalThis.program = program")
        yield page


def write_program(folder: Path) -> None:
    """Write `calls.ts`, check its types and compile it, if this has not been done in this folder."""
    if (folder / "calls.js").exists():
        return
    operations = every_operation()
    (folder / "calls.ts").write_text(PROGRAM % "\n".join(print_call(call, operations[call.name]) for call in CALLS))
    check_types(folder, "calls.ts")


def check_types(folder: Path, *sources: str) -> None:
    """Check the types of programs strictly, and compile them."""
    run(folder, "node", COMPILER, *STRICT, "--ignoreConfig", *sources)


def bundle(folder: Path, program: str, *options: str) -> str:
    """The program with all that it imports, as a script for a browser. Its exports are in `program`."""
    return run(folder, ESBUILD, program, "--bundle", "--format=iife", "--global-name=program", "--target=es2022", *options)


def setup_of(demo: SdkDemo) -> dict[str, Any]:
    """The values that the program needs."""
    credentials: dict[str, dict[str, str]] = {}
    for call in CALLS:
        headers = {} if call.operation == "picture" else demo.headers_for(call)
        token = headers.pop("Authorization", "").removeprefix("Bearer ")
        credentials[f"{call.document} {call.who}"] = {"token": token, "key": headers.get(KEY_HEADER, "")}
    return {"baseUrl": demo.gateway.base_url, "credentials": credentials, "known": demo.known}


def literal(value: Any) -> str:
    """As TypeScript: names in braces are values that an earlier answer gave."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)}: {literal(inner)}" for name, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, str) and "{" in value:
        return "`" + re.sub(r"\{(\w+)\}", r"${known.\1}", value) + "`"
    return json.dumps(value)


def print_call(call: Call, operation: Described) -> str:
    """The call, and a check that its answer is of the right kind."""
    arguments = [literal(call.path[one["name"]]) for one in operation.parameters("path")]
    arguments += ["known.pictureToken!"] if call.operation == "picture" else []
    arguments += [literal(call.body)] if call.body is not NO_BODY else []
    arguments += [literal(call.query)] if call.query else []
    who, name = json.dumps(f"{call.document} {call.who}"), json.dumps(call.name)
    sent = f"clientOf({who}).{camel_case(call.document)}.{call.operation}({', '.join(arguments)})"
    if operation.is_stream:
        return f"  for await (const item of {sent}) {{ expect({name}, item.type.length > 0); break; }}"
    kind = "answer === undefined" if not operation.success else "typeof answer === 'object'"
    if operation.success and not operation.answer:
        kind = "answer.data.length > 0 && answer.mediaType.includes('/')"
    lines = [f"const answer = await {sent};", f"expect({name}, {kind});"]
    for value, place in call.keep.items():
        steps = "".join(f"[{step}]!" if step.isdigit() else f".{step}!" for step in place.split("."))
        lines.append(f"known.{value} = String(answer{steps});")
    return "  {\n    " + "\n    ".join(lines) + "\n  }"
