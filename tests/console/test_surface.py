"""The pages over HTTP: what is served at which path, with which headers. The built files are made up here."""

import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from domogate.app import pages
from domogate.app.pages import FirstStart, build_pages
from domogate.auth.pages.rendering import STYLE_PATH
from domogate.console.files import accepted_codings, load_build
from domogate.console.shell import NO_DEMO, Demo, DemoUser, Identity, Logo, read_logo
from domogate.console.surface import PagesApp
from domogate.edge.stack import nothing_here
from domogate.ports import StoreTimeout
from domogate.settings import Settings
from support.log_lines import capture_logs

SCRIPT = b"export const hello = 1;"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
NAMES = ("main-AAAA.js", "chunk-BBBB.js", "main-CCCC.css", "page-DDDD.js")


def write_build(folder: Path) -> Path:
    for name in NAMES:
        (folder / name).write_bytes(SCRIPT)
        (folder / f"{name}.gz").write_bytes(gzip.compress(SCRIPT))
        (folder / f"{name}.br").write_bytes(b"brotli of " + name.encode())
    first = ["main-AAAA.js", "chunk-BBBB.js"]
    build: dict[str, object] = {"version": "1", "script": first[0], "style": "main-CCCC.css", "first": first, "files": NAMES}
    build["areas"] = {"homes": ["page-DDDD.js"]}
    (folder / "build.json").write_text(json.dumps(build))
    return folder


def identity(**changes: Any) -> Identity:
    facts: dict[str, Any] = {"name": "Hotel <Aurora>", "version": "1.2", "base_url": "https://home.example", **changes}
    return Identity(**facts)


def client_of(app: PagesApp) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="https://home.example")


class Operators:
    """Counts how often the store is asked. `has` becomes the answer, if the store answers in time."""

    def __init__(self, has: bool = False) -> None:
        self.has = has
        self.is_in_time = True
        self.asked = 0

    async def has_active_operator(self) -> bool:
        self.asked += 1
        if not self.is_in_time:
            raise StoreTimeout
        return self.has


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(PagesApp(load_build(write_build(tmp_path)), identity(), nothing_here)) as client:
        yield client


class TestTheShell:
    @pytest.mark.parametrize(
        "path", ["/", "/homes", "/homes/4c0a/rooms/2", "/console", "/developers/reference", "/signed-in?code=x"]
    )
    async def test_every_page_is_the_same_shell(self, web: httpx.AsyncClient, path: str) -> None:
        answer = await web.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert '<script type="module" src="/assets/main-AAAA.js"></script>' in answer.text
        assert '<link rel="modulepreload" href="/assets/chunk-BBBB.js">' in answer.text

    async def test_a_page_of_an_area_loads_the_scripts_of_the_area_at_once(self, web: httpx.AsyncClient) -> None:
        preload = '<link rel="modulepreload" href="/assets/page-DDDD.js">'
        assert preload in (await web.get("/homes/4c0a")).text
        assert preload not in (await web.get("/")).text

    async def test_its_policy_allows_nothing_inline_and_nothing_from_elsewhere(self, web: httpx.AsyncClient) -> None:
        headers = (await web.get("/")).headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"

    async def test_a_name_cannot_end_the_script_element(self, tmp_path: Path) -> None:
        users = (DemoUser("x@example.com", "</script><script>alert(1)</script>", "secret"),)
        app = PagesApp(load_build(write_build(tmp_path)), identity(demo=Demo(users, "public-key")), nothing_here)
        async with client_of(app) as web:
            page = (await web.get("/")).text
        assert "<title>Hotel &lt;Aurora&gt;</title>" in page
        assert page.count("</script>") == 2
        config = json.loads(page.split('id="config">')[1].split("</script>")[0])
        assert config["demo"][0]["name"] == users[0].name
        assert config["demoKey"] == "public-key"
        assert config["origin"] == "https://home.example"

    async def test_it_is_checked_again_at_each_load(self, web: httpx.AsyncClient) -> None:
        first = await web.get("/")
        assert first.headers["cache-control"] == "no-cache"
        again = await web.get("/", headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        repeated = [("if-none-match", '"other"'), ("if-none-match", first.headers["etag"])]
        assert (await web.get("/", headers=repeated)).status_code == 304

    async def test_other_methods_are_refused(self, web: httpx.AsyncClient) -> None:
        answer = await web.post("/")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


class TestFiles:
    async def test_they_are_kept_by_browsers_and_sent_compressed(self, web: httpx.AsyncClient) -> None:
        answer = await web.get("/assets/main-AAAA.js", headers={"accept-encoding": "gzip"})
        assert answer.content == SCRIPT
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.headers["content-type"].startswith("text/javascript")
        assert "Accept-Encoding" in answer.headers["vary"]

    async def test_brotli_is_preferred_and_plain_is_possible(self, web: httpx.AsyncClient) -> None:
        async with web.stream("GET", "/assets/main-CCCC.css", headers={"accept-encoding": "gzip, br"}) as brotli:
            assert b"".join([piece async for piece in brotli.aiter_raw()]) == b"brotli of main-CCCC.css"
        repeated = [("accept-encoding", "deflate"), ("accept-encoding", "gzip")]
        assert (await web.get("/assets/main-CCCC.css", headers=repeated)).headers["content-encoding"] == "gzip"
        plain = await web.get("/assets/main-CCCC.css", headers={"accept-encoding": "identity"})
        assert plain.content == SCRIPT
        assert "content-encoding" not in plain.headers
        assert plain.headers["etag"] != brotli.headers["etag"]

    @pytest.mark.parametrize(
        "path",
        [
            *("/assets/", "/assets/build.json", "/assets/main-AAAA.js.gz", "/assets/main-AAAA.js/", "/assets/../surface.py"),
            *("/assets//etc/passwd", "/logo", "//homes", "/homesick"),
        ],
    )
    async def test_everything_else_is_not_found(self, web: httpx.AsyncClient, path: str) -> None:
        scope = {"type": "http", "method": "GET", "path": path, "headers": []}
        sent: list[dict[str, object]] = []

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        app = cast(Any, web)._transport.app  # httpx would normalise the path
        await app(scope, None, send)
        assert sent[0]["status"] == 404

    @pytest.mark.parametrize(
        ("header", "codings"),
        [("", {""}), ("gzip, br", {"gzip", "br"}), ("br;q=0, gzip;q=0.5", {"gzip"}), ("BR; q=0.000, GZIP", {"gzip"})],
    )
    def test_accepted_codings(self, header: str, codings: set[str]) -> None:
        assert accepted_codings(header) == codings


class TestANewGateway:
    async def test_only_its_door_says_that_nobody_operates_it(self, tmp_path: Path) -> None:
        store = Operators()
        app = PagesApp(load_build(write_build(tmp_path)), identity(), nothing_here, FirstStart(store).is_new)
        async with client_of(app) as web:
            for _ in range(5):
                assert '"isNew":true' in (await web.get("/")).text
            assert '"isNew":false' in (await web.get("/console")).text
        assert store.asked == 1, "the store is asked at most once a second"

    async def test_a_gateway_with_an_operator_does_not_ask_again(self) -> None:
        store = Operators(has=True)
        first = FirstStart(store)
        assert not any([await first.is_new() for _ in range(3)])
        assert store.asked == 1

    async def test_a_gateway_whose_store_does_not_answer_is_not_called_new(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = 0.0
        monkeypatch.setattr(pages, "time", SimpleNamespace(monotonic=lambda: now))
        store = Operators()
        first = FirstStart(store)
        for is_in_time in (False, True, False):
            store.is_in_time = is_in_time
            assert [await first.is_new() for _ in range(3)] == [is_in_time] * 3
            now += 1.0
        assert store.asked == 3


class TestWithoutABuild:
    async def test_the_page_says_how_to_build_it(self, tmp_path: Path) -> None:
        assert load_build(tmp_path) is None
        async with client_of(PagesApp(None, identity(), nothing_here)) as web:
            answer = await web.get("/")
            assert answer.status_code == 503
            assert "./dev web" in answer.text
            assert "Hotel &lt;Aurora&gt;" in answer.text
            assert f'<link rel="stylesheet" href="{STYLE_PATH}?' in answer.text, "it looks as the login pages do"
            assert "<script" not in answer.text
            assert answer.headers["cache-control"] == "no-store"
            assert (await web.get("/assets/main-AAAA.js")).status_code == 404

    def test_the_log_says_once_that_they_are_not_built(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def count_warnings(settings: Settings) -> int:
            with capture_logs() as logs:
                build_pages(settings, NO_DEMO, Operators())
            return sum("the pages are not built" in line["event"] for line in logs)

        monkeypatch.setattr(pages, "load_build", lambda: None)
        assert count_warnings(Settings(data=tmp_path)) == 1
        assert count_warnings(Settings(data=tmp_path, console=False)) == 0
        monkeypatch.setattr(pages, "load_build", lambda: load_build(write_build(tmp_path)))
        assert count_warnings(Settings(data=tmp_path)) == 0

    def test_a_damaged_build_counts_as_none(self, tmp_path: Path) -> None:
        write_build(tmp_path)
        (tmp_path / "main-AAAA.js.br").unlink()
        assert load_build(tmp_path) is None
        (write_build(tmp_path) / "build.json").write_text("{}")
        assert load_build(tmp_path) is None


class TestLogo:
    async def test_it_is_served_and_cannot_run_scripts(self, tmp_path: Path) -> None:
        app = PagesApp(load_build(write_build(tmp_path)), identity(logo=Logo("image/png", PNG)), nothing_here)
        async with client_of(app) as web:
            answer = await web.get("/logo")
            assert answer.content == PNG
            assert answer.headers["content-type"] == "image/png"
            assert "sandbox" in answer.headers["content-security-policy"]
            assert '"logo":"/logo"' in (await web.get("/")).text

    @pytest.mark.parametrize(
        ("name", "content", "problem"),
        [
            ("logo.gif", b"GIF89a", "SVG or PNG"),
            ("logo.png", b"<svg>", "not an image of the type image/png"),
            ("logo.svg", b"hello", "not an image of the type image/svg"),
            ("logo.svg", b"<svg" + bytes(262_144), "more than 262144 bytes"),
        ],
    )
    def test_other_files_are_refused(self, tmp_path: Path, name: str, content: bytes, problem: str) -> None:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=problem):
            read_logo(tmp_path / name)

    def test_a_missing_file_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="cannot be read"):
            read_logo(tmp_path / "logo.svg")
