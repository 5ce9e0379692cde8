"""Passkeys on the pages: /auth/account/passkeys, /auth/login/passkey and /auth/login/code/passkey."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from domogate.domain.passkeys import Passkey
from support.auth_setup import PASSWORD, SECRET, AuthSetup, PageBrowser, heading_of, open_auth_setup
from support.authenticator import Authenticator, decode
from support.forms import forms_of
from support.stores import ANNA, BRUNO

pytestmark = pytest.mark.slow

LOGIN, STEP, ACCOUNT = "/auth/login/passkey", "/auth/login/code/passkey", "/auth/account/passkeys"


async def add(browser: PageBrowser, device: Authenticator, name: str = "My phone", **fields: str) -> httpx.Response:
    """The person is logged in."""
    await browser.get(ACCOUNT)
    answer = device.create(browser.passkey_options(ACCOUNT))
    return await browser.send(ACCOUNT, name=name, answer=answer, **fields)


async def log_in(browser: PageBrowser, device: Authenticator, **changed: Any) -> httpx.Response:
    """Without a password, in a browser without a session."""
    browser.http.cookies.clear()
    await browser.get("/auth/login")
    return await browser.send(LOGIN, answer=device.get(browser.passkey_options(LOGIN), **changed))


async def enroll(browser: PageBrowser, email: str = ANNA.email, **options: Any) -> Authenticator:
    device = Authenticator(**options)
    browser.http.cookies.clear()
    await browser.log_in(email)
    assert (await add(browser, device)).status_code == 200
    return device


async def the_passkey(setup: AuthSetup) -> Passkey:
    (passkey,) = await setup.store.list_passkeys(ANNA.id)
    return passkey


class TestAdding:
    async def test_the_first_one_shows_recovery_codes_and_renews_the_session(
        self, browser: PageBrowser, setup: AuthSetup
    ) -> None:
        await browser.log_in()
        before = browser.cookie
        shown = await add(browser, Authenticator(), "  My phone ")
        assert heading_of(shown.text) == "Recovery codes"
        assert shown.headers["cache-control"] == "no-store"
        assert browser.cookie != before
        page = await browser.get(f"{ACCOUNT}?done=added")
        assert "My phone" in page.text
        assert "not used yet" in page.text
        assert await setup.sessions.count_recovery_codes(ANNA) == 10
        account = await browser.get("/auth/account")
        assert "10 unused" in account.text
        assert "Off: your passkey is the second step" in account.text

    async def test_another_one_keeps_codes_and_session(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await enroll(browser)
        setup.clock.at += 1
        before = browser.cookie
        assert (await add(browser, Authenticator(), "My key")).headers["location"] == f"{ACCOUNT}?done=added"
        assert browser.cookie == before
        assert [one.name for one in await setup.store.list_passkeys(ANNA.id)] == ["My phone", "My key"]

    async def test_asks_for_the_password_five_minutes_after_the_login(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        setup.clock.at += 300
        for wrong in ({}, {"current": "not it"}):
            assert (await add(browser, Authenticator(), **wrong)).status_code == 403
        assert await setup.store.list_passkeys(ANNA.id) == []
        assert (await add(browser, Authenticator(), current=PASSWORD)).status_code == 200

    async def test_needs_a_form_of_this_browser(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        assert (await add(browser, Authenticator(), csrf="wrong")).status_code == 400
        assert await setup.store.list_passkeys(ANNA.id) == []

    @pytest.mark.parametrize("name", ["", "   ", "x" * 101])
    async def test_needs_a_name(self, browser: PageBrowser, setup: AuthSetup, name: str) -> None:
        await browser.log_in()
        answer = await add(browser, Authenticator(), name)
        assert answer.status_code == 400
        assert "Enter a name." in answer.text
        assert await setup.store.list_passkeys(ANNA.id) == []

    async def test_an_answer_for_another_origin_is_refused(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        answer = await add(browser, Authenticator("https://evil.example"))
        assert answer.status_code == 403
        assert await setup.store.list_passkeys(ANNA.id) == []

    async def test_a_page_that_was_open_too_long_is_shown_again(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.get(ACCOUNT)
        answer = Authenticator().create(browser.passkey_options(ACCOUNT))
        setup.clock.at += 301
        shown = await browser.send(ACCOUNT, name="My phone", answer=answer, current=PASSWORD)
        assert shown.status_code == 400
        assert "open for too long" in shown.text

    async def test_the_form_is_missing_when_there_are_ten(self, browser: PageBrowser) -> None:
        await enroll(browser)
        for _ in range(9):
            await add(browser, Authenticator())
        page = await browser.get(ACCOUNT)
        assert "Remove one to add another." in page.text
        assert ACCOUNT not in [form.action for form in forms_of(page.text)]

    async def test_without_a_login_the_page_asks_for_one(self, browser: PageBrowser) -> None:
        for path in (ACCOUNT, f"{ACCOUNT}/change", "/auth/account/recovery-codes"):
            assert (await browser.get(path)).headers["location"].startswith("/auth/login")
            assert (await browser.http.post(path, data={})).status_code == 303


class TestChanging:
    async def test_rename(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await enroll(browser)
        await browser.get(f"{ACCOUNT}/change?passkey={(await the_passkey(setup)).id}")
        for wrong in ("", "x" * 101):
            form = {"name": wrong}
            assert (await browser.send(f"{ACCOUNT}/change", **form)).status_code == 400
        assert (await browser.send(f"{ACCOUNT}/change", name="Old phone", csrf="wrong")).status_code == 400
        person = await setup.sessions.find(browser.cookie)
        assert person is not None
        assert (await browser.send(f"{ACCOUNT}/change", name="Old <b>phone", csrf=person.form_token)).status_code == 303
        assert "Old &lt;b&gt;phone" in (await browser.get(ACCOUNT)).text

    async def test_remove(self, browser: PageBrowser, setup: AuthSetup) -> None:
        device = await enroll(browser)
        setup.clock.at += 300
        await browser.get(f"{ACCOUNT}/change?passkey={(await the_passkey(setup)).id}")
        assert (await browser.send(f"{ACCOUNT}/remove")).status_code == 403
        assert (await browser.send(f"{ACCOUNT}/remove", current=PASSWORD)).headers["location"] == f"{ACCOUNT}?done=removed"
        assert await setup.store.list_passkeys(ANNA.id) == []
        assert (await log_in(browser, device)).status_code == 403
        assert (await browser.log_in()).headers["location"] == "/auth/account"

    async def test_those_of_others_cannot_be_changed(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await enroll(browser)
        passkey = await the_passkey(setup)
        browser.http.cookies.clear()
        await browser.log_in(BRUNO.email)
        token = forms_of((await browser.get(ACCOUNT)).text)[0].fields["csrf"]
        assert (await browser.get(f"{ACCOUNT}/change?passkey={passkey.id}")).headers["location"] == ACCOUNT
        for action in ("change", "remove"):
            form = {"csrf": token, "passkey": passkey.id, "name": "stolen", "current": PASSWORD}
            assert (await browser.http.post(f"{ACCOUNT}/{action}", data=form)).headers["location"] == ACCOUNT
        assert await the_passkey(setup) == passkey

    async def test_the_only_second_factor_stays_where_one_is_required(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await enroll(browser)
        setup.sessions.second_factor_required = True
        await browser.get(f"{ACCOUNT}/change?passkey={(await the_passkey(setup)).id}")
        answer = await browser.send(f"{ACCOUNT}/remove")
        assert answer.status_code == 403
        assert "Add another first." in answer.text
        await setup.change(ANNA, totp_secret=SECRET)
        await browser.get(f"{ACCOUNT}/change?passkey={(await the_passkey(setup)).id}")
        assert (await browser.send(f"{ACCOUNT}/remove")).status_code == 303

    async def test_recovery_codes_are_renewed_without_an_app(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await enroll(browser)
        await browser.get("/auth/account/recovery-codes")
        assert heading_of((await browser.send()).text) == "Recovery codes"
        assert await setup.sessions.count_recovery_codes(ANNA) == 10


class TestLoggingIn:
    async def test_without_a_password(self, browser: PageBrowser, setup: AuthSetup) -> None:
        device = await enroll(browser)
        answer = await log_in(browser, device)
        assert (answer.status_code, answer.headers["location"]) == (303, "/auth/account")
        person = await setup.sessions.find(browser.cookie)
        assert person is not None
        assert person.user.id == ANNA.id
        assert "last used just now" in (await browser.get(ACCOUNT)).text

    async def test_the_options_name_no_account_and_require_the_persons_verification(self, browser: PageBrowser) -> None:
        await enroll(browser)
        browser.http.cookies.clear()
        await browser.get("/auth/login")
        options = browser.passkey_options(LOGIN)
        assert (options["rpId"], options["userVerification"], options["allowCredentials"]) == (
            "gateway.example",
            "required",
            [],
        )
        assert len(decode(options["challenge"])) > 64

    @pytest.mark.parametrize(
        "changed", [{"origin": "https://evil.example"}, {"rp_id": "evil.example"}, {"verified": False}, {"user_handle": b"x"}]
    )
    async def test_an_answer_that_proves_nothing_is_403(self, browser: PageBrowser, changed: dict[str, Any]) -> None:
        answer = await log_in(browser, await enroll(browser), **changed)
        assert answer.status_code == 403
        assert "This passkey does not work here." in answer.text
        assert not browser.cookie

    async def test_an_answer_cannot_be_sent_again(self, browser: PageBrowser) -> None:
        device = await enroll(browser)
        browser.http.cookies.clear()
        await browser.get("/auth/login")
        page, answer = browser.answer, device.get(browser.passkey_options(LOGIN))
        assert (await browser.send(LOGIN, answer=answer)).status_code == 303
        browser.answer = page
        assert (await browser.send(LOGIN, answer=answer)).status_code == 403

    async def test_an_answer_of_another_browser_is_not_accepted(self, browser: PageBrowser, setup: AuthSetup) -> None:
        device = await enroll(browser)
        browser.http.cookies.clear()
        await browser.get("/auth/login")
        answer = device.get(browser.passkey_options(LOGIN))
        other = PageBrowser(setup.app(), setup.base_url)
        async with other.http:
            await other.get("/auth/login")
            assert (await other.send(LOGIN, answer=answer)).status_code == 400
            assert not other.cookie

    async def test_a_form_of_another_site_logs_nobody_in(self, browser: PageBrowser) -> None:
        device = await enroll(browser)
        browser.http.cookies.clear()
        await browser.get("/auth/login")
        answer = device.get(browser.passkey_options(LOGIN))
        assert (await browser.send(LOGIN, answer=answer, csrf="wrong")).status_code == 400
        assert not browser.cookie

    async def test_a_count_that_goes_back_is_403(self, browser: PageBrowser) -> None:
        device = await enroll(browser, count=5)
        assert (await log_in(browser, device)).status_code == 303
        device.count = 3
        assert (await log_in(browser, device)).status_code == 403

    async def test_too_many_wrong_answers_are_429(self, browser: PageBrowser) -> None:
        device = await enroll(browser)
        for _ in range(100):
            assert (await log_in(browser, device, verified=False)).status_code == 403
        answer = await log_in(browser, device, verified=False)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")

    async def test_after_the_password(self, browser: PageBrowser, setup: AuthSetup) -> None:
        device = await enroll(browser)
        browser.http.cookies.clear()
        await browser.log_in()
        assert heading_of((await browser.follow()).text) == "Confirm that it is you"
        assert "six digits" not in browser.answer.text
        answer = await browser.send(STEP, answer=device.get(browser.passkey_options(STEP)))
        assert (answer.status_code, answer.headers["location"]) == (303, "/auth/account")
        person = await setup.sessions.find(browser.cookie)
        assert person is not None
        assert person.session.factors == ("pwd", "pop", "mfa")

    async def test_after_the_password_a_passkey_of_another_account_is_403(self, browser: PageBrowser) -> None:
        await enroll(browser)
        bruno = await enroll(browser, BRUNO.email)
        browser.http.cookies.clear()
        await browser.log_in()
        await browser.follow()
        assert (await browser.send(STEP, answer=bruno.get(browser.passkey_options(STEP)))).status_code == 403
        assert (await browser.send(STEP, answer="{}", csrf="wrong")).status_code == 400
        assert not browser.cookie

    async def test_after_the_password_a_code_or_a_recovery_code_works_too(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await enroll(browser)
        code, *_ = await setup.sessions.new_recovery_codes(ANNA, "")
        browser.http.cookies.clear()
        await browser.log_in()
        await browser.follow()
        assert (await browser.send("/auth/login/code", recovery=code)).status_code == 303
        await setup.change(ANNA, totp_secret=SECRET)
        browser.http.cookies.clear()
        await browser.log_in()
        assert "six digits" in (await browser.follow()).text
        assert browser.passkey_options(STEP)["allowCredentials"]
        assert (await browser.send("/auth/login/code", code=setup.code())).status_code == 303

    async def test_the_step_needs_the_password_first(self, browser: PageBrowser) -> None:
        await enroll(browser)
        browser.http.cookies.clear()
        assert (await browser.http.post(STEP, data={"answer": "{}"})).status_code == 400

    @pytest.mark.parametrize(("with_password", "amr"), [(False, ["pop", "mfa"]), (True, ["pwd", "pop", "mfa"])])
    async def test_the_id_token_says_so(
        self, browser: PageBrowser, setup: AuthSetup, with_password: bool, amr: list[str]
    ) -> None:
        device = await enroll(browser)
        browser.http.cookies.clear()
        await browser.get(setup.authorize_path())
        await browser.follow()
        action = LOGIN
        if with_password:
            await browser.send("/auth/login", email=ANNA.email, password=PASSWORD)
            await browser.follow()
            action = STEP
        await browser.send(action, answer=device.get(browser.passkey_options(action)))
        await browser.follow()
        await browser.send("/auth/authorize", decision="allow")
        tokens = await setup.redeem(browser.answer.headers["location"])
        assert json.loads(decode(tokens["id_token"].split(".")[1]))["amr"] == amr


class TestPolicy:
    async def test_only_our_script_runs_and_only_where_a_page_needs_it(self, browser: PageBrowser) -> None:
        script = "script-src https://gateway.example/auth/pages/passkeys.js;"
        assert script in (await browser.get("/auth/login")).headers["content-security-policy"]
        await browser.log_in()
        assert script in (await browser.get(ACCOUNT)).headers["content-security-policy"]
        for path in ("/auth/account", "/auth/account/password", "/auth/account/second-factor"):
            page = await browser.get(path)
            assert "script-src" not in page.headers["content-security-policy"]
            assert "<script" not in page.text

    async def test_the_script_is_a_file_of_ours(self, browser: PageBrowser) -> None:
        page = await browser.get("/auth/login")
        path = page.text.partition('<script src="')[2].partition('"')[0]
        script = await browser.get(path)
        assert script.headers["content-type"] == "text/javascript; charset=utf-8"
        assert script.headers["x-content-type-options"] == "nosniff"
        assert "immutable" in script.headers["cache-control"]

    @pytest.mark.parametrize(
        "base_url", ["http://gateway.example", "https://192.0.2.1", "http://127.0.0.1:8080", "https://[::1]"]
    )
    async def test_where_browsers_have_no_passkeys_nothing_changes(self, tmp_path: Path, base_url: str) -> None:
        async with open_auth_setup(tmp_path, base_url) as setup:
            browser = PageBrowser(setup.app(), setup.base_url)
            async with browser.http:
                page = await browser.get("/auth/login")
                assert "passkey" not in page.text
                assert "script-src" not in page.headers["content-security-policy"]
                assert (await browser.http.post(LOGIN, data={"answer": "{}"})).status_code == 400
                assert (await browser.log_in()).headers["location"] == "/auth/account"
                assert "Passkeys" not in (await browser.get("/auth/account")).text
                assert "cannot be added at this address" in (await browser.get(ACCOUNT)).text
                assert (await browser.http.post(ACCOUNT, data={})).status_code == 400
                token = forms_of((await browser.get("/auth/account")).text)[0].fields["csrf"]
                assert (await browser.http.post(ACCOUNT, data={"csrf": token})).headers["location"] == ACCOUNT
