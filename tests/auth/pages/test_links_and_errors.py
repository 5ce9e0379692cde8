import re

import pytest

from domogate.domain.authorization import LinkPurpose
from domogate.domain.people import Standing, User
from domogate.services.people import LoginThrottled
from support.auth_setup import ADDRESS, PASSWORD, SECRET, AuthSetup, PageBrowser, heading_of, policy_of
from support.forms import forms_of
from support.people_setup import LINK_LIFETIME
from support.stores import ANNA, CARLA

pytestmark = pytest.mark.slow

NEW = "three purple umbrellas"


class TestPasswordLinks:
    async def test_makes_an_invited_person_active(self, browser: PageBrowser, setup: AuthSetup) -> None:
        page = await browser.get(await setup.link(CARLA))
        assert heading_of(page.text) == "Welcome"
        assert CARLA.email in page.text
        answer = await browser.send(password=NEW, repeated=NEW)
        assert (answer.status_code, answer.headers["location"]) == (303, "/auth/account")
        person = await setup.sessions.find(browser.cookie)
        assert person is not None
        assert person.user.email == CARLA.email

    async def test_a_second_factor_is_asked_for_after_the_password(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.change(ANNA, totp_secret=SECRET)
        await browser.get(await setup.link(ANNA))
        answer = await browser.send(password=NEW, repeated=NEW)
        assert (answer.status_code, answer.headers["location"]) == (303, "/auth/login/code")
        assert not browser.cookie
        await browser.follow()
        await browser.send(code=setup.code())
        assert await setup.sessions.find(browser.cookie) is not None

    async def test_while_somebody_guesses_passwords_the_person_logs_in_later(
        self, browser: PageBrowser, setup: AuthSetup
    ) -> None:
        await browser.log_in()
        await browser.get(await setup.link(ANNA))
        while not isinstance(await setup.sessions.log_in(ANNA.email, "guess", None, ADDRESS, ""), LoginThrottled):
            pass
        answer = await browser.send(password=NEW, repeated=NEW)
        assert heading_of(answer.text) == "Your password is set"
        assert "/auth/login?login_hint=Anna%40example.com" in answer.text
        assert not browser.cookie
        setup.clock.at += 3600
        assert (await browser.log_in(ANNA.email, NEW)).status_code == 303

    @pytest.mark.parametrize(
        ("user", "purpose", "title"),
        [
            (ANNA, LinkPurpose.PASSWORD, "Choose a new password"),
            (CARLA, LinkPurpose.PASSWORD, "Welcome"),
            (CARLA, LinkPurpose.OPERATOR, "Welcome, operator"),
        ],
    )
    async def test_says_what_it_is_for(
        self, browser: PageBrowser, setup: AuthSetup, user: User, purpose: LinkPurpose, title: str
    ) -> None:
        assert heading_of((await browser.get(await setup.link(user, purpose))).text) == title

    async def test_its_token_may_be_in_the_query_where_no_log_sees_it(self, browser: PageBrowser, setup: AuthSetup) -> None:
        token = (await setup.link(CARLA)).rpartition("/")[2].rpartition("=")[2]
        page = await browser.get(f"/auth/password?token={token}")
        assert heading_of(page.text) == "Welcome"

    async def test_opens_once(self, browser: PageBrowser, setup: AuthSetup) -> None:
        link = await setup.link(CARLA)
        await browser.get(link)
        await browser.get(link)
        await browser.send(password=NEW, repeated=NEW)
        answer = await browser.get(link)
        assert (answer.status_code, heading_of(answer.text)) == (410, "This link no longer works")

    async def test_a_form_that_was_open_meanwhile_sets_nothing(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.get(await setup.link(CARLA))
        open_form = browser.answer
        await browser.send(password=NEW, repeated=NEW)
        browser.answer = open_form
        answer = await browser.send(password="another long password", repeated="another long password")
        assert answer.status_code == 410
        browser.http.cookies.clear()
        assert (await browser.log_in(CARLA.email, NEW)).status_code == 303

    async def test_expires(self, browser: PageBrowser, setup: AuthSetup) -> None:
        link = await setup.link(CARLA)
        setup.clock.at += LINK_LIFETIME
        answer = await browser.get(link)
        assert (answer.status_code, heading_of(answer.text)) == (410, "This link is too old")

    @pytest.mark.parametrize("path", ["/auth/password/unknown", "/auth/password", "/auth/password?token=%00"])
    async def test_that_was_made_up_does_not_work(self, browser: PageBrowser, path: str) -> None:
        assert (await browser.get(path)).status_code == 410

    async def test_a_bad_password_does_not_use_it_up(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.get(await setup.link(CARLA))
        answer = await browser.send(password="short", repeated="short")
        assert answer.status_code == 400
        assert "The password is too short." in answer.text
        assert (await browser.send(password=NEW, repeated=NEW)).status_code == 303

    async def test_the_password_to_be_renewed_is_not_taken_again(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.set_standing(ANNA, Standing.PASSWORD_EXPIRED)
        await browser.get(await setup.link(ANNA))
        answer = await browser.send(password=PASSWORD, repeated=PASSWORD)
        assert answer.status_code == 400
        assert "Choose another one." in answer.text

    async def test_logs_the_person_out_everywhere(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        cookie = browser.cookie
        await browser.get(await setup.link(ANNA))
        await browser.send(password=NEW, repeated=NEW)
        assert await setup.sessions.find(cookie) is None
        assert await setup.sessions.find(browser.cookie) is not None

    async def test_a_form_of_another_site_sets_nothing(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.get(await setup.link(CARLA))
        assert (await browser.send(password=NEW, repeated=NEW, csrf="wrong")).status_code == 400
        assert not (await setup.user(CARLA)).active


class TestErrors:
    async def test_tell_the_developer_what_is_wrong_and_lead_nowhere(self, browser: PageBrowser, setup: AuthSetup) -> None:
        page = await browser.get(setup.authorize_path(redirect_uri="https://evil.example/<script>"))
        assert page.status_code == 400
        assert heading_of(page.text) == "This request cannot be completed"
        assert "location" not in page.headers
        assert "evil.example" in page.text
        assert "<script" not in page.text
        assert 'href="https://evil' not in page.text
        assert policy_of(browser)["form-action"] == "'self'"


class TestLogout:
    async def test_is_asked_first(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        cookie = browser.cookie
        page = await browser.get("/auth/logout")
        assert heading_of(page.text) == "Log out?"
        assert await setup.sessions.find(cookie) is not None
        page = await browser.send("/auth/logout", decision="logout")
        assert heading_of(page.text) == "You are logged out"
        assert await setup.sessions.find(cookie) is None

    async def test_the_person_can_stay_logged_in(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.get("/auth/logout")
        await browser.send("/auth/logout", decision="stay")
        assert await setup.sessions.find(browser.cookie) is not None


class TestEveryPage:
    PAGES = (
        "/auth/login",
        "/auth/login/forgotten",
        "/auth/account",
        "/auth/account/password",
        "/auth/account/second-factor",
        "/auth/password/x",
        "/auth/first-operator?token=x",
        "/auth/logout",
        "/auth/authorize",
    )

    @pytest.mark.parametrize("path", PAGES)
    @pytest.mark.parametrize("logged_in", [True, False])
    async def test_comes_under_a_policy_that_lets_nothing_else_run(
        self, browser: PageBrowser, path: str, logged_in: bool
    ) -> None:
        if logged_in:
            await browser.log_in()
        answer = await browser.get(path)
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        if answer.status_code in (302, 303):
            return
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        policy = policy_of(browser)
        # The login page offers passkeys, which need a script.
        allowed = {"script-src": f"{browser.http.base_url}/auth/pages/passkeys.js"} if path == "/auth/login" else {}
        assert policy == allowed | {
            "default-src": "'none'",
            "style-src": "'self'",
            "img-src": "'self' data:",
            "form-action": "'self'",
            "frame-ancestors": "'none'",
            "base-uri": "'none'",
        }
        assert answer.text.count("<script") == len(allowed)
        assert not re.search(
            r"<script(?! src=\"/auth/pages/passkeys\.js\?v=)|<style|\sstyle=|\son\w+=|javascript:", answer.text
        )

    async def test_every_form_is_posted_with_a_token(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.grant_access(ANNA)
        await setup.set_standing(ANNA, Standing.BOTH_EXPIRED)
        await browser.log_in()
        forms = [form for path in self.PAGES for form in forms_of((await browser.get(path)).text)]
        assert len(forms) > len(self.PAGES) / 2
        for form in forms:
            assert form.method == "post"
            assert form.fields["csrf"]

    @pytest.mark.parametrize(
        ("path", "allowed"),
        [
            ("/auth/login", "GET, HEAD, POST"),
            ("/auth/login/code", "GET, HEAD, POST"),
            ("/auth/login/forgotten", "GET, HEAD, POST"),
            ("/auth/account/password", "GET, HEAD, POST"),
            ("/auth/account/plants/leave", "GET, HEAD, POST"),
            ("/auth/password", "GET, HEAD, POST"),
            ("/auth/first-operator", "GET, HEAD, POST"),
            ("/auth/account/terms", "GET, HEAD, POST"),
            ("/auth/account", "GET, HEAD"),
        ],
    )
    async def test_knows_its_methods(self, browser: PageBrowser, path: str, allowed: str) -> None:
        answer = await browser.http.delete(path)
        assert answer.status_code == 405
        assert sorted(answer.headers["allow"].split(", ")) == allowed.split(", ")

    async def test_the_style_sheet_is_kept_by_the_browser_until_it_changes(self, browser: PageBrowser) -> None:
        page = await browser.get("/auth/login")
        url = re.search(r'<link rel="stylesheet" href="([^"]+)"', page.text)
        assert url
        style = await browser.get(url[1])
        assert style.headers["content-type"].startswith("text/css")
        assert "immutable" in style.headers["cache-control"]
        assert "url(" not in style.text
        assert "@import" not in style.text
