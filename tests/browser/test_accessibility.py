"""Every page in every state: axe-core finds nothing, nothing is cut off, and the keyboard always shows where it is."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser

from support.browsing import PATIENCE, OpenHouse, Screen
from support.pages import House
from support.tour import TERMS_URL, Look, Seen, Tour, all_templates, all_texts

pytestmark = pytest.mark.slow
A_LONG_WALK = pytest.mark.timeout(600)

NO_FOCUS_RING = """
    Array.from(document.querySelectorAll('a[href], button, input:not([type=hidden]):not([disabled]), summary'))
        .filter(it => {
            it.focus();
            const { outlineStyle, outlineWidth } = getComputedStyle(it);
            return it.matches(':focus-visible') && (outlineStyle === 'none' || parseFloat(outlineWidth) < 2);
        })
        .map(it => it.outerHTML)
"""


async def walk_everything(
    chromium: Browser, open_house: OpenHouse, make_look: Callable[[Screen], Look], **context: Any
) -> None:
    """Through a house that has everything, and then through one that has neither mail nor terms."""
    language = context.setdefault("locale", "en")
    for options in ({"mails_links": True, "terms_url": TERMS_URL}, {}):
        async with open_house(**options) as home, screen_of(chromium, home, **context) as screen:
            tour = Tour(screen.page, home, make_look(screen), language)
            await (tour.walk() if options else tour.walk_without())


@asynccontextmanager
async def screen_of(chromium: Browser, home: House, **context: Any) -> AsyncIterator[Screen]:
    opened = await chromium.new_context(base_url=home.base_url, **context)
    opened.set_default_timeout(PATIENCE)
    yield Screen(await opened.new_page(), home)
    await opened.close()


@A_LONG_WALK
async def test_nothing_stands_in_anybodys_way_on_a_small_phone(chromium: Browser, open_house: OpenHouse) -> None:
    """In the dark, and in German, which has the longest words."""
    found: list[str] = []

    def make_look(screen: Screen) -> Look:
        async def look(name: str) -> None:
            assert await screen.page.evaluate("document.documentElement.lang") == "de"
            if await screen.page.evaluate("document.documentElement.scrollWidth") > 320:
                found.append(f"{name}: scrolls sideways")
            found.extend(f"{name}: {barrier}" for barrier in await screen.find_barriers())

        return look

    viewport = {"width": 320, "height": 568}
    await walk_everything(chromium, open_house, make_look, locale="de", color_scheme="dark", viewport=viewport)
    assert found == []


@A_LONG_WALK
async def test_nothing_stands_in_anybodys_way_at_a_desk(
    chromium: Browser, open_house: OpenHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walk comes past every template, and every text that a template names, so that none is left out here and above.

    In this light each template is looked at once; each state of it was above.
    """
    seen = Seen(monkeypatch)
    found: list[str] = []

    def make_look(screen: Screen) -> Look:
        async def look(name: str) -> None:
            assert await screen.page.evaluate("document.scripts.length") == 0
            if seen.look():
                found.extend(f"{name}: {barrier}" for barrier in await screen.find_barriers())
            await screen.page.keyboard.press("Tab")  # focus is shown to those who use the keyboard
            found.extend(f"{name}: no ring: {element}" for element in await screen.page.evaluate(NO_FOCUS_RING))

        return look

    viewport = {"width": 1280, "height": 850}
    await walk_everything(chromium, open_house, make_look, color_scheme="light", viewport=viewport)
    assert found == []
    assert seen.templates == all_templates()
    assert all_texts() - seen.texts == set()


class TestTheChecks:
    """They find what is wrong, or their silence says nothing."""

    async def test_a_field_without_a_label_is_a_barrier(self, screen: Screen) -> None:
        await screen.open("/auth/login")
        await screen.page.evaluate("document.querySelector('label').remove()")
        assert any(": label:" in barrier for barrier in await screen.find_barriers())

    async def test_a_link_without_a_focus_ring_is_found(self, screen: Screen) -> None:
        await screen.open("/auth/login")
        await screen.page.keyboard.press("Tab")
        assert await screen.page.evaluate(NO_FOCUS_RING) == []
        await screen.page.evaluate("document.querySelector('main a').style.outline = 'none'")
        assert len(await screen.page.evaluate(NO_FOCUS_RING)) == 1

    def test_the_templates_and_their_texts_are_known(self) -> None:
        assert {"login.html", "forgotten.html", "consent.html", "error.html"} <= all_templates()
        assert {"login.again_title", "link.expired_about", "account.notice_left", "set_up.demanded"} <= all_texts()
        assert len(all_texts()) > 130
