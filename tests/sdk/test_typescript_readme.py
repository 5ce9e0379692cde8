"""The examples in the README of the TypeScript client compile, and run in their order on a real gateway."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.gateway import Gateway
from support.markdown import links
from support.relying_party import PersonBrowser, Secrets
from support.typescript_client import SOURCE, check_types, web_application

README = SOURCE / "README.md"
BLOCKS = re.findall(r"^```ts\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)

NODE_TYPES = (
    'declare module "node:fs/promises" { export function readFile(path: string, encoding: "utf8"): Promise<string>; }\n'
)
MAIN = """import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const stored = new Map();
globalThis.sessionStorage = { getItem: (key) => stored.get(key) ?? null, setItem: (key, text) => stored.set(key, text) };
globalThis.location = { assign: (url) => console.log(`OPEN ${url}`) };

const { continueSession, logIn, receive, returnFromLogin } = await import("./readme.js");
const [baseUrl, key, callback] = JSON.parse((await lines.next()).value);
await logIn(baseUrl, callback);
location.href = (await lines.next()).value;
console.log("granted", (await returnFromLogin()).tokens.scope);
console.log("plants", (await continueSession(baseUrl, key).homeauto.listPlants()).plants.length);
console.log("status", await receive("whsec_AAAA", new Headers(), new Uint8Array()));
process.exit();
"""


def test_every_relative_link_leads_to_a_file() -> None:
    targets = [link.target.partition("#")[0] for link in links(README.read_text())]
    assert targets
    assert [target for target in targets if not (README.parent / target).exists()] == []


def run_as_page(folder: Path, given: str, visit: Callable[[str], str]) -> tuple[int, str]:
    """Run the program. `visit` opens a URL as the person and returns the URL of the callback."""
    command = ["node", "readme_main.js"]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{given}\n")
        shown = ""
        for line in process.stdout:
            shown += line
            if line.startswith("OPEN "):
                process.stdin.write(f"{visit(line.removeprefix('OPEN ').strip())}\n")
    return process.returncode, shown


@pytest.mark.slow
def test_the_examples_run(demo: Gateway, typescript_package: Path) -> None:
    folder = typescript_package
    (folder / "node.d.ts").write_text(NODE_TYPES)
    (folder / "readme.ts").write_text("\n".join(BLOCKS))
    check_types(folder, "node.d.ts", "readme.ts")
    (folder / "readme_main.js").write_text(MAIN)
    (folder / "ready.json").write_text(json.dumps(demo.ready))
    person = PersonBrowser(demo, "anna@example.com", Secrets())
    with web_application(demo) as site:
        given = [demo.base_url, demo.subscription_key, f"{site}/callback"]
        status, shown = run_as_page(folder, json.dumps(given), person.grant_access)
    person.close()
    assert status == 0, shown
    assert "House" in shown
    assert " 2003 " in shown, "the code of NoSuchModule"
    assert re.search(r"^.* (is on|is off)$", shown, re.MULTILINE)
    assert "confirmed" in shown
    assert "granted openid topology.read" in shown
    assert re.search(r"^plants [1-9]", shown, re.MULTILINE)
    assert "status 400" in shown
