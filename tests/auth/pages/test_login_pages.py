import html
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from support.auth_setup import LIFETIME, PASSWORD, SECRET, AuthSetup, PageBrowser, heading_of, open_auth_setup
from support.forms import forms_of
from support.stores import ANNA, BRUNO, CARLA

pytestmark = pytest.mark.slow

TO_SUNRISE = "Log in to continue to Sunrise &lt;b&gt;lights&lt;/b&gt;."


class TestTheLoginPage:
    async def test_asks_for_email_and_password(self, browser: PageBrowser) -> None:
        page = await browser.get("/auth/login")
        assert page.status_code == 200
        assert heading_of(page.text) == "Log in"
        form, passkey = forms_of(page.text)
        assert (form.method, form.action) == ("post", "/auth/login")
        assert (passkey.method, passkey.action) == ("post", "/auth/login/passkey")
        assert {"csrf", "email", "password"} <= set(form.fields)

    async def test_names_an_application_only_after_its_request(self, browser: PageBrowser, setup: AuthSetup) -> None:
        from_an_application = await browser.get("/auth/login?return_to=" + quote(setup.authorize_path(), safe=""))
        assert TO_SUNRISE in from_an_application.text
        for return_to in ("/auth/account/password", "/auth/account?client_id=sunrise", "/auth/authorize?client_id=unknown"):
            page = await browser.get("/auth/login?return_to=" + quote(return_to, safe=""))
            assert "to continue to" not in page.text

    async def test_names_the_application_after_a_mistake_too(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.get("/auth/login?return_to=" + quote(setup.authorize_path(), safe=""))
        page = await browser.send("/auth/login", email=ANNA.email, password="not it")
        assert page.status_code == 403
        assert TO_SUNRISE in page.text
        page = await browser.send("/auth/login/passkey", answer="{}")
        assert page.status_code == 403
        assert TO_SUNRISE in page.text

    async def test_names_the_application_when_a_login_is_asked_again(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.get(setup.authorize_path(prompt="login"))
        page = await browser.follow()
        assert heading_of(page.text) == "Confirm that it is you"
        assert TO_SUNRISE in page.text

    async def test_the_second_step_names_it_too(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.change(ANNA, totp_secret=SECRET)
        await browser.log_in(return_to=setup.authorize_path())
        page = await browser.follow()
        assert heading_of(page.text) == "Enter your code"
        assert TO_SUNRISE in page.text
        assert TO_SUNRISE in (await browser.send("/auth/login/code", code="000000")).text

    async def test_so_does_the_set_up_of_a_required_second_step(self, browser: PageBrowser, setup: AuthSetup) -> None:
        setup.sessions.second_factor_required = True
        await browser.log_in(return_to=setup.authorize_path())
        page = await browser.follow()
        assert heading_of(page.text) == "Set up a second step"
        assert TO_SUNRISE in page.text

    async def test_shows_the_login_hint(self, browser: PageBrowser) -> None:
        page = await browser.get("/auth/login?login_hint=anna%40example.com")
        assert forms_of(page.text)[0].fields["email"] == "anna@example.com"

    async def test_redirects_a_logged_in_person_to_the_account(self, browser: PageBrowser) -> None:
        await browser.log_in()
        answer = await browser.get("/auth/login")
        assert (answer.status_code, answer.headers["location"]) == (303, "/auth/account")

    async def test_asks_a_logged_in_person_to_confirm_if_an_application_asks_for_it(self, browser: PageBrowser) -> None:
        await browser.log_in()
        page = await browser.get("/auth/login?return_to=/auth/authorize")
        assert heading_of(page.text) == "Confirm that it is you"
        assert forms_of(page.text)[0].fields["email"] == ANNA.email

    async def test_lets_somebody_else_log_in_instead(self, browser: PageBrowser) -> None:
        await browser.log_in()
        page = await browser.get("/auth/login?return_to=/auth/authorize&switch=yes")
        assert heading_of(page.text) == "Log in"
        assert forms_of(page.text)[0].fields["email"] == ""


class TestLoggingIn:
    async def test_leads_to_the_account(self, browser: PageBrowser) -> None:
        answer = await browser.log_in()
        assert (answer.status_code, answer.headers["location"]) == (303, "/auth/account")
        assert heading_of((await browser.follow()).text) == "Hello, Anna"

    async def test_leads_on_to_where_the_person_was_going(self, browser: PageBrowser, setup: AuthSetup) -> None:
        path = setup.authorize_path()
        answer = await browser.log_in(return_to=path)
        assert (answer.status_code, answer.headers["location"]) == (303, path)

    @pytest.mark.parametrize("return_to", ["https://evil.example/", "//evil.example", "/auth/../x", "/\\evil.example"])
    async def test_never_leads_elsewhere(self, browser: PageBrowser, return_to: str) -> None:
        await browser.get("/auth/login")
        answer = await browser.send(email=ANNA.email, password=PASSWORD, return_to=return_to)
        assert answer.headers["location"] == "/auth/account"

    async def test_sets_a_cookie_that_only_these_pages_get(self, browser: PageBrowser) -> None:
        answer = await browser.log_in()
        (cookie,) = [it for it in answer.headers.get_list("set-cookie") if it.startswith("domogate_session=")]
        parts = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert parts == {"httponly", "secure", "samesite=lax", "path=/auth", f"max-age={int(LIFETIME)}"}

    async def test_over_http_the_cookie_is_not_marked_secure(self, tmp_path: Path) -> None:
        async with open_auth_setup(tmp_path, "http://localhost:8080") as setup:
            browser = PageBrowser(setup.app(), setup.base_url)
            answer = await browser.log_in()
            await browser.http.aclose()
        assert "secure" not in ";".join(answer.headers.get_list("set-cookie")).lower()
        assert browser.cookie

    async def test_gives_another_cookie_every_time(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        before = browser.cookie
        await browser.log_in(return_to="/auth/account")
        assert browser.cookie != before
        assert await setup.sessions.find(before) is None

    async def test_unknown_user_inactive_user_and_wrong_password_get_the_same_page(self, browser: PageBrowser) -> None:
        pages = []
        for email in ("nobody@example.com", CARLA.email, ANNA.email):
            answer = await browser.log_in(email=email, password="not it")
            assert answer.status_code == 403
            # The challenge for passkeys is random on every page.
            pages.append(re.sub('data-options="[^"]*"', "", answer.text.replace(email, "EMAIL")))
        assert len(set(pages)) == 1
        assert "The e-mail or the password is wrong." in pages[0]

    async def test_the_email_stays_and_the_password_does_not(self, browser: PageBrowser) -> None:
        answer = await browser.log_in(password="not it at all")
        assert forms_of(answer.text)[0].fields["email"] == ANNA.email
        assert "not it at all" not in answer.text

    async def test_mistakes_are_announced_and_lead_to_the_field(self, browser: PageBrowser) -> None:
        answer = await browser.log_in(password="not it")
        assert 'role="alert"' in answer.text
        assert '<a href="#email">' in answer.text
        assert "<title>Error: " in answer.text

    async def test_after_several_failures_one_has_to_wait(self, browser: PageBrowser, setup: AuthSetup) -> None:
        for _ in range(5):
            assert (await browser.log_in(password="not it")).status_code == 403
        answer = await browser.log_in()
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == "1"
        assert "Try again in one second." in answer.text
        setup.clock.at += 1
        assert (await browser.log_in()).status_code == 303

    @pytest.mark.parametrize(("email", "password"), [("", PASSWORD), (ANNA.email, ""), ("  ", PASSWORD)])
    async def test_both_must_be_filled_in(self, browser: PageBrowser, email: str, password: str) -> None:
        answer = await browser.log_in(email=email, password=password)
        assert answer.status_code == 400
        assert "Enter your e-mail and your password." in answer.text

    @pytest.mark.parametrize("token", ["", "wrong", None])
    async def test_a_form_that_another_site_made_comes_to_nothing(self, browser: PageBrowser, token: str | None) -> None:
        await browser.get("/auth/login")
        answer = await browser.send(email=ANNA.email, password=PASSWORD, csrf=token)
        assert answer.status_code == 400
        assert not browser.cookie

    async def test_the_token_of_one_browser_is_of_no_use_in_another(self, browser: PageBrowser, setup: AuthSetup) -> None:
        page = await browser.get("/auth/login")
        token = forms_of(page.text)[0].fields["csrf"]
        other = PageBrowser(setup.app(), setup.base_url)
        async with other.http:
            await other.get("/auth/login")
            assert (await other.send(email=ANNA.email, password=PASSWORD, csrf=token)).status_code == 400

    async def test_a_stale_form_can_be_sent_again(self, browser: PageBrowser) -> None:
        await browser.get("/auth/login")
        browser.http.cookies.clear()
        stale = await browser.send(email=ANNA.email, password=PASSWORD)
        assert "open for too long" in stale.text
        assert (await browser.send(email=ANNA.email, password=PASSWORD)).status_code == 303

    async def test_typed_text_is_never_markup(self, browser: PageBrowser) -> None:
        answer = await browser.log_in(email='"><script>alert(1)</script>', password="x")
        assert "<script>" not in answer.text
        assert "&lt;script&gt;" in answer.text


class TestTheCodePage:
    @pytest.fixture(autouse=True)
    async def secured(self, setup: AuthSetup) -> None:
        await setup.change(ANNA, totp_secret=SECRET)

    async def test_follows_the_password(self, browser: PageBrowser, setup: AuthSetup) -> None:
        path = setup.authorize_path()
        answer = await browser.log_in(return_to=path)
        location = urlsplit(answer.headers["location"])
        assert location.path == "/auth/login/code"
        assert parse_qs(location.query)["return_to"] == [path]
        assert not browser.cookie
        page = await browser.follow()
        assert heading_of(page.text) == "Enter your code"
        done = await browser.send(code=setup.code())
        assert (done.status_code, done.headers["location"]) == (303, path)
        assert await setup.sessions.find(browser.cookie) is not None

    async def test_opens_no_page_of_the_account_before_the_code(self, browser: PageBrowser) -> None:
        await browser.log_in()
        answer = await browser.get("/auth/account")
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/auth/login")

    async def test_says_when_the_code_is_wrong(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.follow()
        answer = await browser.send(code="000000")
        assert answer.status_code == 403
        assert "This code is wrong" in answer.text
        assert (await browser.send(code=setup.code())).status_code == 303

    async def test_takes_no_code_twice(self, browser: PageBrowser, setup: AuthSetup) -> None:
        for status in (303, 403):
            browser.http.cookies.clear()
            await browser.log_in()
            await browser.follow()
            assert (await browser.send(code=setup.code())).status_code == status

    async def test_slows_guessing_down(self, browser: PageBrowser) -> None:
        await browser.log_in()
        await browser.follow()
        statuses = [(await browser.send(code="000000")).status_code for _ in range(6)]
        assert statuses == [403] * 5 + [429]

    async def test_wants_its_own_form(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.follow()
        assert (await browser.send(code=setup.code(), csrf="wrong")).status_code == 400
        assert not browser.cookie

    async def test_without_a_password_before_it_leads_to_the_login(self, browser: PageBrowser) -> None:
        answer = await browser.get("/auth/login/code")
        assert (answer.status_code, answer.headers["location"]) == (303, "/auth/login")

    async def test_is_too_late_after_ten_minutes(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.follow()
        setup.clock.at += 600
        answer = await browser.send(code=setup.code())
        assert answer.status_code == 400
        assert heading_of(answer.text) == "Log in"

    async def test_an_earlier_session_stays_until_the_code_is_right(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in(email=BRUNO.email)
        bruno = browser.cookie
        await browser.log_in(return_to="/auth/account")
        assert browser.cookie == bruno
        await browser.follow()
        await browser.send(code=setup.code())
        assert browser.cookie != bruno
        assert await setup.sessions.find(bruno) is None


class TestASecondFactorThatIsDemanded:
    @pytest.fixture
    async def setup(self, tmp_path: Path) -> AsyncIterator[AuthSetup]:
        async with open_auth_setup(tmp_path, second_factor_required=True) as built:
            yield built

    async def test_is_set_up_after_the_password(self, browser: PageBrowser, setup: AuthSetup) -> None:
        answer = await browser.log_in(return_to=setup.authorize_path())
        assert urlsplit(answer.headers["location"]).path == "/auth/login/set-up"
        page = await browser.follow()
        secret = forms_of(page.text)[0].fields["secret"]
        assert "data:image/svg+xml" in page.text
        assert secret[:4] in page.text
        done = await browser.send(code=setup.code(secret))
        assert heading_of(done.text) == "Recovery codes"
        assert f'href="{html.escape(setup.authorize_path())}"' in done.text
        assert browser.cookie
        assert (await setup.user(ANNA)).totp_secret == secret

    async def test_a_wrong_code_keeps_the_key_that_was_scanned(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        page = await browser.follow()
        secret = forms_of(page.text)[0].fields["secret"]
        again = await browser.send(code="000000")
        assert again.status_code == 403
        assert forms_of(again.text)[0].fields["secret"] == secret

    async def test_a_key_of_ones_own_making_must_be_as_long(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.follow()
        answer = await browser.send(code=setup.code("JBSWY3DP"), secret="JBSWY3DP")
        assert answer.status_code == 400
        assert (await setup.user(ANNA)).totp_secret is None
