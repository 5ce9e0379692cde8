"""Every page in every state: axe-core finds no problem, nothing is cut off, and the keyboard focus is visible."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, ViewportSize

from domogate.domain.terms import terms_at
from support.auth_setup import AuthSetup
from support.browser_tab import AXE, PATIENCE, BrowserTab, ServeAuthSetup
from support.examples import is_long
from support.page_actions import Look
from support.page_coverage import SeenPages, all_templates, all_texts
from support.page_walk import PageWalk

pytestmark = pytest.mark.slow

NO_FOCUS_RING = """
    Array.from(document.querySelectorAll('a[href], button, select, input:not([type=hidden]):not([disabled]), summary'))
        .filter(it => {
            it.focus();
            const { outlineStyle, outlineWidth } = getComputedStyle(it);
            return it.matches(':focus-visible') && (outlineStyle === 'none' || parseFloat(outlineWidth) < 2);
        })
        .map(it => it.outerHTML)
"""

GLANCE = """({
    scripts: Array.from(document.scripts, it => it.src || it.text)
        .filter(it => !it.startsWith(`${location.origin}/auth/pages/passkeys.js?v=`)),
    language: document.documentElement.lang,
    width: document.documentElement.scrollWidth,
})"""
"""Foreign scripts, the language, and the width of the page."""

MAKE_LIST = """
    document.querySelector('main').insertAdjacentHTML('beforeend', `<ul>${'<li><span>One item</span></li>'.repeat(9)}</ul>`)
"""

PHONE: ViewportSize = {"width": 320, "height": 568}
DESK: ViewportSize = {"width": 1280, "height": 850}


@asynccontextmanager
async def screen_of(chromium: Browser, setup: AuthSetup, language: str) -> AsyncIterator[BrowserTab]:
    """A small phone with the dark colour scheme."""
    opened = await chromium.new_context(base_url=setup.base_url, locale=language, viewport=PHONE, color_scheme="dark")
    opened.set_default_timeout(PATIENCE)
    await opened.add_init_script(AXE.axe_script)  # sending it to each page again would take a third longer
    yield BrowserTab(await opened.new_page(), setup)
    await opened.close()


async def find_problems(tab: BrowserTab) -> list[str]:
    barriers = await tab.find_barriers()
    await tab.page.keyboard.press("Tab")  # focus is shown to those who use the keyboard
    return barriers + [f"no ring: {element}" for element in await tab.page.evaluate(NO_FOCUS_RING)]


async def find_problems_at_a_desk(tab: BrowserTab) -> list[str]:
    """A wide window with the light colour scheme. Afterwards the screen is that of a phone again."""
    await tab.page.emulate_media(color_scheme="light")
    await tab.page.set_viewport_size(DESK)
    found = await find_problems(tab)
    await tab.page.set_viewport_size(PHONE)
    await tab.page.emulate_media(color_scheme="dark")
    return found


@pytest.mark.first
async def test_all_pages_are_accessible(
    chromium: Browser, serve_auth_setup: ServeAuthSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pages in German, which has the longest words, and the pages of a gateway without mail and terms.

    Each state of a page is checked on a phone, and each template once on a desktop; in the soak, each state also on a desktop.
    The walk covers every template and every text that a template names.
    """
    seen = SeenPages(monkeypatch)
    found: list[str] = []

    def looking(tab: BrowserTab, language: str) -> Look:
        async def look(stop: str) -> None:
            is_new = seen.look()
            glance = await tab.page.evaluate(GLANCE)
            assert glance["scripts"] == []
            assert glance["language"] == language
            if glance["width"] > PHONE["width"]:
                found.append(f"{stop} on a phone: scrolls sideways")
            found.extend(f"{stop} on a phone: {it}" for it in await find_problems(tab))
            if is_new or is_long():
                found.extend(f"{stop} at a desk: {it}" for it in await find_problems_at_a_desk(tab))

        return look

    async with (
        serve_auth_setup("localhost", mails_links=True) as setup,
        screen_of(chromium, setup, "de") as tab,
    ):
        await PageWalk(tab.page, setup, looking(tab, "de"), "de").walk()
    async with serve_auth_setup(terms=None) as setup, screen_of(chromium, setup, "en") as tab:
        await PageWalk(tab.page, setup, looking(tab, "en")).walk_without()
    elsewhere = terms_at("https://terms.example/2027")
    async with serve_auth_setup(terms=elsewhere, has_door=True) as setup, screen_of(chromium, setup, "en") as tab:
        await PageWalk(tab.page, setup, looking(tab, "en")).walk_terms_elsewhere()
    assert found == []
    assert seen.templates == all_templates()
    assert all_texts() - seen.texts == set()


class TestTheChecks:
    """Shows that the checks find problems."""

    async def test_a_field_without_a_label_is_a_barrier(self, tab: BrowserTab) -> None:
        await tab.open("/auth/login")
        await tab.page.evaluate("document.querySelector('label').remove()")
        assert any(": label:" in barrier for barrier in await tab.find_barriers())

    async def test_a_colour_of_one_item_of_a_list_is_a_barrier(self, tab: BrowserTab) -> None:
        await tab.open("/auth/login")
        await tab.page.evaluate(MAKE_LIST)
        assert await tab.find_barriers() == []
        await tab.page.evaluate("document.querySelectorAll('main > ul > li')[4].firstChild.style.color = '#eee'")
        (barrier,) = await tab.find_barriers()
        assert "color-contrast: <span" in barrier

    async def test_a_link_without_a_focus_ring_is_found(self, tab: BrowserTab) -> None:
        await tab.open("/auth/login")
        await tab.page.keyboard.press("Tab")
        assert await tab.page.evaluate(NO_FOCUS_RING) == []
        await tab.page.evaluate("document.querySelector('main a').style.outline = 'none'")
        assert len(await tab.page.evaluate(NO_FOCUS_RING)) == 1

    def test_the_templates_and_their_texts_are_known(self) -> None:
        assert {"login.html", "forgotten.html", "consent.html", "error.html"} <= all_templates()
        assert {"login.again_title", "link.expired_about", "account.notice_left", "set_up.demanded"} <= all_texts()
        assert len(all_texts()) > 130
