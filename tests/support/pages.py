"""Walks through the pages in a real browser, as one of the people of the demo.

    async with visit(chromium, demo, who="anna@example.com", width=320, scheme="dark") as walk:
        await walk.open("/homes")
        assert await walk.find_problems_everywhere() == []

The context checks at its end that the browser reported no error and sent no request to another origin.
"""

import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.async_api import Browser, Locator, Page, Route, expect

from domogate.console.files import load_build
from support.browser_tab import PATIENCE, Rules, find_barriers
from support.examples import is_long
from support.gateway import Gateway

Scheme = Literal["light", "dark"]

_SCREENSHOTS = os.environ.get("DOMOGATE_SCREENSHOTS")
_FEW_LOOKS: Sequence[tuple[int, Scheme]] = ((320, "dark"), (1440, "light"))
_ALL_LOOKS: Sequence[tuple[int, Scheme]] = ((320, "light"), (320, "dark"), (768, "light"), (1440, "dark"), (1440, "light"))
_LOOKS = _ALL_LOOKS if _SCREENSHOTS or is_long() else _FEW_LOOKS
"""Widths and colour schemes in which every page is looked at. Each look takes up to two seconds."""

_STOP_TRANSITIONS = """() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('*, *::before, *::after { transition: none !important; }');
    document.adoptedStyleSheets = [sheet];
}"""
"""Otherwise elements would have the former colours for some frames, and for longer outside of the window."""
_SMALL_TARGETS = """([least, ignoresText]) => {
    const targets = [...document.querySelectorAll('a, button, input, select, textarea, summary')];
    const isInText = ({ textContent, parentElement }) => parentElement.textContent.trim() !== textContent.trim();
    return targets.flatMap(element => {
        const { width, height } = (element.closest('label') ?? element).getBoundingClientRect();
        const { display } = getComputedStyle(element);
        const isIgnored = element.closest('.hidden, .skip') || (ignoresText && display === 'inline' && isInText(element));
        const isShown = width > 0 && element.checkVisibility({ visibilityProperty: true });
        const isSmall = isShown && !isIgnored && Math.min(width, height) < least - 0.5;
        return isSmall ? [`${location.pathname}: ${width} x ${height}: ${element.outerHTML}`] : [];
    });
}"""
"""A check box or radio button is as large as its label."""
_FINGER, _LEAST = 44, 24
"""In pixels. My homes is used with a finger. For other pages WCAG 2.2 (2.5.8) asks for 24, except for links in a text."""
_AREAS = ("/console", "/developers", "/homes")
"""The pages whose controls are measured."""
_WHEN_DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
_NOT_BUILT = "the pages are not built: run ./dev web"


def _choose_rules(look: tuple[int, Scheme]) -> Rules:
    """The structure of a page depends on its width. A narrower and a wider window of the same scheme show all its colours."""
    width, scheme = look
    if look != next(other for other in _LOOKS if other[0] == width):
        return "colours"
    widths = [other_width for other_width, other_scheme in _LOOKS if other_scheme == scheme]
    return "structure" if min(widths) < width < max(widths) else "all"


class Walk:
    """One tab. `page` is Playwright's."""

    def __init__(self, page: Page, gateway: Gateway, look: str) -> None:
        self.page = page
        self.gateway = gateway
        self.complaints: list[str] = []
        """Errors that the browser reported."""
        self.strangers: list[str] = []
        """Requests to other origins."""
        self._look = look
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._note_request(request.url))

    def _note_request(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and f"{parts.scheme}://{parts.netloc}" != self.gateway.base_url:
            self.strangers.append(url)

    async def open(self, path: str) -> None:
        """Load the page, and wait until it shows a heading."""
        await self.page.goto(f"{self.gateway.base_url}{path}")
        await self.page.get_by_role("heading", level=1).wait_for()

    async def log_in(self, email: str) -> None:
        """Log in without drawing the login page, which takes a second. Afterwards the pages find the person by themselves."""
        login = f"{self.gateway.auth_url}/login"
        page = await self.page.request.get(login)
        fields = {
            **dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', await page.text())),
            "email": email,
            "password": self.gateway.people[email].password,
        }
        answer = await self.page.request.post(login, form=fields, max_redirects=0)
        assert answer.status == 303, f"{email} could not log in: {answer.status}"

    async def fill_login(self, email: str) -> None:
        await self.page.get_by_label("E-mail or login name", exact=True).fill(email)
        await self.page.get_by_label("Password", exact=True).fill(self.gateway.people[email].password)
        await self.page.get_by_role("button", name="Log in", exact=True).click()

    async def find_problems(self, name: str = "", rules: Rules = "all") -> list[str]:
        """Return problems of the page. With a name, the page is kept as a picture if DOMOGATE_SCREENSHOTS is a folder."""
        await expect(self.page.locator(".loading")).to_have_count(0)
        if name and _SCREENSHOTS:
            folder = Path(_SCREENSHOTS)
            folder.mkdir(parents=True, exist_ok=True)
            await self.page.screenshot(path=folder / f"{name}-{self._look}.png", full_page=True)
        wider = await self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return [
            *await find_barriers(self.page, rules),
            *([f"the page is {wider} px wider than the window"] if wider > 0 else []),
        ]

    async def find_problems_everywhere(self, name: str = "") -> list[str]:
        """Return the problems in all looks. Loading the page again for each look would take much longer."""
        found, size, look = [], self.page.viewport_size, self._look
        await self.page.evaluate(_STOP_TRANSITIONS)
        for width, scheme in _LOOKS:
            await self.page.set_viewport_size({"width": width, "height": 800})
            await self.page.emulate_media(color_scheme=scheme)
            await self.page.evaluate(_WHEN_DRAWN)
            self._look = f"{width}-{scheme}"
            problems = await self.find_problems(name, _choose_rules((width, scheme)))
            if urlsplit(self.page.url).path.startswith(_AREAS):
                problems += [f"too small: {target}" for target in await self.find_small_targets()]
            found += [f"{self._look}: {problem}" for problem in problems]
        assert size is not None
        await self.page.set_viewport_size(size)
        self._look = look
        return found

    async def find_small_targets(self) -> list[str]:
        """Controls that are too small. On a phone, the pages of My homes need larger ones than other pages."""
        await expect(self.page.locator(".loading")).to_have_count(0)
        size = self.page.viewport_size
        assert size is not None
        is_for_finger = size["width"] < 400 and urlsplit(self.page.url).path.startswith("/homes/")
        limits = [_FINGER, False] if is_for_finger else [_LEAST, True]
        found: list[str] = await self.page.evaluate(_SMALL_TARGETS, limits)
        return found

    async def find_small_targets_everywhere(self) -> list[str]:
        found, size = [], self.page.viewport_size
        assert size is not None
        for width in sorted({width for width, _ in _LOOKS}):
            await self.page.set_viewport_size({"width": width, "height": 800})
            found += await self.find_small_targets()
        await self.page.set_viewport_size(size)
        return found

    async def keep_answers(self, url: str | re.Pattern[str]) -> list[dict[str, Any]]:
        """Return a list that gets the JSON of each answer to this URL.

        `Response.json` of Playwright can fail: the browser may forget a body as soon as the page has read it.
        """
        answers: list[dict[str, Any]] = []

        async def keep(route: Route) -> None:
            answer = await route.fetch()
            answers.append(await answer.json())
            await route.fulfill(response=answer)

        await self.page.route(url, keep)
        return answers

    async def shows(self, words: str) -> bool:
        await expect(self.page.get_by_text(words).first).to_be_visible()
        return True


async def _wait_until_loaded(loading: Locator) -> None:
    """Playwright calls it before each action and check on a page of which a part still loads: that part may move the others."""
    await expect(loading).to_have_count(0)


@asynccontextmanager
async def visit(
    chromium: Browser,
    gateway: Gateway,
    *,
    who: str | None = None,
    width: int = 1440,
    scheme: Scheme = "light",
    locale: str = "en",
    time_zone: str = "UTC",
) -> AsyncIterator[Walk]:
    """A new browser profile in which `who` is logged in. Without `who`, nobody is."""
    assert load_build() is not None, _NOT_BUILT
    context = await chromium.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
        locale=locale,
        timezone_id=time_zone,
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE)
    page = await context.new_page()
    await page.add_locator_handler(page.locator(".loading").first, _wait_until_loaded)
    walk = Walk(page, gateway, f"{width}-{scheme}")
    try:
        if who is not None:
            await walk.log_in(who)
        yield walk
        assert walk.complaints == [], walk.complaints
        assert walk.strangers == []
    finally:
        await context.close()
