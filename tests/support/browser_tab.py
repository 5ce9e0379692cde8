"""A browser tab as a person uses it, with an accessibility checker."""

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Locator, Page, async_playwright, expect

from support.auth_setup import PASSWORD, AuthSetup
from support.examples import is_long
from support.stores import ANNA

AXE = Axe()

PATIENCE = 180_000.0
"""Milliseconds that a test waits for an element. A busy machine may pause."""
expect.set_options(timeout=PATIENCE)

_FIND_BARRIERS = """async ([rules, { colours, isThorough }]) => {
    if (!('axe' in window)) return null;
    const texts = new Set(['id', 'for', 'name', 'href', 'title', 'datetime']);
    const isText = name => texts.has(name) || name.startsWith('aria-label');
    const describe = element => [
        element.tagName,
        ...[...element.attributes].map(({ name, value }) => isText(name) ? name : [name, value]),
        element.matches(':checked'),
        ...[...element.children].map(child => `(${describe(child)})`),
    ].join();
    const seen = new Map();
    const isRepeated = item => {
        const list = item.parentElement, key = describe(item);
        if (!seen.has(list)) seen.set(list, new Map());
        const count = (seen.get(list).get(key) ?? 0) + 1;
        seen.get(list).set(key, count);
        return count > 2 && item !== list.lastElementChild;
    };
    const exclude = isThorough ? [] : [...document.querySelectorAll('tr, li')].filter(isRepeated);
    const few = exclude.length ? { exclude } : document;
    const structure = { rules: Object.fromEntries(colours.map(rule => [rule, { enabled: false }])) };
    const runs = [];
    if (rules === 'structure' || (rules === 'all' && exclude.length)) runs.push([document, structure]);
    if (rules === 'colours' || (rules === 'all' && exclude.length)) runs.push([few, { runOnly: colours }]);
    if (!runs.length) runs.push([document, {}]);
    const found = { passes: 0, barriers: [] };
    for (const [context, options] of runs) {
        const { passes, violations } = await axe.run(context, { ...options, resultTypes: ['violations'] });
        found.passes += passes.length;
        found.barriers.push(...violations.flatMap(rule => rule.nodes.map(node => `${rule.id}: ${node.html}`)));
    }
    return found;
}"""
"""Only these values leave the browser: the whole report is a hundred times longer.

Of a list or table, the colours are checked in the last item, and in two items of each kind (odd and even ones may differ):
others with the same elements and attributes have the same colours. The soak checks all items.
"""

Rules = Literal["all", "colours", "structure"]
_COLOURS = ("color-contrast", "link-in-text-block")
"""The rules that depend on the colour scheme. They take most of the time."""
ServeAuthSetup = Callable[..., AbstractAsyncContextManager[AuthSetup]]
"""Serves the pages. `host` is their host name; the other options are those of AuthSetup. Passkeys need the host localhost."""


@asynccontextmanager
async def open_chromium() -> AsyncIterator[Browser]:
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert program is not None, "Chromium is needed: apt-get install -y --no-install-recommends chromium-headless-shell"
    # Chromium's own sandbox refuses to work for root.
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=arguments, timeout=PATIENCE)
        yield browser
        await browser.close()


async def find_barriers(page: Page, rules: Rules = "all") -> list[str]:
    """The problems that axe-core finds, one line each."""
    how = [rules, {"colours": _COLOURS, "isThorough": is_long()}]
    found = await page.evaluate(_FIND_BARRIERS, how)
    if found is None:
        await page.evaluate(AXE.axe_script)
        found = await page.evaluate(_FIND_BARRIERS, how)
    assert found["passes"] > (0 if rules == "colours" else 5), "axe-core has checked nothing"
    return [f"{await page.title()}: {barrier}" for barrier in found["barriers"]]


async def allow_access(page: Page, redirect_uri: str) -> str:
    """Consent on the page, and return the address at which the browser goes back to the application.

    The application does not exist, so the browser would show an error there. The page is closed before that.
    """
    async with page.expect_request(lambda request: request.url.startswith(f"{redirect_uri}?")) as going_back:
        await page.get_by_role("button", name="Allow", exact=True).click()
    address = (await going_back.value).url
    await page.close()
    return address


async def add_device(page: Page, **options: bool) -> None:
    """An authenticator that is part of the computer. It confirms each request at once, as if the person did."""
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("WebAuthn.enable")
    device = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
        **options,
    }
    await devtools.send("WebAuthn.addVirtualAuthenticator", {"options": device})


class BrowserTab:
    """One tab. Elements are found by label, role and text, as a person does."""

    def __init__(self, page: Page, setup: AuthSetup) -> None:
        self.page = page
        self.setup = setup
        self.complaints: list[str] = []
        """Errors of the browser, such as requests that the policy blocked."""
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)

    async def open(self, path: str) -> None:
        await self.page.goto(path)

    def field(self, label: str) -> Locator:
        return self.page.get_by_label(label, exact=True)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def link(self, name: str) -> Locator:
        return self.page.get_by_role("link", name=name, exact=True)

    async def is_headed(self, words: str) -> bool:
        """Waits for a page with this heading."""
        await expect(self.page.get_by_role("heading", level=1)).to_have_text(words)
        return True

    async def says(self, words: str) -> bool:
        await self.page.get_by_text(words).first.wait_for(state="attached")
        return True

    async def fill_login(self, email: str = ANNA.email, password: str = PASSWORD) -> None:
        await self.field("E-mail or login name").fill(email)
        await self.field("Password").fill(password)
        await self.button("Log in").click()

    async def log_in(self, email: str = ANNA.email) -> None:
        await self.open("/auth/login")
        await self.fill_login(email)
        await self.page.wait_for_url("**/auth/account*")

    async def find_barriers(self) -> list[str]:
        return await find_barriers(self.page)
