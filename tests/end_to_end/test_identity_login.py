"""Logins, redirects and accounts over the real server: refusals, and the repair of an account in bad standing."""

from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import psutil
import pytest

from support.certification import (
    ANNA,
    BROWSER_APP,
    STRICT,
    Browser,
    RelyingParty,
    check_token_response,
    is_error_page,
    password_of,
)
from support.forms import forms_of
from support.gateway import Gateway
from support.http import expect_ok, expect_refusal, host_of, raw_exchange, request_bytes
from support.spec_operations import E9, E12, E14, Target

pytestmark = pytest.mark.slow

CALLBACK = STRICT.redirect_uris[0]


class TestRedirectUris:
    @pytest.mark.parametrize(
        "redirect_uri",
        [
            f"{CALLBACK}/more",
            CALLBACK.removesuffix("k"),
            f"{CALLBACK}/",
            f"{CALLBACK}?extra=1",
            f"{CALLBACK}#fragment",
            f"{CALLBACK}#",
            "https://strict.example:444/callback",
            "https://strict.example:443/callback",
            "https://strict.example:8443/callback",
            "http://strict.example/callback",
            "https://STRICT.example/callback",
            "https://strict.example/Callback",
            "https://strict.example/%63allback",
            "https://strict.example/a/../callback",
            "https://user@strict.example/callback",
            "https://strict.example.evil.example/callback",
            "https://strict.example@evil.example/callback",
            "https://strict.example/other?kept=1&more=2",
            "https://strict.example/other",
            "//strict.example/callback",
            "/callback",
            "javascript:alert(1)",
            " https://strict.example/callback",
            "https://strict.example/callback ",
            "https://strict.example/callback\r\nX-Injected: yes",
            "https://strict.example/callback\x00",
            "https://strict.example/cällback",
            BROWSER_APP.redirect_uris[0],
        ],
    )
    def test_any_but_a_registered_one_is_an_error_page_and_no_redirect(
        self, rp: RelyingParty, browser: Browser, redirect_uri: str
    ) -> None:
        answer = browser.go("/auth/authorize", rp.request(redirect_uri=redirect_uri))
        assert is_error_page(answer), f"{answer.status_code} {answer.headers.get('location')}"
        assert browser.seen == []

    def test_two_of_them_are_an_error_page(self, rp: RelyingParty, browser: Browser) -> None:
        query = urlencode([*rp.request().items(), ("redirect_uri", CALLBACK)])
        assert is_error_page(browser.open(f"/auth/authorize?{query}"))

    def test_an_unknown_application_is_an_error_page(self, rp: RelyingParty, browser: Browser) -> None:
        for client_id in ("nobody", "", "STRICT", "strict ", "<script>alert(1)</script>"):
            answer = browser.open("/auth/authorize", rp.request(client_id=client_id))
            assert is_error_page(answer)
            assert "<script" not in answer.text

    @pytest.mark.parametrize("redirect_uri", STRICT.redirect_uris)
    def test_each_registered_one_is_gone_back_to(self, rp: RelyingParty, browser: Browser, redirect_uri: str) -> None:
        asked = rp.request(redirect_uri=redirect_uri)
        answer = browser.go("/auth/authorize", asked)
        target = urlsplit(answer.headers["location"])
        assert answer.headers["location"].startswith(redirect_uri)
        assert "code" in dict(parse_qsl(target.query))


class TestLineEnds:
    """No line break in a parameter may split a header."""

    INJECTED = "x\r\nSet-Cookie: stolen=1\r\n\r\n<html>"

    def test_in_the_state(self, rp: RelyingParty, browser: Browser) -> None:
        asked = rp.request(state=self.INJECTED)
        answer = browser.go("/auth/authorize", asked)
        assert rp.returned(answer, asked)["state"] == self.INJECTED
        assert "stolen" not in answer.headers.get("set-cookie", "")

    def test_in_the_state_of_a_refusal(self, rp: RelyingParty, browser: Browser) -> None:
        asked = rp.request(state=self.INJECTED, response_type=None)
        answer = browser.go("/auth/authorize", asked)
        assert rp.returned(answer, asked)["error"] == "invalid_request"
        assert "set-cookie" not in answer.headers

    @pytest.mark.parametrize(
        "name", ["login_hint", "ui_locales", "nonce", "scope", "prompt", "extra", "client_id", "redirect_uri"]
    )
    def test_in_any_parameter_on_the_wire(self, identity: Gateway, rp: RelyingParty, name: str) -> None:
        """Read from the socket, because a client library could hide the problem."""
        query = urlencode({**rp.request(), name: f"openid{self.INJECTED}"})
        head = [("Host", host_of(identity.base_url)), ("Connection", "close")]
        answer = raw_exchange(identity.base_url, request_bytes("GET", f"/auth/authorize?{query}", head))
        assert answer.status_code in (303, 400)
        assert all("stolen" not in value for value in answer.headers.get_all("set-cookie", []))
        assert "\r" not in str(answer.headers.get("location", ""))
        assert "\n" not in str(answer.headers.get("location", ""))

    @pytest.mark.parametrize(
        "text", ["/auth/account\r\nX-Injected: 1", "//evil.example/", "https://evil.example/", "/auth/../x"]
    )
    def test_in_where_the_login_returns_to(self, identity: Gateway, text: str) -> None:
        """Also no other site."""
        browser = Browser(identity)
        answer = browser.go("/auth/login", {"return_to": text})
        assert answer.url.path == "/auth/account"
        assert "x-injected" not in answer.headers


def attempt(gateway: Gateway, email: str, password: str) -> httpx.Response:
    """Log in on the page with a new browser. Returns the response."""
    browser = Browser(gateway, email, password)
    page = browser.open("/auth/login")
    (form,) = forms_of(page.text)
    return browser.http.post(form.action, data={**form.fields, "email": email, "password": password})


def work_of(gateway: Gateway, emails: Iterable[str]) -> float:
    """The CPU time of the gateway for one attempt per e-mail, which an attacker could measure."""
    process = psutil.Process(gateway.process.pid)
    before = process.cpu_times()
    for email in emails:
        assert attempt(gateway, email, "wrong password").status_code == 403
    after = process.cpu_times()
    return float(after.user + after.system - before.user - before.system)


def without_what_was_sent(answer: httpx.Response, email: str) -> str:
    """The page without the form token, the request id and the typed e-mail."""
    (form,) = forms_of(answer.text)
    text = answer.text.replace(form.fields["csrf"], "").replace(email, "")
    return text.replace(answer.headers["x-request-id"], "")


class TestGuessing:
    def test_an_unknown_user_and_a_wrong_password_get_the_same_answer(self, identity: Gateway) -> None:
        unknown = attempt(identity, "nobody-at-all@example.com", "wrong password")
        wrong = attempt(identity, "fabio@example.com", "wrong password")
        not_active = attempt(identity, "carla@example.com", "wrong password")
        assert unknown.status_code == wrong.status_code == not_active.status_code == 403
        pages = {
            without_what_was_sent(unknown, "nobody-at-all@example.com"),
            without_what_was_sent(wrong, "fabio@example.com"),
            without_what_was_sent(not_active, "carla@example.com"),
        }
        assert len(pages) == 1
        differing = {"date", "x-request-id", "content-length"}
        heads = [{name: it.headers[name] for name in it.headers if name not in differing} for it in (unknown, wrong)]
        assert heads[0] == heads[1]
        assert "domogate_session" not in str(wrong.headers)

    def test_they_take_the_same_work(self, identity: Gateway) -> None:
        """A password is hashed in both cases. Otherwise an unknown user would take a fifth of the time."""
        known = work_of(identity, ["dario@example.com"] * 4)
        unknown = work_of(identity, [f"nobody-{number}@example.com" for number in range(4)])
        assert unknown > known / 3

    def test_after_several_the_next_has_to_wait_whether_there_is_such_a_user_or_not(self, identity: Gateway) -> None:
        for email in ("elena@example.com", "nobody-waits@example.com"):
            for _ in range(5):
                assert attempt(identity, email, "a guess").status_code == 403
            # An attempt after the wait counts, and doubles the wait. On a slow machine this may be the sixth.
            later = (attempt(identity, email, "a guess") for _ in range(7))
            slowed = next(answer for answer in later if answer.status_code == 429)
            assert int(slowed.headers["retry-after"]) >= 1
            assert "domogate_session" not in str(slowed.headers)

    def test_others_are_not_slowed_down_by_it(self, identity: Gateway) -> None:
        for number in range(8):
            attempt(identity, "nobody-else@example.com", f"guess number {number}")
        Browser(identity, ANNA).log_in()

    @pytest.mark.parametrize("missing", ["csrf", "email", "password"])
    def test_a_form_that_is_not_ours_logs_nobody_in(self, identity: Gateway, missing: str) -> None:
        browser = Browser(identity, ANNA)
        (form,) = forms_of(browser.open("/auth/login").text)
        fields = {**form.fields, "email": ANNA, "password": password_of(identity, ANNA)}
        del fields[missing]
        answer = browser.http.post(form.action, data=fields)
        assert answer.status_code == 400
        assert "domogate_session" not in browser.http.cookies


class TestStanding:
    """The person repairs 469 and 470 on the account page, and the next call returns 200."""

    SCOPES = "openid topology.read comfort.read"

    def expect(self, gateway: Gateway, id_token: str, *statuses: int) -> None:
        plant = gateway.estate.find_plants(lambda it: "gina@example.com" in it.people)[0]
        thermostat: Target = {"plant": plant.id, "module": plant.modules("chronothermostat")[0]["id"]}
        for operation, target in ((E9, {"plant": plant.id}), (E12, thermostat), (E14, {})):
            answer = gateway.api.send(operation, target, token=id_token)
            if statuses == (200,):
                expect_ok(operation, answer)
            else:
                expect_refusal(operation, answer, *statuses)

    def renew_password(self, browser: Browser, new: str) -> None:
        page = browser.go("/auth/account/password")
        form = next(form for form in forms_of(page.text) if form.action == "/auth/account/password")
        done = browser.send(page, form, {"current": browser.password, "password": new, "repeated": new})
        assert done.url.path == "/auth/account", done.text
        browser.password = new

    def accept_terms(self, browser: Browser) -> None:
        page = browser.go("/auth/account/terms")
        assert "The homes, people and devices are invented." in page.text
        form = next(form for form in forms_of(page.text) if form.action == "/auth/account/terms")
        done = browser.send(page, form, {"accept": "yes"})
        assert done.url.path == "/auth/account"
        assert "Read and accept" not in done.text

    def test_469_then_the_password_is_renewed(self, identity: Gateway, rp: RelyingParty) -> None:
        browser = Browser(identity, "gina@example.com")
        login = rp.log_in(browser, scope=self.SCOPES)
        self.expect(identity, login.id_token, 469)
        self.renew_password(browser, "gina renewed it at last")
        self.expect(identity, rp.log_in(browser, scope=self.SCOPES).id_token, 200)

    def test_470_then_the_terms_are_accepted(self, identity: Gateway, rp: RelyingParty) -> None:
        browser = Browser(identity, "hugo@example.com")
        login = rp.log_in(browser, scope=self.SCOPES)
        self.expect(identity, login.id_token, 470)
        self.accept_terms(browser)
        self.expect(identity, login.id_token, 200)

    def test_both_then_one_after_the_other(self, identity: Gateway, rp: RelyingParty) -> None:
        browser = Browser(identity, "ines@example.com")
        login = rp.log_in(browser, scope=self.SCOPES)
        self.expect(identity, login.id_token, 469)
        self.renew_password(browser, "ines renewed hers as well")
        refreshed = check_token_response(rp.refresh(login.refresh_token))
        self.expect(identity, refreshed["id_token"], 470)
        self.accept_terms(browser)
        self.expect(identity, refreshed["id_token"], 200)
