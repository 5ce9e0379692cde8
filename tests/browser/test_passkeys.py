"""Passkeys with a real browser and its virtual authenticator."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from support.auth_setup import AuthSetup
from support.browser_tab import PATIENCE, BrowserTab, ServeAuthSetup, add_device
from support.stores import ANNA

pytestmark = pytest.mark.slow


@pytest_asyncio.fixture(loop_scope="session")
async def setup(serve_auth_setup: ServeAuthSetup) -> AsyncIterator[AuthSetup]:
    async with serve_auth_setup("localhost") as built:
        yield built


async def add_passkey(tab: BrowserTab) -> None:
    await tab.log_in()
    await tab.link("Passkeys: Set up").click()
    await tab.field("Name").fill("My laptop")
    await tab.button("Add a passkey").click()
    await tab.link("I have kept the codes").click()
    assert await tab.says("The passkey is added.")


async def log_out(tab: BrowserTab) -> None:
    await tab.open("/auth/account")
    await tab.button("Log out").click()
    assert await tab.is_headed("You are logged out")


async def test_a_person_adds_a_passkey_and_logs_in_with_it(tab: BrowserTab, setup: AuthSetup) -> None:
    await add_device(tab.page)
    await add_passkey(tab)
    await log_out(tab)
    await tab.open("/auth/login")
    await tab.button("Use a passkey").click()
    assert await tab.is_headed("Hello, Anna")
    (passkey,) = await setup.store.list_passkeys(ANNA.id)
    assert (passkey.name, passkey.used_at) == ("My laptop", setup.clock.now())
    # After the password the passkey is the second step.
    await log_out(tab)
    await tab.open("/auth/login")
    await tab.fill_login()
    assert await tab.is_headed("Confirm that it is you")
    await tab.button("Use a passkey").click()
    assert await tab.is_headed("Hello, Anna")
    # Without the passkey the same device logs nobody in.
    await tab.link("Passkeys: Manage").click()
    await tab.link("Change the passkey My laptop").click()
    await tab.button("Remove").click()
    assert await tab.says("The passkey is removed.")
    assert tab.complaints == []
    await log_out(tab)
    await tab.open("/auth/login")
    await tab.button("Use a passkey").click()
    assert await tab.says("This passkey does not work here.")


async def test_a_passkey_leads_to_the_application(tab: BrowserTab, setup: AuthSetup) -> None:
    await add_device(tab.page)
    await add_passkey(tab)
    await log_out(tab)
    await tab.open(setup.authorize_path())
    await tab.button("Use a passkey").click()
    await tab.button("Allow").click()
    await tab.page.wait_for_url("http://localhost:*/back?*")
    assert tab.complaints == []


async def test_a_person_who_is_not_verified_stays_at_the_page(tab: BrowserTab) -> None:
    await add_device(tab.page, isUserVerified=False)
    await tab.log_in()
    await tab.open("/auth/account/passkeys")
    await tab.button("Add a passkey").click()
    await expect(tab.page.get_by_text("The passkey was not used.")).to_be_visible()
    await expect(tab.button("Add a passkey")).to_be_enabled()


async def test_without_scripts_the_pages_work_as_before(chromium: Browser, setup: AuthSetup) -> None:
    context = await chromium.new_context(base_url=setup.base_url, locale="en", java_script_enabled=False)
    context.set_default_timeout(PATIENCE)
    tab = BrowserTab(await context.new_page(), setup)
    await tab.open("/auth/login")
    await expect(tab.button("Use a passkey")).to_be_hidden()
    await tab.log_in()
    await tab.open("/auth/account/passkeys")
    await expect(tab.button("Add a passkey")).to_be_hidden()
    await expect(tab.page.get_by_text("This browser cannot add a passkey.")).to_be_visible()
    await context.close()
