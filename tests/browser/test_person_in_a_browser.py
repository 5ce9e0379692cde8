from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from playwright.async_api import Browser, expect

from domogate.common.secrets import hash_secret
from domogate.domain.people import Standing
from support.auth_setup import APP_NAME, PASSWORD, SECRET, TERMS, AuthSetup
from support.browser_tab import PATIENCE, BrowserTab
from support.stores import ANNA, BRUNO, add_home

pytestmark = pytest.mark.slow

NEW = "three purple umbrellas"


async def another_tab(chromium: Browser, setup: AuthSetup) -> BrowserTab:
    """Another browser, which shares no cookie with the first."""
    context = await chromium.new_context(base_url=setup.base_url, locale="en")
    context.set_default_timeout(PATIENCE)
    return BrowserTab(await context.new_page(), setup)


class TestLoggingIn:
    async def test_with_a_wrong_password_and_then_the_right_one(self, tab: BrowserTab) -> None:
        await tab.open("/auth/login")
        await tab.fill_login(password="not it")
        assert await tab.says("The e-mail or the password is wrong.")
        await expect(tab.page.locator(".summary")).to_be_focused()
        await tab.fill_login()
        assert await tab.is_headed("Hello, Anna")
        assert tab.complaints == ["Failed to load resource: the server responded with a status of 403 (Forbidden)"]

    async def test_by_keyboard_alone(self, tab: BrowserTab) -> None:
        await tab.open("/auth/login")
        await expect(
            tab.field("E-mail or login name")
        ).to_be_focused()  # the browser does this itself, shortly after the page has loaded
        await tab.page.keyboard.type(ANNA.email)
        await tab.page.keyboard.press("Tab")
        await tab.page.keyboard.type(PASSWORD)
        await tab.page.keyboard.press("Enter")
        await tab.page.wait_for_url("**/auth/account")

    async def test_gives_a_cookie_that_no_family_and_no_script_gets(self, tab: BrowserTab) -> None:
        await tab.log_in()
        (cookie,) = [it for it in await tab.page.context.cookies() if it["name"] == "domogate_session"]
        assert (cookie["path"], cookie["httpOnly"], cookie["sameSite"]) == ("/auth", True, "Lax")
        assert await tab.page.evaluate("document.cookie") == ""

    async def test_with_a_second_factor(self, tab: BrowserTab, setup: AuthSetup) -> None:
        await setup.change(ANNA, totp_secret=SECRET)
        await tab.open("/auth/login")
        await tab.fill_login()
        await tab.field("Six-digit code").fill(setup.code())
        await tab.button("Continue").click()
        await tab.page.wait_for_url("**/auth/account")

    async def test_nothing_that_was_injected_could_run(self, tab: BrowserTab) -> None:
        await tab.open("/auth/login")
        inject = "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = true\">')"
        async with tab.page.expect_console_message(lambda message: "inline event handler" in message.text):
            await tab.page.evaluate(inject)
        assert await tab.page.evaluate("window.ran") is None


class TestLettingAnApplicationIn:
    async def test_with_fewer_scopes_than_it_asked_for(self, tab: BrowserTab, setup: AuthSetup) -> None:
        await tab.open(setup.authorize_path())
        await tab.fill_login()
        assert await tab.is_headed(f"Give {APP_NAME} access?")
        await tab.field("Switch your plugs").uncheck()
        await tab.button("Allow").click()
        await tab.page.wait_for_url("http://localhost:*/back?*")
        answer = parse_qs(urlsplit(tab.page.url).query)
        assert answer["code"]
        assert answer["state"] == ["xyz"]
        await setup.redeem(tab.page.url)
        (grant,) = await setup.store.list_grants(ANNA.id)
        assert set(grant.scopes) == {"openid", "light.read"}
        assert tab.complaints == []

    async def test_to_some_homes_and_no_door(self, tab: BrowserTab, setup: AuthSetup) -> None:
        seaside = await add_home(setup.store, ANNA)
        await tab.open(setup.authorize_path(scope="openid light.read scene.launch audiovideoterminal.read"))
        assert await tab.says(f"Log in to continue to {APP_NAME}.")
        await tab.fill_login()
        for name in ("Casa Bianchi", "Seaside", "See your lights"):
            await expect(tab.field(name)).to_be_checked()
        for name in ("Run your scenes", "Use your door entry"):
            await expect(tab.field(name)).not_to_be_checked()
        # Without any home the page asks again, and keeps the other ticks.
        await tab.field("Run your scenes").check()
        await tab.field("Casa Bianchi").uncheck()
        await tab.field("Seaside").uncheck()
        await tab.button("Allow").click()
        await expect(tab.page.locator(".summary")).to_be_focused()
        await tab.link("Tick at least one home, or choose “Do not allow”.").click()
        await expect(tab.field("Casa Bianchi")).to_be_focused()
        await expect(tab.field("Run your scenes")).to_be_checked()
        await tab.field("Seaside").check()
        await tab.button("Allow").click()
        await tab.page.wait_for_url("http://localhost:*/back?*")
        tokens = await setup.redeem(tab.page.url)
        assert tokens["scope"] == "openid light.read scene.launch"
        (grant,) = await setup.store.list_grants(ANNA.id)
        assert grant.plants == frozenset({seaside.id})
        await tab.open("/auth/account")
        await tab.page.get_by_text("What it may do").click()
        await expect(tab.page.get_by_text("Homes: Seaside")).to_be_visible()
        await expect(tab.page.get_by_text("Open doors")).to_be_visible()

    async def test_it_is_told_when_the_person_does_not_want_it(self, tab: BrowserTab, setup: AuthSetup) -> None:
        await tab.log_in()
        await tab.open(setup.authorize_path())
        await tab.button("Do not allow").click()
        await tab.page.wait_for_url("http://localhost:*/back?*")
        assert parse_qs(urlsplit(tab.page.url).query)["error"] == ["access_denied"]

    async def test_logging_in_leads_straight_back_when_it_was_let_in_before(self, tab: BrowserTab, setup: AuthSetup) -> None:
        """The browser applies the login page's form-action to every redirect that follows."""
        # For a client without a secret at this address consent is asked every time (RFC 8252 §8.6).
        await setup.store.save_client(msgspec.structs.replace(setup.client, secret_hash=hash_secret("a secret")))
        await tab.log_in()
        await tab.open(setup.authorize_path())
        await tab.button("Allow").click()
        await tab.page.wait_for_url("http://localhost:*/back?*")
        await setup.redeem(tab.page.url, client_secret="a secret")
        await tab.page.context.clear_cookies()
        await tab.open(setup.authorize_path())
        await tab.fill_login()
        await tab.page.wait_for_url("http://localhost:*/back?*")
        assert tab.complaints == []

    async def test_the_policy_would_block_an_address_that_it_does_not_name(self, tab: BrowserTab, setup: AuthSetup) -> None:
        """Shows that the two tests above can fail: without the application's origin in form-action the browser stays here."""
        await tab.log_in()
        await tab.open(setup.authorize_path())
        elsewhere = setup.client.redirect_uris[0].replace("localhost", "127.0.0.1")
        send_there = "address => { document.forms[0].action = address; setTimeout(() => document.forms[0].submit(), 0) }"
        async with tab.page.expect_console_message(lambda message: "form-action" in message.text):
            await tab.page.evaluate(send_there, elsewhere)
        assert urlsplit(tab.page.url).path == "/auth/authorize"


class TestTheAccount:
    async def test_removing_an_application(self, tab: BrowserTab, setup: AuthSetup) -> None:
        await setup.grant_access(ANNA, "light.read", "plug.write")
        await tab.log_in()
        await tab.page.get_by_text("What it may do").click()
        await expect(tab.page.get_by_text("Switch your plugs")).to_be_visible()
        await tab.button(f"Remove {APP_NAME}").click()
        assert await tab.says("It has no access any more.")
        assert await setup.store.list_grants(ANNA.id) == []

    async def test_ending_a_session_elsewhere(self, chromium: Browser, tab: BrowserTab, setup: AuthSetup) -> None:
        other = await another_tab(chromium, setup)
        await other.log_in()
        await tab.log_in()
        await tab.page.get_by_role("button", name="Log out Chrome").click()
        assert await tab.says("You are logged out there.")
        await other.open("/auth/account")
        assert await other.is_headed("Log in")
        await other.page.context.close()

    async def test_changing_the_password(self, tab: BrowserTab, setup: AuthSetup) -> None:
        await setup.set_standing(ANNA, Standing.PASSWORD_EXPIRED)
        await tab.log_in()
        await tab.link("Choose a new password").click()
        await tab.field("Current password").fill(PASSWORD)
        await tab.field("New password").fill(NEW)
        await tab.field("Repeat the new password").fill(NEW)
        await tab.button("Change password").click()
        assert await tab.says("Your password is changed.")
        assert (await setup.user(ANNA)).standing is Standing.GOOD

    async def test_accepting_the_terms(self, tab: BrowserTab, setup: AuthSetup) -> None:
        await setup.set_standing(ANNA, Standing.TERMS_EXPIRED)
        await tab.log_in()
        await tab.link("Read and accept").click()
        assert await tab.says("You use this home at your own risk.")
        await tab.field("I have read the terms of use and accept them").check()
        await tab.button("Accept").click()
        assert await tab.says("The terms are accepted.")
        user = await setup.user(ANNA)
        assert (user.standing, user.terms_version) == (Standing.GOOD, TERMS.version)

    async def test_switching_the_second_factor_on_and_off(self, tab: BrowserTab, setup: AuthSetup) -> None:
        await tab.log_in()
        await tab.link("Second step: Set up").click()
        picture = tab.page.get_by_role("img", name="QR code with the key for your authenticator app")
        assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth > 100)")
        secret = (await tab.page.locator(".key").inner_text()).replace(" ", "")
        await tab.field("Six-digit code").fill(setup.code(secret))
        await tab.button("Switch on").click()
        await tab.link("I have kept the codes").click()
        assert await tab.says("The second step is on.")
        setup.clock.at += 300
        await tab.link("Second step: Manage").click()
        await tab.field("Current password").fill(PASSWORD)
        await tab.button("Switch off").click()
        assert await tab.says("The second step is off.")
        assert tab.complaints == []

    async def test_leaving_a_plant(self, tab: BrowserTab, setup: AuthSetup) -> None:
        await tab.log_in(BRUNO.email)
        await tab.link("Leave Casa Bianchi").click()
        await tab.button("Leave").click()
        assert await tab.says("You have left the home.")

    async def test_logging_out(self, tab: BrowserTab) -> None:
        await tab.log_in()
        await tab.button("Log out").click()
        assert await tab.is_headed("You are logged out")
        await tab.page.go_back()
        await tab.open("/auth/account")
        assert await tab.is_headed("Log in")
