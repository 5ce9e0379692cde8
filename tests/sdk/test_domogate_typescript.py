"""The TypeScript client: its own tests in Node, and every operation of a real gateway in Node and in Chromium."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from client_generator.__main__ import TYPESCRIPT
from support.client_matrix import CHROMIUM, NODE, called_in
from support.client_operations import every_operation
from support.gateway import Gateway
from support.relying_party import PersonBrowser, Secrets
from support.scripted_server import Step, scripted
from support.sdk_demo import SdkDemo
from support.typescript_client import SOURCE, bundle, call_all_in_chromium, call_all_in_node, open_page, run, web_application

PAGES = SOURCE.parents[1] / "web" / "src"
DECLARED = re.compile(r"^(?:export )?interface (\w+) \{", re.MULTILINE)
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


class TestPackage:
    def test_it_needs_no_other_package(self) -> None:
        described = json.loads((SOURCE / "package.json").read_text())
        assert [name for name in described if name.lower().endswith("dependencies")] == []

    def test_it_imports_only_its_own_files(self) -> None:
        lines = [line for path in TYPESCRIPT.rglob("*.ts") for line in path.read_text().splitlines()]
        sources = [line.rpartition(" from ")[2] for line in lines if line.startswith(("import ", "export ", "} from "))]
        imported = [source for source in sources if source.startswith('"')]
        assert len(imported) > 100
        assert [source for source in imported if not source.startswith(('"./', '"../'))] == []

    @pytest.mark.slow
    @pytest.mark.parametrize("path", TESTS, ids=[path.name for path in TESTS])
    def test_its_own_tests_pass(self, typescript_package: Path, path: Path) -> None:
        for source in (path, path.with_name("scripted.mjs")):
            (typescript_package / source.name).write_text(source.read_text())
        shown = run(typescript_package, "node", "--test", path.name)
        assert "\n# fail 0" in shown
        assert "\n# skipped 0" in shown


class TestPages:
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


@pytest.mark.slow
class TestEveryOperation:
    def test_in_node(self, sdk_demo: SdkDemo, typescript_package: Path) -> None:
        assert call_all_in_node(sdk_demo, typescript_package) == called_in(NODE) == every_operation().keys()

    def test_in_chromium(self, sdk_demo: SdkDemo, typescript_package: Path) -> None:
        assert call_all_in_chromium(sdk_demo, typescript_package) == called_in(CHROMIUM) == every_operation().keys()


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
