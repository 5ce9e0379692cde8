"""The documentation in a real browser, served with its content security policy: on a phone and on a desktop, light and dark."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

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

_IS_AS_WIDE = "width => document.documentElement.scrollWidth === width"
"""The navigation moves slowly when the window gets wider."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def address() -> AsyncIterator[str]:
    build()
    async with serving(DocumentationApp(b"not built")) as listening:
        yield f"http://127.0.0.1:{listening.port}/docs"


@asynccontextmanager
async def open_page(chromium: Browser, address: str, width: int = 1280, scheme: Scheme = "light") -> AsyncIterator[Page]:
    """A page that reports nothing to the console, and asks no other host."""
    context = await chromium.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    context.set_default_timeout(PATIENCE)
    page = await context.new_page()
    asked: set[str] = set()
    reported: list[str] = []
    page.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
    page.on("console", lambda message: reported.append(message.text))
    page.on("pageerror", lambda error: reported.append(str(error)))
    answer = await page.goto(address)
    assert answer is not None
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    yield page
    assert asked <= {urlsplit(address).netloc}
    assert reported == []
    await context.close()


@pytest.mark.parametrize(("scheme", "colour"), [("light", "rgb(29, 38, 36)"), ("dark", "rgb(232, 235, 233)")])
@pytest.mark.parametrize("name", ["architecture", "performance"])
async def test_drawings_are_whole_have_the_colours_of_the_page_and_scroll_in_their_boxes(
    chromium: Browser, address: str, name: str, scheme: Scheme, colour: str
) -> None:
    async with open_page(chromium, f"{address}/{name}.html", 390, scheme) as page:
        for width in (390, 1280):
            await page.set_viewport_size({"width": width, "height": 844})
            await page.wait_for_function(_IS_AS_WIDE, arg=width)
            drawings = await page.evaluate(_LOOK_AT_DRAWINGS)
            assert drawings
            assert [text for drawing in drawings for text in drawing["cut_off"]] == []
            assert all(drawing["texts"] > 5 and drawing["colours"] == [colour] for drawing in drawings)
        if name == "architecture":  # it has wide drawings: on a desktop they fit and can be read
            drawings = await page.evaluate(_MEASURE_DRAWINGS)
            assert len(drawings) > 3
            assert [drawing for drawing in drawings if drawing["scrolls"] or drawing["scale"] < 0.85] == []


async def test_typed_words_lead_to_a_page(chromium: Browser, address: str) -> None:
    """Only the last page is opened: each page that is opened reads all words of the documentation again."""
    async with open_page(chromium, f"{address}/index.html") as page:
        field = page.get_by_role("textbox", name="Search")
        await field.click()
        for words, path in (
            ("DOMOGATE_BACKUP_EVERY", "settings.html"),
            ("webhook signature", "webhooks.html"),
            ("backup schedule", "backup"),
        ):
            await field.fill("")
            await expect(page.locator(".md-search-result__item")).to_have_count(0)
            await field.fill(words[:-1])
            await page.keyboard.type(words[-1])  # the page searches when a key is released
            found = page.locator(f".md-search-result__link[href*='{path}']").first
            await expect(found).to_be_visible()
            answer = await page.request.get(str(await found.evaluate("link => link.href")))
            assert answer.status == 200
        await found.click()
        await page.wait_for_url(f"**/*{path}*")
        assert await page.locator("article h1").count() == 1
