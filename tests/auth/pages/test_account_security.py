"""The account pages about the password and the second factor."""

import re

import pytest

from domogate.services.people import LINK_PATH
from support.auth_setup import PASSWORD, SECRET, AuthSetup, PageBrowser, heading_of
from support.forms import forms_of
from support.stores import ANNA

pytestmark = pytest.mark.slow
NEW = "three purple umbrellas"
CODE_SHOWN = re.compile(r"\b[a-z2-9]{4}(?:-[a-z2-9]{4}){3}\b")


class TestChangingThePassword:
    async def test_ends_all_other_sessions_and_keeps_this_one(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.sessions.log_in(ANNA.email, PASSWORD, None, "192.0.2.8", "x")
        await browser.log_in()
        await browser.get("/auth/account/password")
        await browser.send(current=PASSWORD, password=NEW, repeated=NEW)
        assert "Your password is changed." in (await browser.follow()).text
        assert len(await setup.store.list_sessions(ANNA.id)) == 1
        browser.http.cookies.clear()
        assert (await browser.log_in(password=PASSWORD)).status_code == 403
        assert (await browser.log_in(password=NEW)).status_code == 303

    async def test_does_not_replace_one_that_was_renewed_by_a_link_meanwhile(
        self, browser: PageBrowser, setup: AuthSetup, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Somebody who knows the old password and has a browser open must not get the account back."""
        await browser.log_in()
        await browser.get("/auth/account/password")
        link = (await setup.link(ANNA)).removeprefix(LINK_PATH)
        verify = setup.env.hasher.verify_password

        async def verify_slowly(password: str, password_hash: str | None) -> bool:
            right = await verify(password, password_hash)
            await setup.people.redeem_link(link, "four green kites")
            return right

        monkeypatch.setattr(setup.env.hasher, "verify_password", verify_slowly)
        answer = await browser.send(current=PASSWORD, password=NEW, repeated=NEW)
        monkeypatch.undo()
        assert answer.headers["location"].startswith("/auth/login")
        assert (await browser.log_in(password=NEW)).status_code == 403
        assert (await browser.log_in(password="four green kites")).status_code == 303

    @pytest.mark.parametrize(
        ("current", "password", "repeated", "status", "words"),
        [
            ("not it", NEW, NEW, 403, "This is not your current password."),
            (PASSWORD, "short", "short", 400, "The password is too short."),
            (PASSWORD, "e\u0301" * 6, "e\u0301" * 6, 400, "The password is too short."),  # six letters with accents
            (PASSWORD, "x" * 1000, "x" * 1000, 400, "The password is too long."),
            (PASSWORD, ANNA.email, ANNA.email, 400, "must not be your e-mail address"),
            (PASSWORD, "password1234", "password1234", 400, "Many people use this password"),
            (PASSWORD, PASSWORD, PASSWORD, 400, "You already have this password"),
            (PASSWORD, NEW, NEW + "x", 400, "The two passwords are not the same."),
        ],
    )
    async def test_says_what_is_wrong_and_changes_nothing(
        self, browser: PageBrowser, setup: AuthSetup, current: str, password: str, repeated: str, status: int, words: str
    ) -> None:
        before = (await setup.user(ANNA)).password_hash
        await browser.log_in()
        await browser.get("/auth/account/password")
        answer = await browser.send(current=current, password=password, repeated=repeated)
        assert answer.status_code == status
        assert words in answer.text
        assert 'aria-invalid="true"' in answer.text
        assert (await setup.user(ANNA)).password_hash == before

    async def test_guessing_the_current_one_is_slowed_down(self, browser: PageBrowser) -> None:
        await browser.log_in()
        await browser.get("/auth/account/password")
        statuses = [(await browser.send(current="x", password=NEW, repeated=NEW)).status_code for _ in range(6)]
        assert statuses == [403] * 5 + [429]

    async def test_a_form_of_another_site_changes_nothing(self, browser: PageBrowser) -> None:
        await browser.log_in()
        await browser.get("/auth/account/password")
        answer = await browser.send(current=PASSWORD, password=NEW, repeated=NEW, csrf="wrong")
        assert answer.status_code == 400

    async def test_needs_a_login(self, browser: PageBrowser) -> None:
        for path in ("/auth/account/password", "/auth/account/second-factor"):
            answer = await browser.get(path)
            assert answer.headers["location"].startswith("/auth/login?return_to=%2Fauth%2Faccount%2F")
        assert (await browser.http.post("/auth/account/password")).status_code == 303


class TestTheSecondFactor:
    async def test_is_switched_on_with_a_code_and_off_with_the_password(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        page = await browser.get("/auth/account/second-factor")
        secret = forms_of(page.text)[0].fields["secret"]
        done = await browser.send(code=setup.code(secret))
        assert heading_of(done.text) == "Recovery codes"
        assert "The second step is on." in (await browser.get("/auth/account?done=second_factor_on")).text
        assert (await setup.user(ANNA)).totp_secret == secret
        page = await browser.get("/auth/account/second-factor")
        assert secret not in page.text
        assert (await browser.send(current="not it")).status_code == 403
        assert (await setup.user(ANNA)).totp_secret == secret
        await browser.send(current=PASSWORD)
        assert "The second step is off." in (await browser.follow()).text
        assert (await setup.user(ANNA)).totp_secret is None

    @pytest.mark.parametrize("after", [299, 300])
    async def test_is_switched_on_with_the_password_five_minutes_after_the_login(
        self, browser: PageBrowser, setup: AuthSetup, after: int
    ) -> None:
        await browser.log_in()
        setup.clock.at += after
        page = await browser.get("/auth/account/second-factor")
        asked = after == 300
        assert ('name="current"' in page.text) is asked
        secret = forms_of(page.text)[0].fields["secret"]
        if asked:
            for wrong in ("", "not it"):
                again = await browser.send(code=setup.code(secret), current=wrong)
                assert (again.status_code, (await setup.user(ANNA)).totp_secret) == (403, None)
                assert "This is not your current password." in again.text
        await browser.send(code=setup.code(secret), current=PASSWORD if asked else "")
        assert (await setup.user(ANNA)).totp_secret == secret

    @pytest.mark.parametrize("after", [299, 300])
    async def test_is_switched_off_with_the_password_five_minutes_after_the_login(
        self, browser: PageBrowser, setup: AuthSetup, after: int
    ) -> None:
        await setup.change(ANNA, totp_secret=SECRET)
        await browser.log_in()
        await browser.follow()
        await browser.send(code=setup.code())
        setup.clock.at += after
        asked = after == 300
        assert ('name="current"' in (await browser.get("/auth/account/second-factor")).text) is asked
        assert (await browser.send()).status_code == (403 if asked else 303)
        assert ((await setup.user(ANNA)).totp_secret is not None) is asked

    async def test_recovery_codes_are_shown_once_and_renewed_on_demand(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        page = await browser.get("/auth/account/second-factor")
        secret = forms_of(page.text)[0].fields["secret"]
        shown = await browser.send(code=setup.code(secret))
        first = CODE_SHOWN.findall(shown.text)
        assert len(set(first)) == 10
        assert shown.headers["cache-control"] == "no-store"
        page = await browser.get("/auth/account/recovery-codes")
        assert "Unused recovery codes: 10." in page.text
        assert CODE_SHOWN.findall(page.text) == []
        setup.clock.at += 300
        token = forms_of(page.text)[0].fields["csrf"]
        path = "/auth/account/recovery-codes"
        for refused in ({"csrf": token}, {"csrf": token, "current": "not it"}, {"csrf": "wrong", "current": PASSWORD}):
            assert (await browser.http.post(path, data=refused)).status_code in (400, 403)
        renewed = await browser.http.post(path, data={"csrf": token, "current": PASSWORD})
        second = CODE_SHOWN.findall(renewed.text)
        assert len(set(first) | set(second)) == 20
        browser.http.cookies.clear()
        await browser.log_in()
        await browser.follow()
        assert (await browser.send(recovery=first[0])).status_code == 403
        assert (await browser.send(recovery=second[0])).status_code == 303
        assert browser.cookie

    async def test_a_wrong_code_switches_nothing_on(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.get("/auth/account/second-factor")
        assert (await browser.send(code="000000")).status_code == 403
        assert (await setup.user(ANNA)).totp_secret is None

    async def test_forms_of_another_site_switch_nothing(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        page = await browser.get("/auth/account/second-factor")
        secret = forms_of(page.text)[0].fields["secret"]
        assert (await browser.send(code=setup.code(secret), csrf="wrong")).status_code == 400
        assert (await setup.user(ANNA)).totp_secret is None
        await setup.change(ANNA, totp_secret=SECRET)
        answer = await browser.http.post("/auth/account/second-factor/off", data={"current": PASSWORD})
        assert (await setup.user(ANNA)).totp_secret == SECRET
        assert answer.status_code in (303, 400)

    async def test_one_that_is_demanded_cannot_be_switched_off(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.change(ANNA, totp_secret=SECRET)
        await browser.log_in()
        await browser.follow()
        await browser.send(code=setup.code())
        setup.sessions.second_factor_required = True
        page = await browser.get("/auth/account/second-factor")
        assert "cannot be switched off" in page.text
        person = await setup.sessions.find(browser.cookie)
        assert person is not None
        token = person.form_token
        data = {"csrf": token, "current": PASSWORD}
        assert (await browser.http.post("/auth/account/second-factor/off", data=data)).status_code == 403
        assert (await setup.user(ANNA)).totp_secret == SECRET
