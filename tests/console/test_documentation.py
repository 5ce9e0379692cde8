"""The documentation over HTTP: what is served below /docs, with which headers. The built site is made up here."""

import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from domogate.app.pages import build_pages
from domogate.console.documentation import DocumentationApp, load_site
from domogate.console.shell import Identity, make_documentation_not_built
from support.log_lines import capture_logs

PAGES = {
    "index.html": "<h1>Start</h1>",
    "404.html": "<h1>No such page</h1>",
    "guides/mqtt.html": "<h1>MQTT</h1>",
    "guides/it/index.html": "<h1>Guide</h1>",
}
NOT_BUILT = make_documentation_not_built(Identity(name="Hotel <Aurora>", version="1.2", base_url="https://home.example"))


def write_site(folder: Path) -> Path:
    site = folder / "site"
    for path, text in PAGES.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / f"{path}.gz").write_bytes(gzip.compress(text.encode()))
    files = {path: {"media_type": "text/html; charset=utf-8", "etag": f"etag-of-{path}"} for path in PAGES}
    (site / "site.json").write_text(json.dumps({"scripts": ["sha256-abc="], "files": files}))
    (folder / "secret.html.gz").write_bytes(gzip.compress(b"a file outside the site"))
    (site / "unlisted.html.gz").write_bytes(gzip.compress(b"a file that the manifest does not list"))
    return site


def client_of(site: Path) -> httpx.AsyncClient:
    app = DocumentationApp(NOT_BUILT, lambda: load_site(site))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="https://home.example")


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(write_site(tmp_path)) as client:
        yield client


class TestPages:
    @pytest.mark.parametrize(
        ("path", "text"), [("/docs/", "Start"), ("/docs/index.html", "Start"), ("/docs/guides/mqtt.html", "MQTT")]
    )
    async def test_they_are_served_below_docs(self, web: httpx.AsyncClient, path: str, text: str) -> None:
        answer = await web.get(path)
        assert (answer.status_code, answer.text) == (200, f"<h1>{text}</h1>")
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["content-encoding"] == "gzip"

    async def test_a_client_without_compression_gets_the_same_text(self, web: httpx.AsyncClient) -> None:
        answer = await web.get("/docs/", headers={"accept-encoding": "identity"})
        assert answer.text == PAGES["index.html"]
        assert "content-encoding" not in answer.headers

    async def test_without_a_slash_the_browser_is_sent_to_the_start_page(self, web: httpx.AsyncClient) -> None:
        answer = await web.get("/docs")
        assert (answer.status_code, answer.headers["location"]) == (308, "/docs/")

    @pytest.mark.parametrize(
        ("path", "page"),
        [
            *(("/docs/guides/mqtt", "guides/mqtt.html"), ("/docs/guides/mqtt/", "guides/mqtt.html")),
            *(("/docs/guides/mqtt.md", "guides/mqtt.html"), ("/docs/index", "index.html")),
            *(("/docs/guides/it", "guides/it/index.html"), ("/docs/guides/it/", "guides/it/index.html")),
        ],
    )
    async def test_without_the_ending_the_browser_is_sent_to_the_page(
        self, web: httpx.AsyncClient, path: str, page: str
    ) -> None:
        answer = await web.get(path)
        assert (answer.status_code, answer.headers["location"]) == (307, f"/docs/{page}")

    async def test_an_unchanged_page_is_not_sent_again(self, web: httpx.AsyncClient) -> None:
        first = await web.get("/docs/")
        again = await web.get("/docs/", headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")

    async def test_the_policy_allows_only_the_inline_scripts_that_were_built(self, web: httpx.AsyncClient) -> None:
        headers = (await web.get("/docs/")).headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["script-src"] == "'self' 'sha256-abc='"
        assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"

    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
    async def test_other_methods_are_refused(self, web: httpx.AsyncClient, method: str) -> None:
        answer = await web.request(method, "/docs/")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


class TestOtherPaths:
    @pytest.mark.parametrize(
        "path",
        [
            *("/docs/gone.html", "/docs/guides", "/docs/guides/", "/docs/site.json", "/docs/unlisted.html"),
            *("/docs/../secret.html", "/docs/guides/../../secret.html", "/docs//secret.html", "/docs/./index.html"),
            *("/docs/index.html.gz", "/docs/index.html/", "/docs/\x00", "/docs/" + "a" * 5000, "/docs/..\\secret.html"),
        ],
    )
    async def test_they_are_not_found_even_if_such_a_file_exists(self, tmp_path: Path, path: str) -> None:
        """The path is given as it is: httpx would normalise it."""
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        site = load_site(write_site(tmp_path))
        await DocumentationApp(NOT_BUILT, lambda: site)(
            {"type": "http", "method": "GET", "path": path, "headers": []}, None, send
        )
        assert sent[0]["status"] == 404
        assert sent[1]["body"] == PAGES["404.html"].encode()


class TestWithoutASite:
    async def test_the_page_says_how_to_build_it_and_works_as_soon_as_it_is_built(self, tmp_path: Path) -> None:
        async with client_of(tmp_path / "site") as web:
            answer = await web.get("/docs/")
            assert answer.status_code == 503
            assert "./dev site" in answer.text
            assert "Hotel &lt;Aurora&gt;" in answer.text
            assert answer.headers["cache-control"] == "no-store"
            write_site(tmp_path)
            assert (await web.get("/docs/")).status_code == 200

    async def test_a_damaged_site_counts_as_none_and_the_log_says_why(self, tmp_path: Path) -> None:
        site = write_site(tmp_path)
        (site / "guides" / "mqtt.html.gz").unlink()
        with capture_logs() as logs:
            async with client_of(site) as web:
                assert (await web.get("/docs/guides/mqtt.html")).status_code == 503
                assert (await web.get("/docs/")).status_code == 200
            (site / "site.json").write_text("{}")
            assert load_site(site) is None
        assert [line["event"] for line in logs] == [
            "a file of the documentation cannot be read",
            "the documentation cannot be read, so /docs does not show it",
        ]


class TestSettings:
    @pytest.fixture
    def roots(self, tmp_path: Path) -> Any:
        from domogate.console.shell import NO_DEMO
        from domogate.settings import Settings

        class Operators:
            async def has_active_operator(self) -> bool:
                return True

        return lambda **values: set(build_pages(Settings(data=tmp_path, **values), NO_DEMO, Operators()))

    def test_it_is_served_with_the_pages_and_without_them_if_people_log_in_elsewhere(self, roots: Any) -> None:
        assert b"docs" in roots()
        assert roots(own_issuer=False) == {b"docs"}
        assert roots(console=False) == set()
