"""The modules of the OpenID conformance suite for the certification profile "Basic OP", each re-created under its name.

Where the suite only skips or warns, the test shows the actual behaviour, and Decision 0027 explains it.
"""

import json
import time
from dataclasses import dataclass

import jwt
import pytest

from support.certification import (
    CONSENT,
    LOGIN,
    SECOND,
    Browser,
    RelyingParty,
    challenge_of,
    check_oauth_error,
    check_token_response,
    is_error_page,
    question_of,
)
from support.gateway import Gateway

pytestmark = pytest.mark.slow


def test_oidcc_server(rp: RelyingParty, browser: Browser) -> None:
    """A code is exchanged with HTTP Basic; the tokens are valid, and userinfo is about the same person."""
    login = rp.log_in(browser)
    answer = rp.userinfo(login.access_token)
    assert answer.status_code == 200
    assert answer.json() == {"sub": login.claims["sub"]}
    assert login.claims.keys().isdisjoint({"name", "email"}), "nothing of a person that was not asked for"


def test_oidcc_response_type_missing(rp: RelyingParty, browser: Browser) -> None:
    asked = rp.request(response_type=None)
    back = rp.returned(browser.go("/auth/authorize", asked), asked)
    assert back["error"] == "invalid_request"
    assert "code" not in back
    assert browser.seen == []


def test_oidcc_idtoken_signature(rp: RelyingParty, browser: Browser) -> None:
    """Signed with an asymmetric key that is published under the kid of the header."""
    token = rp.log_in(browser).id_token
    header = jwt.get_unverified_header(token)
    published = {key["kid"]: key for key in rp.http.get("/auth/jwks").json()["keys"]}
    assert header["alg"] == published[header["kid"]]["alg"] == "RS256"
    assert "d" not in published[header["kid"]]


def test_oidcc_idtoken_unsigned(rp: RelyingParty, browser: Browser) -> None:
    """The suite skips it if it is not supported; no client can ask for it here (Decision 0027)."""
    assert "none" not in rp.metadata["id_token_signing_alg_values_supported"]
    assert "registration_endpoint" not in rp.metadata
    login = rp.log_in(browser, id_token_signed_response_alg="none")
    assert jwt.get_unverified_header(login.id_token)["alg"] == "RS256"


class TestUserinfo:
    def test_oidcc_userinfo_get(self, rp: RelyingParty, browser: Browser) -> None:
        login = rp.log_in(browser, scope="openid profile email")
        answer = rp.userinfo(login.access_token)
        assert answer.status_code == 200
        assert answer.headers["content-type"].split(";")[0] == "application/json"
        assert answer.json() == {
            "sub": login.claims["sub"],
            "name": "Anna Bianchi",
            "email": "anna@example.com",
            "email_verified": False,
        }

    def test_oidcc_userinfo_post_header(self, rp: RelyingParty, browser: Browser) -> None:
        login = rp.log_in(browser)
        answer = rp.http.post("/auth/userinfo", headers={"authorization": f"Bearer {login.access_token}"})
        assert answer.status_code == 200
        assert answer.json()["sub"] == login.claims["sub"]

    def test_oidcc_userinfo_post_body(self, rp: RelyingParty, browser: Browser) -> None:
        login = rp.log_in(browser)
        answer = rp.http.post("/auth/userinfo", data={"access_token": login.access_token})
        assert answer.status_code == 200
        assert answer.json()["sub"] == login.claims["sub"]


def test_oidcc_ensure_request_without_nonce_succeeds_for_code_flow(rp: RelyingParty, browser: Browser) -> None:
    assert "nonce" not in rp.log_in(browser, nonce=None).claims


class TestScopes:
    def test_oidcc_scope_profile(self, rp: RelyingParty, browser: Browser) -> None:
        """Of the profile claims, the name is stored, and the language if the person has chosen one. Anna has not chosen one."""
        login = rp.log_in(browser, scope="openid profile")
        assert login.tokens["scope"] == "openid profile"
        assert rp.userinfo(login.access_token).json() == {"sub": login.claims["sub"], "name": "Anna Bianchi"}

    def test_oidcc_scope_email(self, rp: RelyingParty, browser: Browser) -> None:
        login = rp.log_in(browser, scope="openid email")
        assert rp.userinfo(login.access_token).json() == {
            "sub": login.claims["sub"],
            "email": "anna@example.com",
            "email_verified": False,
        }

    def test_oidcc_scope_address(self, rp: RelyingParty, browser: Browser) -> None:
        """The suite skips it if it is not supported: no address is stored (Decision 0027)."""
        is_left_out("address", rp, browser)

    def test_oidcc_scope_phone(self, rp: RelyingParty, browser: Browser) -> None:
        """The suite skips it if it is not supported: no telephone number is stored (Decision 0027)."""
        is_left_out("phone", rp, browser)

    def test_oidcc_scope_all(self, rp: RelyingParty, browser: Browser) -> None:
        """The suite skips it unless all are supported. A client that asks for all gets the supported ones (Decision 0027)."""
        login = rp.log_in(browser, scope="openid profile email address phone")
        assert login.tokens["scope"] == "openid profile email"
        assert rp.userinfo(login.access_token).json().keys() == {"sub", "name", "email", "email_verified"}

    def test_oidcc_ensure_other_scope_order_succeeds(self, rp: RelyingParty, browser: Browser) -> None:
        login = rp.log_in(browser, scope="email openid")
        assert rp.userinfo(login.access_token).json() == {
            "sub": login.claims["sub"],
            "email": "anna@example.com",
            "email_verified": False,
        }

    def test_oidcc_alternate_happy_flow(self, rp: RelyingParty, browser: Browser) -> None:
        """The name of the previous module in newer suites, also with the parameters in another order."""
        asked = dict(reversed(rp.request(scope="email openid").items()))
        code = rp.returned(browser.go("/auth/authorize", asked), asked)["code"]
        tokens = check_token_response(rp.redeem(code))
        rp.check_id_token(tokens["id_token"], nonce=asked["nonce"], access_token=tokens["access_token"])


def is_left_out(scope: str, rp: RelyingParty, browser: Browser) -> None:
    assert scope not in rp.metadata["scopes_supported"]
    login = rp.log_in(browser, scope=f"openid {scope}")
    assert login.tokens["scope"] == "openid"
    assert rp.userinfo(login.access_token).json().keys() == {"sub"}


class TestPages:
    def test_oidcc_display_page(self, rp: RelyingParty, browser: Browser) -> None:
        rp.log_in(browser, display="page")
        assert browser.seen[0] == LOGIN

    def test_oidcc_display_popup(self, rp: RelyingParty, browser: Browser) -> None:
        rp.log_in(browser, display="popup")
        assert browser.seen[0] == LOGIN

    def test_oidcc_login_hint(self, rp: RelyingParty, browser: Browser) -> None:
        """The address is filled in already."""
        form = question_of(browser.open("/auth/authorize", rp.request(login_hint="bruno@example.com")))
        assert form is not None
        assert form.fields["email"] == "bruno@example.com"
        rp.log_in(browser, login_hint="bruno@example.com")

    def test_oidcc_ui_locales(self, rp: RelyingParty, browser: Browser) -> None:
        """The first supported language; others are ignored."""
        page = browser.open("/auth/authorize", rp.request(ui_locales="se it-IT de"))
        assert '<html lang="it"' in page.text
        page = browser.open("/auth/authorize", rp.request(ui_locales="se"))
        assert '<html lang="en"' in page.text
        rp.log_in(browser, ui_locales="se")

    def test_oidcc_claims_locales(self, rp: RelyingParty, browser: Browser) -> None:
        """A name is stored in one language only."""
        login = rp.log_in(browser, scope="openid profile", claims_locales="se")
        assert rp.userinfo(login.access_token).json()["name"] == "Anna Bianchi"


class TestWhoIsLoggedIn:
    def test_oidcc_prompt_login(self, rp: RelyingParty, browser: Browser) -> None:
        first = rp.log_in(browser)
        time.sleep(1.1)
        browser.seen.clear()
        second = rp.log_in(browser, prompt="login")
        assert browser.seen == [LOGIN]
        assert second.claims["sub"] == first.claims["sub"]
        assert second.claims["auth_time"] > first.claims["auth_time"]

    def test_oidcc_prompt_none_not_logged_in(self, rp: RelyingParty, browser: Browser) -> None:
        asked = rp.request(prompt="none")
        back = rp.returned(browser.go("/auth/authorize", asked), asked)
        assert back["error"] == "login_required"
        assert "code" not in back
        assert browser.seen == []

    def test_oidcc_prompt_none_logged_in(self, rp: RelyingParty, browser: Browser) -> None:
        first = rp.log_in(browser)
        browser.seen.clear()
        second = rp.log_in(browser, prompt="none")
        assert browser.seen == []
        assert second.claims["sub"] == first.claims["sub"]
        assert second.claims["auth_time"] == first.claims["auth_time"]

    def test_oidcc_max_age_1(self, rp: RelyingParty, browser: Browser) -> None:
        first = rp.log_in(browser)
        time.sleep(2.1)
        browser.seen.clear()
        second = rp.log_in(browser, max_age="1")
        assert browser.seen == [LOGIN]
        assert second.claims["sub"] == first.claims["sub"]
        assert second.claims["auth_time"] > first.claims["auth_time"]
        assert time.time() - second.claims["auth_time"] < 30

    def test_oidcc_max_age_10000(self, rp: RelyingParty, browser: Browser) -> None:
        first = rp.log_in(browser)
        browser.seen.clear()
        second = rp.log_in(browser, max_age="10000")
        assert browser.seen == []
        assert second.claims["auth_time"] == first.claims["auth_time"]

    def test_oidcc_id_token_hint(self, rp: RelyingParty, browser: Browser) -> None:
        first = rp.log_in(browser)
        second = rp.log_in(browser, prompt="none", id_token_hint=first.id_token)
        assert second.claims["sub"] == first.claims["sub"]


class TestOtherParameters:
    def test_oidcc_ensure_request_with_unknown_parameter_succeeds(self, rp: RelyingParty, browser: Browser) -> None:
        rp.log_in(browser, extra="foobar")

    def test_oidcc_ensure_request_with_acr_values_succeeds(self, rp: RelyingParty, browser: Browser) -> None:
        """The suite warns without `acr`: the gateway sends `amr`, but has no levels (Decision 0027)."""
        login = rp.log_in(browser, acr_values="1 2")
        assert "acr" not in login.claims
        assert "acr_values_supported" not in rp.metadata

    def test_oidcc_claims_essential(self, rp: RelyingParty, browser: Browser) -> None:
        """The suite warns without the claim: only scopes decide which claims are sent (Decision 0027)."""
        assert rp.metadata["claims_parameter_supported"] is False
        claims = json.dumps({"userinfo": {"name": {"essential": True}}})
        login = rp.log_in(browser, claims=claims)
        assert "name" not in rp.userinfo(login.access_token).json()
        asked_for = rp.log_in(browser, claims=claims, scope="openid profile")
        assert rp.userinfo(asked_for.access_token).json()["name"] == "Anna Bianchi"

    def test_oidcc_ensure_post_request_succeeds(self, rp: RelyingParty, browser: Browser) -> None:
        rp.log_in(browser, post=True)

    def test_oidcc_ensure_request_with_valid_pkce_succeeds(self, rp: RelyingParty, browser: Browser) -> None:
        code = rp.get_code(browser, code_challenge=challenge_of(rp.verifier), code_challenge_method="S256")
        check_token_response(rp.redeem(code, code_verifier=rp.verifier))


class TestRequestObjects:
    """The gateway does not support request objects, and its metadata says so. The suite accepts this (Decision 0027)."""

    def test_oidcc_unsigned_request_object_supported_correctly_or_rejected_as_unsupported(
        self, rp: RelyingParty, browser: Browser
    ) -> None:
        assert rp.metadata["request_parameter_supported"] is False
        asked = rp.request()
        answer = browser.go("/auth/authorize", {**asked, "request": unsigned(asked)})
        assert rp.returned(answer, asked)["error"] == "request_not_supported"

    def test_oidcc_request_uri_unsigned_supported_correctly_or_rejected_as_unsupported(
        self, rp: RelyingParty, browser: Browser
    ) -> None:
        assert rp.metadata["request_uri_parameter_supported"] is False
        asked = rp.request()
        answer = browser.go("/auth/authorize", {**asked, "request_uri": "https://rp.example/request.jwt"})
        assert rp.returned(answer, asked)["error"] == "request_uri_not_supported"

    def test_oidcc_ensure_request_object_with_redirect_uri(self, rp: RelyingParty, browser: Browser) -> None:
        """A redirect URI within the object is ignored."""
        asked = rp.request()
        answer = browser.go(
            "/auth/authorize", {**asked, "request": unsigned({**asked, "redirect_uri": "https://evil.example/"})}
        )
        assert rp.returned(answer, asked)["error"] == "request_not_supported"
        bad = {**asked, "redirect_uri": "https://evil.example/", "request": unsigned(asked)}
        assert is_error_page(browser.go("/auth/authorize", bad))


def unsigned(claims: dict[str, str]) -> str:
    return jwt.encode({**claims}, "", algorithm="none")


@dataclass
class RedeemedCode:
    """A redeemed code, the time, and the tokens."""

    code: str
    at: float
    access_token: str


@pytest.fixture(scope="module", autouse=True)
def redeemed_at_first(certified: Gateway) -> RedeemedCode:
    """Runs first, so that the other tests use most of the thirty seconds."""
    rp = RelyingParty(certified)
    code = rp.get_code(Browser(certified))
    tokens = check_token_response(rp.redeem(code))
    return RedeemedCode(code, time.monotonic(), tokens["access_token"])


class TestClients:
    def test_oidcc_ensure_registered_redirect_uri(self, rp: RelyingParty, browser: Browser) -> None:
        asked = rp.request(redirect_uri="https://rp.example/callback/not-registered")
        assert is_error_page(browser.go("/auth/authorize", asked))
        assert browser.seen == []

    def test_oidcc_server_client_secret_post(self, rp: RelyingParty, browser: Browser) -> None:
        login = rp.log_in(browser, by_post=True)
        assert rp.userinfo(login.access_token).json()["sub"] == login.claims["sub"]

    def test_oidcc_codereuse(self, rp: RelyingParty, browser: Browser) -> None:
        code = rp.get_code(browser)
        tokens = check_token_response(rp.redeem(code))
        check_oauth_error(rp.redeem(code), "invalid_grant")
        assert rp.userinfo(tokens["access_token"]).status_code == 401

    def test_oidcc_refresh_token(self, certified: Gateway, rp: RelyingParty, browser: Browser) -> None:
        """The new id token is about the same login; another client cannot use the refresh token."""
        login = rp.log_in(browser, scope="openid offline_access", prompt="consent")
        assert browser.seen == [LOGIN, CONSENT]
        check_oauth_error(RelyingParty(certified, SECOND).refresh(login.refresh_token), "invalid_grant")
        time.sleep(1.1)
        tokens = check_token_response(rp.refresh(login.refresh_token))
        assert tokens["refresh_token"] != login.refresh_token
        again = jwt.decode(tokens["id_token"], options={"verify_signature": False})
        nonce = again.get("nonce")
        claims = rp.check_id_token(tokens["id_token"], nonce=nonce, access_token=tokens["access_token"])
        assert nonce in (None, login.claims["nonce"])
        for name in ("iss", "sub", "aud", "auth_time"):
            assert claims[name] == login.claims[name]
        assert claims["iat"] > login.claims["iat"]
        assert "azp" not in claims
        assert rp.userinfo(tokens["access_token"]).json()["sub"] == login.claims["sub"]

    def test_oidcc_codereuse_30seconds(self, rp: RelyingParty, redeemed_at_first: RedeemedCode) -> None:
        """Codes have no grace: after half a minute a second use is refused too, and revokes the first tokens."""
        assert rp.userinfo(redeemed_at_first.access_token).status_code == 200
        time.sleep(max(0.0, redeemed_at_first.at + 30 - time.monotonic()))
        check_oauth_error(rp.redeem(redeemed_at_first.code), "invalid_grant")
        assert rp.userinfo(redeemed_at_first.access_token).status_code == 401
