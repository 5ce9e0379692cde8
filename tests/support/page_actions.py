"""The steps of a walk through the pages: open a page, send a form, and look at the answer."""

from collections.abc import Awaitable, Callable

from playwright.async_api import Page, expect

from domogate.auth.pages.language import LANGUAGES
from domogate.domain.ids import new_id
from domogate.domain.people import User
from support.auth_setup import PASSWORD, AuthSetup

Look = Callable[[str], Awaitable[None]]
"""Called at each stop with its name."""

NEW = "four green kites"
NEW_EMAIL = "anna.with-a-new-address@a-rather-long-domain.example"
DORA = User(new_id(), "dora.with-a-rather-long-address@a-rather-long-domain.example")
"""Without name, plant and application."""


class PageActions:
    """One tab. At first nobody is logged in."""

    def __init__(self, page: Page, setup: AuthSetup, look: Look, language: str = "en") -> None:
        self.page = page
        self.setup = setup
        self._look = look
        self.say = LANGUAGES[language].say

    async def stop(self, stop: str, heading: str, /, **values: object) -> None:
        """Check the heading, and look at the page."""
        await expect(self.page.get_by_role("heading", level=1), f"at {stop}").to_have_text(self.say(heading, **values))
        await self.page.wait_for_load_state()
        await self._look(stop)

    async def open(self, path: str) -> None:
        await self.page.goto(path)

    async def send(self, action: str | None = None, button: str = "", **values: str) -> None:
        """Fill in the form and press its button. The browser's own checks are off, to see ours."""
        form = self.page.locator(f'form[action="{action}"]' if action else "main form").first
        await form.evaluate("form => { form.noValidate = true }")
        for name, value in values.items():
            await form.locator(f'[name="{name}"]').fill(value)
        async with self.page.expect_navigation():  # the next page may have the same heading
            await form.locator(f"button{button}").first.click()

    async def log_in(self, email: str, password: str = PASSWORD) -> None:
        await self.page.context.clear_cookies()
        await self.open("/auth/login")
        await self.send(email=email, password=password)

    async def guess_often(self, email: str) -> None:
        """Until the next attempt from this browser is throttled."""
        while await self.setup.throttle.admit(email, "127.0.0.1") == 0:
            pass
