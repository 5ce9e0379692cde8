"""The built-in client of the gateway's own pages, over HTTP (Decision 0076)."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from domogate.domain.people import PAGES_CLIENT
from support.forms import the_form
from support.gateway import Gateway, eventually, running, start
from support.http import client
from support.pkce import challenge_of
from support.spec_operations import E6

pytestmark = pytest.mark.slow

ANNA = "anna@example.com"
VERIFIER = "a-verifier-of-at-least-43-characters-0123456789"
EVERYTHING = "openid profile email offline_access home.use light.read topology.read gateway.manage"


class PagesBrowser:
    """A browser with the login cookie, and the requests that the pages send."""

    def __init__(self, gateway: Gateway, web: httpx.Client) -> None:
        self.gateway = gateway
        self.web = web

    def log_in(self, email: str = ANNA) -> None:
        form = the_form(self.web.get("/auth/login").text, "/auth/login")
        fields = {**form.fields, "email": email, "password": self.gateway.people[email].password}
        assert self.web.post("/auth/login", data=fields).status_code == 303

    def authorize(self, **changed: str) -> dict[str, str]:
        """The parameters of the redirect to the pages."""
        request = {
            "client_id": PAGES_CLIENT,
            "response_type": "code",
            "redirect_uri": f"{self.gateway.base_url}/signed-in",
            "scope": EVERYTHING,
            "state": "a-state",
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
            "prompt": "none",
            **changed,
        }
        answer = self.web.get("/auth/authorize", params=request)
        assert answer.status_code == 303, answer.text
        target = urlsplit(answer.headers["location"])
        assert target.path == "/signed-in"
        return {name: values[0] for name, values in parse_qs(target.query).items()}

    def get_tokens(self) -> dict[str, Any]:
        form = {"grant_type": "authorization_code", "code": self.authorize()["code"], "code_verifier": VERIFIER}
        return self._ask(**form, redirect_uri=f"{self.gateway.base_url}/signed-in")

    def refresh(self, tokens: dict[str, Any]) -> httpx.Response:
        form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": PAGES_CLIENT}
        return self.web.post("/auth/token", data=form)

    def _ask(self, **form: str) -> dict[str, Any]:
        answer = self.web.post("/auth/token", data={**form, "client_id": PAGES_CLIENT})
        assert answer.status_code == 200, answer.text
        tokens: dict[str, Any] = answer.json()
        return tokens

    def listen(self, token: str, **headers: str) -> int:
        """The status of the event stream."""
        sent = {"authorization": f"Bearer {token}", **headers}
        with self.web.stream("GET", "/events", headers=sent) as stream:
            return stream.status_code


@contextmanager
def browser_of(gateway: Gateway) -> Iterator[PagesBrowser]:
    with client(gateway.base_url) as web:
        yield PagesBrowser(gateway, web)


@pytest.fixture
def pages(demo: Gateway) -> Iterator[PagesBrowser]:
    with browser_of(demo) as browser:
        browser.log_in()
        yield browser


class TestLogin:
    def test_it_needs_a_login(self, demo: Gateway) -> None:
        with browser_of(demo) as browser:
            assert browser.authorize()["error"] == "login_required"

    def test_it_asks_for_no_consent_and_gets_what_the_person_may_have(self, pages: PagesBrowser) -> None:
        tokens = pages.get_tokens()
        assert {"home.use", "offline_access", "light.read"} <= set(tokens["scope"].split())
        assert "gateway.manage" not in tokens["scope"].split(), "Anna is not an operator"
        assert "refresh_token" in tokens

    @pytest.mark.parametrize("uri", ["http://127.0.0.1:1/signed-in", "{base}/signed-in/", "{base}/", "https://evil.example/"])
    def test_it_has_one_redirect_uri(self, pages: PagesBrowser, uri: str) -> None:
        redirect_uri = uri.format(base=pages.gateway.base_url)
        answer = pages.web.get("/auth/authorize", params={"client_id": PAGES_CLIENT, "redirect_uri": redirect_uri})
        assert (answer.status_code, "location" in answer.headers) == (400, False)

    def test_it_is_not_an_application_of_the_person(self, pages: PagesBrowser) -> None:
        pages.get_tokens()
        assert PAGES_CLIENT not in pages.web.get("/auth/account").text


class TestCalls:
    def test_our_own_surfaces_need_no_key(self, pages: PagesBrowser) -> None:
        token = pages.get_tokens()["access_token"]
        assert pages.listen(token) == 200
        assert pages.web.get("/webhooks", headers={"authorization": f"Bearer {token}"}).status_code == 200

    def test_a_wrong_key_is_refused_all_the_same(self, pages: PagesBrowser) -> None:
        token = pages.get_tokens()["access_token"]
        assert pages.listen(token, **{"ocp-apim-subscription-key": "wrong"}) == 401

    def test_other_clients_need_a_key(self, pages: PagesBrowser) -> None:
        assert pages.listen(pages.gateway.people[ANNA].access_token) == 401

    def test_the_families_need_a_key(self, pages: PagesBrowser) -> None:
        token = pages.get_tokens()["access_token"]
        assert pages.gateway.send(E6, token=token, key=None).status_code == 401
        assert pages.gateway.send(E6, token=token).status_code == 200


class TestAudit:
    def test_a_login_is_recorded_once_however_often_pages_are_opened(self, pages: PagesBrowser) -> None:
        def entries() -> list[dict[str, Any]]:
            records = json.loads(pages.gateway.domogate("audit", "list", "--limit", "100000", "--json"))
            return [record["entry"] for record in records]

        def count(action: str) -> int:
            return sum(entry["action"] == action for entry in entries())

        before = count("logout")
        tokens = [pages.get_tokens() for _ in range(2)]
        for one in tokens:
            form = {"token": one["refresh_token"], "client_id": PAGES_CLIENT}
            assert pages.web.post("/auth/revoke", data=form).status_code == 200
        pages.web.get("/auth/logout", params={"id_token_hint": tokens[0]["id_token"]})
        eventually(lambda: count("logout") > before, "the logout in the audit log")
        noted = entries()
        assert "password" in [entry["what"] for entry in noted if entry["action"] == "login"]
        of_pages = [entry["action"] for entry in noted if PAGES_CLIENT in entry["what"] + entry["who"]]
        assert "grant" not in of_pages
        assert "revocation" not in of_pages


class TestTheEnd:
    def test_logging_out_ends_the_tokens_at_once(self, pages: PagesBrowser) -> None:
        tokens = pages.get_tokens()
        pages.web.get("/auth/logout", params={"id_token_hint": tokens["id_token"]})
        assert pages.listen(tokens["access_token"]) == 401
        assert pages.refresh(tokens).status_code == 400

    def test_a_login_in_another_browser_is_not_affected(self, pages: PagesBrowser, demo: Gateway) -> None:
        tokens = pages.get_tokens()
        with browser_of(demo) as other:
            other.log_in()
            others = other.get_tokens()
            other.web.get("/auth/logout", params={"id_token_hint": others["id_token"]})
            assert other.listen(others["access_token"]) == 401
        assert pages.listen(tokens["access_token"]) == 200
        assert pages.refresh(tokens).status_code == 200

    def test_a_page_that_closes_revokes_its_grant(self, pages: PagesBrowser) -> None:
        tokens = pages.get_tokens()
        form = {"client_id": PAGES_CLIENT, "token": tokens["refresh_token"]}
        assert pages.web.post("/auth/revoke", data=form).status_code == 200
        assert pages.listen(tokens["access_token"]) == 401


class TestItsRegistration:
    def test_it_is_not_listed_or_exported(self, demo: Gateway) -> None:
        assert PAGES_CLIENT not in demo.domogate("client", "list")
        assert PAGES_CLIENT not in demo.domogate("estate", "export")

    def test_it_is_gone_where_the_pages_are_switched_off(self, tmp_path: Path) -> None:
        with running(start("demo", tmp_path)) as gateway, browser_of(gateway) as browser:
            browser.log_in()
            token = browser.get_tokens()["access_token"]
            assert browser.web.get("/").status_code in (200, 503)
            assert browser.listen(token) == 200
        with running(start("demo", tmp_path, {"DOMOGATE_CONSOLE": "false"})) as gateway, browser_of(gateway) as browser:
            assert browser.web.get("/").json()["statusCode"] == 404
            assert browser.web.get("/homes").status_code == 404
            assert browser.listen(token) == 401
            answer = browser.web.get("/auth/authorize", params={"client_id": PAGES_CLIENT})
            assert "no application" in answer.text
