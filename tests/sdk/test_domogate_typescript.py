"""The TypeScript client: its own tests in Node, and every operation of a real gateway in Node.

The long form calls every operation in Chromium too.
"""

import asyncio
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from client_generator.__main__ import TYPESCRIPT
from domogate.app import Tools
from domogate.domain.people import Client as RegisteredClient
from support.client_matrix import CHROMIUM, NODE, called_in
from support.client_operations import every_operation
from support.examples import is_long
from support.gateway import Gateway
from support.relying_party import PersonBrowser, Secrets
from support.scripted_server import Step, scripted
from support.sdk_demo import SdkDemo
from support.store_access import run_with_tools
from support.typescript_client import SOURCE, bundle, call_all_in_chromium, call_all_in_node, open_page, run, web_application

PAGES = SOURCE.parents[1] / "web" / "src"
DECLARED = re.compile(r"^(?:export )?interface (\w+) \{", re.MULTILINE)
IMPORTED = re.compile(r'^(?:import|export|\}) .*?from "([^"]+)";$', re.MULTILINE)
FETCH = re.compile(r"(?<![.\w])fetch[(,]")
PACKAGE = "@domogate/client"
CALLED = [(NODE, call_all_in_node), *([(CHROMIUM, call_all_in_chromium)] if is_long() else [])]
TESTS = sorted((SOURCE / "test").glob("*.test.mjs"))

BEGIN = """async ([baseUrl, redirectUri]) => {
    const attempt = await program.beginLogin(baseUrl, "web-app", ["topology.read"], redirectUri);
    sessionStorage.setItem("attempt", JSON.stringify(attempt));
    return attempt.url;
}"""
REDIRECTED = """async (baseUrl) => {
    const client = new program.Client(baseUrl, { tokens: { idToken: "secret", accessToken: "secret" } });
    const failed = (promise) => promise.then(() => "no error", (error) => error.constructor.name);
    const first = client.events.listen()[Symbol.asyncIterator]();
    return [await failed(client.homeauto.listPlants()), await failed(first.next())];
}"""
FINISH = """async ([baseUrl, subscriptionKey, callback]) => {
    const store = new program.WebTokenStore(sessionStorage);
    const attempt = JSON.parse(sessionStorage.getItem("attempt"));
    const session = await program.finishLogin(attempt, callback, { store });
    const first = session.tokens.refreshToken;
    store.save({ ...store.load(), expiresAt: 1 });
    const again = new program.Session({ clientId: "web-app", store });
    const client = new program.Client(baseUrl, { subscriptionKey, session: again });
    const plants = await Promise.all([1, 2, 3].map(() => client.homeauto.listPlants()));
    return { counts: plants.map(({ plants }) => plants.length), isRotated: store.load().refreshToken !== first };
}"""

CALLERS = {
    "app/api.ts",
    "app/live.ts",
    "app/oauth.ts",
    "app/reachable.ts",
    "developers/call.ts",
    "developers/openapi.ts",
    "developers/snippets.ts",
    "developers/token.tsx",
    "door/demo.ts",
}
LOGIN_IN_NODE = """import { Client } from "@domogate/client";
import { logIn } from "@domogate/client/node";

const [baseUrl, subscriptionKey] = process.argv.slice(2);
const session = await logIn(baseUrl, "node-app", ["topology.read"], { openBrowser: (url) => console.log(`OPEN ${url}`) });
console.log("granted", session.tokens.scope);
console.log("plants", (await new Client(baseUrl, { subscriptionKey, session }).homeauto.listPlants()).plants.length);
"""


def imports_of(path: Path) -> list[str]:
    return IMPORTED.findall(path.read_text())


class TestPackage:
    def test_it_needs_no_other_package(self) -> None:
        described = json.loads((SOURCE / "package.json").read_text())
        assert [name for name in described if name.lower().endswith("dependencies")] == []

    def test_it_imports_only_its_own_files(self) -> None:
        by_file = {path.name: imports_of(path) for path in TYPESCRIPT.rglob("*.ts")}
        assert sum(map(len, by_file.values())) > 100
        others = {name: [one for one in found if not one.startswith(("./", "../"))] for name, found in by_file.items()}
        assert {name: found for name, found in others.items() if found} == {
            "node.ts": ["node:child_process", "node:http", "node:process"]
        }

    def test_browsers_do_not_load_the_parts_of_node(self) -> None:
        assert [path.name for path in TYPESCRIPT.rglob("*.ts") if "./node.js" in imports_of(path)] == []

    @pytest.mark.slow
    @pytest.mark.parametrize("path", TESTS, ids=[path.name for path in TESTS])
    def test_its_own_tests_pass(self, typescript_package: Path, path: Path) -> None:
        for source in (path, path.with_name("scripted.mjs")):
            (typescript_package / source.name).write_text(source.read_text())
        # With `--test`, Node would start a second process for the file.
        shown = run(typescript_package, "node", "--test-reporter=tap", path.name)
        assert "\n# pass 0" not in shown
        assert "\n# fail 0" in shown
        assert "\n# skipped 0" in shown


class TestPages:
    def test_they_import_only_what_the_package_exports(self) -> None:
        exports = json.loads((SOURCE / "package.json").read_text())["exports"]
        found = {one for path in PAGES.rglob("*.ts*") for one in imports_of(path) if one.startswith(PACKAGE)}
        parts = {one.removeprefix(f"{PACKAGE}/").split("/")[0] for one in found}
        assert "core" in parts
        assert [part for part in parts if not {f"./{part}", f"./{part}/*"} & exports.keys()] == []

    def test_their_requests_are_those_of_the_client(self) -> None:
        """Other files call `fetch` for what is not an API of the gateway: files, the login, and plain HTTP in the portal."""
        callers = {path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.ts*") if FETCH.search(path.read_text())}
        assert callers == CALLERS
        assert re.search(r"\bexchange\(", (PAGES / "app" / "api.ts").read_text())

    def test_they_do_not_copy_a_model(self) -> None:
        models = {name for path in (TYPESCRIPT / "models").glob("*.ts") for name in DECLARED.findall(path.read_text())}
        files = [*PAGES.rglob("*model.ts"), PAGES / "app" / "limits.ts"]
        assert len(files) > 4
        copied = {str(path): models.intersection(DECLARED.findall(path.read_text())) for path in files}
        assert {path: names for path, names in copied.items() if names} == {}


@pytest.mark.slow
def test_a_redirect_in_chromium_gets_no_token(typescript_package: Path) -> None:
    (typescript_package / "redirect.js").write_text('export * from "@domogate/client";')
    script = bundle(typescript_package, "redirect.js")
    # The icon is in the page, so that the browser does not ask the server for one.
    page_of_application = Step(headers={"content-type": "text/html"}, body=b'<!doctype html><link rel="icon" href="data:,">')

    async def call(site: str) -> Any:
        async with open_page(site, script) as page:
            return await page.evaluate(REDIRECTED, site)

    with scripted(Step()) as other:
        stolen = {"location": f"{other.url}/stolen", "access-control-allow-origin": "*"}
        with scripted(page_of_application, Step(302, stolen, b"")) as server:
            errors = asyncio.run(call(server.url))
    assert errors == ["UnexpectedAnswer", "UnexpectedAnswer"]
    assert other.got == []
    assert [request.headers.get("authorization") for request in server.got].count("Bearer secret") == 2


class TestEveryOperation:
    @pytest.mark.slow
    @pytest.mark.parametrize(("column", "call_all"), CALLED, ids=[column for column, _ in CALLED])
    def test_is_called(
        self, column: str, call_all: Callable[[SdkDemo, Path], set[str]], sdk_demo: SdkDemo, typescript_package: Path
    ) -> None:
        assert call_all(sdk_demo, typescript_package) == called_in(column)

    @pytest.mark.parametrize("column", [NODE, CHROMIUM])
    def test_is_in_the_column(self, column: str) -> None:
        assert called_in(column) == every_operation().keys()


@pytest.mark.slow
def test_a_person_logs_in_to_a_web_application(demo: Gateway, typescript_package: Path) -> None:
    person = PersonBrowser(demo, "anna@example.com", Secrets())
    (typescript_package / "login.js").write_text('export * from "@domogate/client";')
    script = bundle(typescript_package, "login.js")

    async def log_in(site: str) -> Any:
        async with open_page(site, script) as page:
            url: str = await page.evaluate(BEGIN, [demo.base_url, f"{site}/callback"])
            callback = person.grant_access(url)
            return await page.evaluate(FINISH, [demo.base_url, demo.subscription_key, callback])

    with web_application(demo) as site:
        done = asyncio.run(log_in(site))
    person.close()
    assert done["counts"][0] > 0
    assert len(set(done["counts"])) == 1
    assert done["isRotated"]


@pytest.mark.slow
def test_a_person_logs_in_to_a_program_in_node(demo: Gateway, typescript_package: Path) -> None:
    async def register(tools: Tools) -> None:
        await tools.store.save_client(
            RegisteredClient("node-app", "Program", None, ("http://127.0.0.1/callback",), scopes=("topology.read",))
        )

    run_with_tools(demo, register)
    (typescript_package / "login_in_node.js").write_text(LOGIN_IN_NODE)
    person = PersonBrowser(demo, "anna@example.com", Secrets())
    command = ["node", "login_in_node.js", demo.base_url, demo.subscription_key]
    with subprocess.Popen(command, cwd=typescript_package, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline()
        assert address.startswith("OPEN ")
        assert httpx.get(person.grant_access(address.removeprefix("OPEN ").strip()), trust_env=False).status_code == 200
        shown = process.stdout.read()
    person.close()
    assert process.returncode == 0
    assert "granted openid topology.read" in shown
    assert re.search(r"^plants [1-9]", shown, re.MULTILINE)
