from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from playwright.async_api import Browser, expect

from domogate.common.secrets import hash_secret
from domogate.domain.people import Standing
from support.browsing import PATIENCE, Screen
from support.pages import ANNA, APP_NAME, BRUNO, PASSWORD, SECRET, House

pytestmark = pytest.mark.slow

NEW = "three purple umbrellas"


async def another_tab(chromium: Browser, home: House) -> Screen:
    """Another browser, which shares no cookie with the first."""
    context = await chromium.new_context(base_url=home.base_url, locale="en")
    context.set_default_timeout(PATIENCE)
    return Screen(await context.new_page(), home)


class TestLoggingIn:
    async def test_with_a_wrong_password_and_then_the_right_one(self, screen: Screen) -> None:
        await screen.open("/auth/login")
        await screen.fill_login(password="not it")
        assert await screen.says("The e-mail or the password is wrong.")
        await expect(screen.page.locator(".summary")).to_be_focused()
        await screen.fill_login()
        assert await screen.is_headed("Hello, Anna")
        assert screen.complaints == ["Failed to load resource: the server responded with a status of 403 (Forbidden)"]

    async def test_by_keyboard_alone(self, screen: Screen) -> None:
        await screen.open("/auth/login")
        await expect(screen.field("E-mail")).to_be_focused()  # the browser does so by itself, a moment after it has loaded
        await screen.page.keyboard.type(ANNA.email)
        await screen.page.keyboard.press("Tab")
        await screen.page.keyboard.type(PASSWORD)
        await screen.page.keyboard.press("Enter")
        await screen.page.wait_for_url("**/auth/account")

    async def test_gives_a_cookie_that_no_family_and_no_script_gets(self, screen: Screen) -> None:
        await screen.log_in()
        (cookie,) = [it for it in await screen.page.context.cookies() if it["name"] == "domogate_session"]
        assert (cookie["path"], cookie["httpOnly"], cookie["sameSite"]) == ("/auth", True, "Lax")
        assert await screen.page.evaluate("document.cookie") == ""

    async def test_with_a_second_factor(self, screen: Screen, home: House) -> None:
        await home.change(ANNA, totp_secret=SECRET)
        await screen.open("/auth/login")
        await screen.fill_login()
        await screen.field("Six-digit code").fill(home.code())
        await screen.button("Continue").click()
        await screen.page.wait_for_url("**/auth/account")

    async def test_nothing_that_was_injected_could_run(self, screen: Screen) -> None:
        await screen.open("/auth/login")
        inject = "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = true\">')"
        async with screen.page.expect_console_message(lambda message: "inline event handler" in message.text):
            await screen.page.evaluate(inject)
        assert await screen.page.evaluate("window.ran") is None


class TestLettingAnApplicationIn:
    async def test_with_fewer_scopes_than_it_asked_for(self, screen: Screen, home: House) -> None:
        await screen.open(home.authorize_path())
        await screen.fill_login()
        assert await screen.is_headed(f"Give {APP_NAME} access?")
        await screen.field("Switch your plugs can change things").uncheck()
        await screen.button("Allow").click()
        await screen.page.wait_for_url("http://localhost:*/back?*")
        answer = parse_qs(urlsplit(screen.page.url).query)
        assert answer["code"]
        assert answer["state"] == ["xyz"]
        await home.redeem(screen.page.url)
        (grant,) = await home.store.list_grants(ANNA.id)
        assert set(grant.scopes) == {"openid", "light.read"}
        assert screen.complaints == []

    async def test_it_is_told_when_the_person_does_not_want_it(self, screen: Screen, home: House) -> None:
        await screen.log_in()
        await screen.open(home.authorize_path())
        await screen.button("Do not allow").click()
        await screen.page.wait_for_url("http://localhost:*/back?*")
        assert parse_qs(urlsplit(screen.page.url).query)["error"] == ["access_denied"]

    async def test_logging_in_leads_straight_back_when_it_was_let_in_before(self, screen: Screen, home: House) -> None:
        """The browser applies the login page's form-action to every redirect that follows."""
        # For a client without a secret at this address consent is asked every time (RFC 8252 §8.6).
        await home.store.save_client(msgspec.structs.replace(home.client, secret_hash=hash_secret("a secret")))
        await screen.log_in()
        await screen.open(home.authorize_path())
        await screen.button("Allow").click()
        await screen.page.wait_for_url("http://localhost:*/back?*")
        await home.redeem(screen.page.url, client_secret="a secret")
        await screen.page.context.clear_cookies()
        await screen.open(home.authorize_path())
        await screen.fill_login()
        await screen.page.wait_for_url("http://localhost:*/back?*")
        assert screen.complaints == []

    async def test_the_policy_would_block_an_address_that_it_does_not_name(self, screen: Screen, home: House) -> None:
        """Shows what the two tests before check: without the application's origin in form-action the browser stays here."""
        await screen.log_in()
        await screen.open(home.authorize_path())
        elsewhere = home.client.redirect_uris[0].replace("localhost", "127.0.0.1")
        send_there = "address => { document.forms[0].action = address; setTimeout(() => document.forms[0].submit(), 0) }"
        async with screen.page.expect_console_message(lambda message: "form-action" in message.text):
            await screen.page.evaluate(send_there, elsewhere)
        assert urlsplit(screen.page.url).path == "/auth/authorize"


class TestTheAccount:
    async def test_removing_an_application(self, screen: Screen, home: House) -> None:
        await home.let_in(ANNA, "light.read", "plug.write")
        await screen.log_in()
        await screen.page.get_by_text("What it may do").click()
        await expect(screen.page.get_by_text("Switch your plugs")).to_be_visible()
        await screen.button(f"Remove {APP_NAME}").click()
        assert await screen.says("It has no access any more.")
        assert await home.store.list_grants(ANNA.id) == []

    async def test_ending_a_session_elsewhere(self, chromium: Browser, screen: Screen, home: House) -> None:
        other = await another_tab(chromium, home)
        await other.log_in()
        await screen.log_in()
        await screen.page.get_by_role("button", name="Log out Chrome").click()
        assert await screen.says("You are logged out there.")
        await other.open("/auth/account")
        assert await other.is_headed("Log in")
        await other.page.context.close()

    async def test_changing_the_password(self, screen: Screen, home: House) -> None:
        await home.set_standing(ANNA, Standing.PASSWORD_EXPIRED)
        await screen.log_in()
        await screen.link("Choose a new password").click()
        await screen.field("Current password").fill(PASSWORD)
        await screen.field("New password").fill(NEW)
        await screen.field("Repeat the new password").fill(NEW)
        await screen.button("Change password").click()
        assert await screen.says("Your password is changed.")
        assert (await home.user(ANNA)).standing is Standing.GOOD

    async def test_accepting_the_terms(self, screen: Screen, home: House) -> None:
        await home.set_standing(ANNA, Standing.TERMS_EXPIRED)
        await screen.log_in()
        await screen.field("I accept the terms of use").check()
        await screen.button("Accept").click()
        assert await screen.says("The terms are accepted.")
        assert (await home.user(ANNA)).standing is Standing.GOOD

    async def test_switching_the_second_factor_on_and_off(self, screen: Screen, home: House) -> None:
        await screen.log_in()
        await screen.link("Second step: Set up").click()
        picture = screen.page.get_by_role("img", name="QR code with the key for your authenticator app")
        assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth > 100)")
        secret = (await screen.page.locator(".key").inner_text()).replace(" ", "")
        await screen.field("Six-digit code").fill(home.code(secret))
        await screen.button("Switch on").click()
        await screen.link("I have kept the codes").click()
        assert await screen.says("The second step is on.")
        home.clock.at += 300
        await screen.link("Second step: Manage").click()
        await screen.field("Current password").fill(PASSWORD)
        await screen.button("Switch off").click()
        assert await screen.says("The second step is off.")
        assert screen.complaints == []

    async def test_leaving_a_plant(self, screen: Screen, home: House) -> None:
        await screen.log_in(BRUNO.email)
        await screen.link("Leave Casa Bianchi").click()
        await screen.button("Leave").click()
        assert await screen.says("You have left the home.")

    async def test_logging_out(self, screen: Screen) -> None:
        await screen.log_in()
        await screen.button("Log out").click()
        assert await screen.is_headed("You are logged out")
        await screen.page.go_back()
        await screen.open("/auth/account")
        assert await screen.is_headed("Log in")
