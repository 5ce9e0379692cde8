"""The documentation in a real browser, served with its content security policy: on a phone and on a desktop, light and dark."""

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from docsite.building import build
from domogate.console.documentation import DocumentationApp
from support.browser_tab import PATIENCE
from support.edge_server import serving
from support.pages import Scheme

pytestmark = pytest.mark.slow

_MEASURE_DRAWINGS = """() => [...document.querySelectorAll('.diagram > div')].map(box => ({
    scrolls: box.scrollWidth > box.clientWidth,
    scale: box.querySelector('svg').getBoundingClientRect().width / box.querySelector('svg').viewBox.baseVal.width,
}))"""
_LOOK_AT_DRAWINGS = """() => [...document.querySelectorAll('.diagram svg')].map(svg => {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')];
    const isCutOff = text => {
        const { left, right, top, bottom } = text.getBoundingClientRect();
        return left < frame.left || right > frame.right || top < frame.top || bottom > frame.bottom;
    };
    return {
        texts: texts.length,
        cut_off: texts.filter(isCutOff).map(text => text.textContent),
        colours: [...new Set(texts.map(text => getComputedStyle(text).fill))],
    };
})"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def address() -> AsyncIterator[str]:
    build()
    async with serving(DocumentationApp(b"not built")) as listening:
        yield f"http://127.0.0.1:{listening.port}/docs"


class TestDrawings:
    @pytest.mark.parametrize("width", [390, 1280])
    @pytest.mark.parametrize(("scheme", "colour"), [("light", "rgb(29, 38, 36)"), ("dark", "rgb(232, 235, 233)")])
    @pytest.mark.parametrize("name", ["architecture", "performance"])
    async def test_they_are_whole_have_the_colours_of_the_page_and_scroll_in_their_boxes(
        self, chromium: Browser, address: str, name: str, scheme: Scheme, colour: str, width: int
    ) -> None:
        context = await chromium.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
        page = await context.new_page()
        reported: list[str] = []
        page.on("console", lambda message: reported.append(message.text))
        await page.goto(f"{address}/{name}.html", timeout=PATIENCE)
        drawings = await page.evaluate(_LOOK_AT_DRAWINGS)
        assert drawings
        assert [text for drawing in drawings for text in drawing["cut_off"]] == []
        assert all(drawing["texts"] > 5 and drawing["colours"] == [colour] for drawing in drawings)
        assert await page.evaluate("document.documentElement.scrollWidth") == width
        assert reported == []
        await context.close()

    async def test_on_a_desktop_the_wide_drawings_fit_and_can_be_read(self, chromium: Browser, address: str) -> None:
        context = await chromium.new_context(viewport={"width": 1280, "height": 844})
        page = await context.new_page()
        await page.goto(f"{address}/architecture.html", timeout=PATIENCE)
        drawings = await page.evaluate(_MEASURE_DRAWINGS)
        assert len(drawings) > 3
        assert [drawing for drawing in drawings if drawing["scrolls"] or drawing["scale"] < 0.85] == []
        await context.close()


class TestSearch:
    @pytest.mark.parametrize(
        ("words", "path"),
        [
            ("backup schedule", "backup"),
            ("DOMOGATE_BACKUP_EVERY", "settings.html"),
            ("webhook signature", "webhooks.html"),
        ],
    )
    async def test_typed_words_lead_to_a_page_and_no_other_host_is_asked(
        self, chromium: Browser, address: str, words: str, path: str
    ) -> None:
        context = await chromium.new_context(viewport={"width": 1280, "height": 844})
        page = await context.new_page()
        asked: set[str] = set()
        reported: list[str] = []
        page.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
        page.on("console", lambda message: reported.append(message.text))
        page.on("pageerror", lambda error: reported.append(str(error)))
        answer = await page.goto(f"{address}/index.html", timeout=PATIENCE)
        assert answer is not None
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        await page.get_by_role("textbox", name="Search").click(timeout=PATIENCE)
        await page.keyboard.type(words)
        found = page.locator(f".md-search-result__link[href*='{path}']").first
        await found.click(timeout=PATIENCE)
        await page.wait_for_url(f"**/*{path}*", timeout=PATIENCE)
        assert await page.locator("article h1").count() == 1
        assert asked <= {urlsplit(address).netloc}
        assert reported == []
        await context.close()
