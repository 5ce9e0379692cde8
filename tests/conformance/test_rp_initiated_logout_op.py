"""The modules of the OpenID conformance suite for the profile "RP-Initiated Logout OP", each re-created under its name."""

from urllib.parse import parse_qsl, urlsplit

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from support.certification import (
    CERTIFIED,
    LOGIN,
    LOGOUT,
    Browser,
    Login,
    RelyingParty,
    is_error_page,
    question_of,
)

pytestmark = pytest.mark.slow

BYE = CERTIFIED.bye[0]
STATE = "state-of-the-farewell"


@pytest.fixture
def login(rp: RelyingParty, browser: Browser) -> Login:
    found = rp.log_in(browser)
    browser.seen.clear()
    return found


def is_logged_in(rp: RelyingParty, browser: Browser) -> bool:
    """Checked as the suite does, with prompt=none."""
    asked = rp.request(prompt="none")
    back = rp.returned(browser.go("/auth/authorize", asked), asked)
    assert ("code" in back) is (back.get("error") != "login_required")
    return "code" in back


def asks_to_log_out(page: httpx.Response) -> bool:
    form = question_of(page)
    return page.status_code == 200 and form is not None and form.action == "/auth/logout"


def confirm(browser: Browser, page: httpx.Response, decision: str = "logout") -> httpx.Response:
    form = question_of(page)
    assert form is not None
    return browser.send(page, form, {"decision": decision})


def test_oidcc_rp_initiated_logout_discovery_endpoint_verification(rp: RelyingParty) -> None:
    assert rp.metadata["end_session_endpoint"] == f"{rp.metadata['issuer']}/logout"


class TestAGoodRequest:
    def test_oidcc_rp_initiated_logout(self, rp: RelyingParty, browser: Browser, login: Login) -> None:
        asked = {"id_token_hint": login.id_token, "post_logout_redirect_uri": BYE, "state": STATE}
        answer = browser.go("/auth/logout", asked)
        assert answer.status_code == 303
        assert answer.headers["location"] == f"{BYE}?state={STATE}"
        assert not is_logged_in(rp, browser)

    def test_it_may_be_a_post(self, rp: RelyingParty, browser: Browser, login: Login) -> None:
        asked = {"id_token_hint": login.id_token, "post_logout_redirect_uri": BYE, "state": STATE}
        answer = browser.go("/auth/logout", asked, post=True)
        assert answer.headers["location"] == f"{BYE}?state={STATE}"
        assert not is_logged_in(rp, browser)

    def test_oidcc_rp_initiated_logout_no_state(self, rp: RelyingParty, browser: Browser, login: Login) -> None:
        answer = browser.go("/auth/logout", {"id_token_hint": login.id_token, "post_logout_redirect_uri": BYE})
        assert answer.headers["location"] == BYE
        assert not is_logged_in(rp, browser)

    def test_oidcc_rp_initiated_logout_no_post_logout_redirect_uri(
        self, rp: RelyingParty, browser: Browser, login: Login
    ) -> None:
        page = browser.go("/auth/logout", {"id_token_hint": login.id_token, "state": STATE})
        assert page.status_code == 200
        assert question_of(page) is None
        assert not is_logged_in(rp, browser)

    def test_a_new_login_needs_the_password(self, rp: RelyingParty, browser: Browser, login: Login) -> None:
        browser.go("/auth/logout", {"id_token_hint": login.id_token})
        again = rp.log_in(browser)
        assert browser.seen[0] == LOGIN
        assert again.claims["sub"] == login.claims["sub"]


class TestWithoutAHint:
    """Another site can send a browser here: the person is asked first (RP-Initiated Logout 1.0 §2)."""

    def test_oidcc_rp_initiated_logout_no_params(self, rp: RelyingParty, browser: Browser, login: Login) -> None:
        page = browser.go("/auth/logout")
        assert asks_to_log_out(page)
        assert browser.seen == [LOGOUT]
        assert is_logged_in(rp, browser)
        assert confirm(browser, page).status_code == 200
        assert not is_logged_in(rp, browser)

    def test_oidcc_rp_initiated_logout_only_state(self, rp: RelyingParty, browser: Browser, login: Login) -> None:
        page = browser.go("/auth/logout", {"state": STATE})
        assert asks_to_log_out(page)
        done = confirm(browser, page)
        assert done.status_code == 200
        assert STATE not in done.text
        assert not is_logged_in(rp, browser)

    def test_a_person_who_chooses_to_stay_stays_logged_in(self, rp: RelyingParty, browser: Browser, login: Login) -> None:
        confirm(browser, browser.go("/auth/logout"), "stay")
        assert is_logged_in(rp, browser)

    def test_oidcc_rp_initiated_logout_no_id_token_hint(self, rp: RelyingParty, browser: Browser, login: Login) -> None:
        """The address belongs to no known client."""
        page = browser.go("/auth/logout", {"post_logout_redirect_uri": BYE, "state": STATE})
        assert is_error_page(page)
        assert is_logged_in(rp, browser)

    def test_with_the_client_id_alone_the_person_is_asked_and_then_sent_back(
        self, rp: RelyingParty, browser: Browser, login: Login
    ) -> None:
        page = browser.go("/auth/logout", {"client_id": CERTIFIED.id, "post_logout_redirect_uri": BYE, "state": STATE})
        assert asks_to_log_out(page)
        assert confirm(browser, page).headers["location"] == f"{BYE}?state={STATE}"
        assert not is_logged_in(rp, browser)


class TestABadRequest:
    """An error page without a redirect or a logout."""

    def test_oidcc_rp_initiated_logout_bad_post_logout_redirect_uri(
        self, rp: RelyingParty, browser: Browser, login: Login
    ) -> None:
        for bad in (f"{BYE}/other", "https://evil.example/", CERTIFIED.redirect_uris[0], BYE.upper()):
            refuses(rp, browser, id_token_hint=login.id_token, post_logout_redirect_uri=bad)

    def test_oidcc_rp_initiated_logout_query_added_to_post_logout_redirect_uri(
        self, rp: RelyingParty, browser: Browser, login: Login
    ) -> None:
        refuses(rp, browser, id_token_hint=login.id_token, post_logout_redirect_uri=f"{BYE}?foo=bar")

    def test_oidcc_rp_initiated_logout_modified_id_token_hint(self, rp: RelyingParty, browser: Browser, login: Login) -> None:
        head, claims, signature = login.id_token.split(".")
        changed = signature[:-8] + ("A" if signature[-8] != "A" else "B") + signature[-7:]
        refuses(rp, browser, id_token_hint=f"{head}.{claims}.{changed}", post_logout_redirect_uri=BYE)

    def test_oidcc_rp_initiated_logout_bad_id_token_hint(self, rp: RelyingParty, browser: Browser, login: Login) -> None:
        """A token signed with another key, and texts that are not tokens."""
        header = jwt.get_unverified_header(login.id_token)
        foreign = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        forged = jwt.encode(login.claims, foreign, algorithm="RS256", headers={"kid": header["kid"]})
        unsigned = jwt.encode(login.claims, "", algorithm="none", headers={"kid": header["kid"]})
        for bad in (forged, unsigned, login.access_token, "no.token.atall", "x" * 9000):
            refuses(rp, browser, id_token_hint=bad, post_logout_redirect_uri=BYE)


def refuses(rp: RelyingParty, browser: Browser, **asked: str) -> None:
    page = browser.go("/auth/logout", {**asked, "state": STATE})
    assert is_error_page(page), (asked, page.status_code, page.headers.get("location"))
    assert is_logged_in(rp, browser)


def test_a_state_with_anything_in_it_comes_back_as_it_was(rp: RelyingParty, browser: Browser, login: Login) -> None:
    state = "a b&c=d#e?f+\r\nX-Injected: yes é"
    asked = {"id_token_hint": login.id_token, "post_logout_redirect_uri": BYE, "state": state}
    answer = browser.go("/auth/logout", asked)
    assert dict(parse_qsl(urlsplit(answer.headers["location"]).query)) == {"state": state}
    assert "x-injected" not in answer.headers
