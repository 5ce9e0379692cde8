"""A browser tab as a person uses it, with an accessibility checker."""

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Locator, Page, async_playwright, expect

from support.auth_setup import PASSWORD, AuthSetup
from support.stores import ANNA

AXE = Axe()

PATIENCE = 180_000.0
"""Milliseconds that a test waits for an element. A busy machine may pause."""
expect.set_options(timeout=PATIENCE)

_FIND_BARRIERS = """
    options => 'axe' in window && axe.run({ ...options, resultTypes: ['violations'] }).then(found => ({
        passes: found.passes.length,
        barriers: found.violations.flatMap(rule => rule.nodes.map(node => `${rule.id}: ${node.html}`)),
    }))
"""
"""Only these values leave the browser: the whole report is a hundred times longer."""

Rules = Literal["all", "colours", "structure"]
_COLOURS = ("color-contrast", "link-in-text-block")
"""The rules that depend on the colour scheme. They take most of the time."""
_OPTIONS: dict[Rules, dict[str, object]] = {
    "all": {},
    "colours": {"runOnly": _COLOURS},
    "structure": {"rules": {rule: {"enabled": False} for rule in _COLOURS}},
}

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
    found = await page.evaluate(_FIND_BARRIERS, _OPTIONS[rules])
    if not found:
        await page.evaluate(AXE.axe_script)
        found = await page.evaluate(_FIND_BARRIERS, _OPTIONS[rules])
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
