"""The modules of the OpenID conformance suite for "Implicit OP" that are about nonce, fragment and at_hash.

They run with the implicit flow enabled in the gateway and for the application. Decision 0026 describes the risks.
"""

from typing import Any

import jwt
import pytest

from support.certification import BROWSER_APP, Browser, RelyingParty
from support.gateway import Gateway

pytestmark = pytest.mark.slow

BOTH = pytest.mark.parametrize("response_type", ["id_token", "id_token token"])


@pytest.fixture
def page(certified: Gateway) -> RelyingParty:
    return RelyingParty(certified, BROWSER_APP)


def go(rp: RelyingParty, browser: Browser, response_type: str, **changed: str | None) -> tuple[dict[str, str], dict[str, str]]:
    """The request and the parameters in the fragment. The query is empty."""
    asked = rp.request(response_type=response_type, **changed)
    return asked, rp.returned(browser.go("/auth/authorize", asked), asked, "fragment")


class TestFragment:
    @BOTH
    def test_oidcc_server(self, page: RelyingParty, browser: Browser, response_type: str) -> None:
        """Tokens only in the fragment, which no server sees; no code and no refresh token."""
        asked, back = go(page, browser, response_type)
        page.check_id_token(back["id_token"], nonce=asked["nonce"], access_token=back.get("access_token"))
        assert ("access_token" in back) is (response_type == "id_token token")
        assert back.keys().isdisjoint({"code", "refresh_token"})

    def test_the_access_token_says_how_long_it_lives(self, page: RelyingParty, browser: Browser) -> None:
        _, back = go(page, browser, "id_token token")
        assert back["token_type"] == "Bearer"
        assert back["expires_in"] == "3600"

    @BOTH
    def test_the_order_of_the_response_types_does_not_matter(
        self, page: RelyingParty, browser: Browser, response_type: str
    ) -> None:
        _, back = go(page, browser, " ".join(reversed(response_type.split(" "))))
        assert "id_token" in back

    @BOTH
    def test_oidcc_idtoken_signature(self, page: RelyingParty, browser: Browser, response_type: str) -> None:
        _, back = go(page, browser, response_type)
        assert jwt.get_unverified_header(back["id_token"])["alg"] == "RS256"

    @BOTH
    def test_tokens_never_travel_in_a_query(self, page: RelyingParty, browser: Browser, response_type: str) -> None:
        _, back = go(page, browser, response_type, response_mode="query")
        assert back["error"] == "invalid_request"
        assert back.keys().isdisjoint({"id_token", "access_token"})

    @BOTH
    def test_oidcc_prompt_none_not_logged_in(self, page: RelyingParty, browser: Browser, response_type: str) -> None:
        """Errors are in the fragment too."""
        assert go(page, browser, response_type, prompt="none")[1]["error"] == "login_required"

    def test_oidcc_response_type_missing(self, page: RelyingParty, browser: Browser) -> None:
        asked = page.request(response_type=None)
        assert page.returned(browser.go("/auth/authorize", asked), asked)["error"] == "invalid_request"


class TestNonce:
    @BOTH
    def test_oidcc_ensure_request_without_nonce_fails(self, page: RelyingParty, browser: Browser, response_type: str) -> None:
        _, back = go(page, browser, response_type, nonce=None)
        assert back["error"] == "invalid_request"
        assert back.keys().isdisjoint({"id_token", "access_token"})
        assert browser.seen == []

    @BOTH
    def test_it_comes_back_as_it_was(self, page: RelyingParty, browser: Browser, response_type: str) -> None:
        nonce = "n-0S6_WzA2Mj é &=#"
        _, back = go(page, browser, response_type, nonce=nonce)
        page.check_id_token(back["id_token"], nonce=nonce, access_token=back.get("access_token"))


class TestAtHash:
    def test_it_vouches_for_the_access_token(self, page: RelyingParty, browser: Browser) -> None:
        """OpenID Connect Core §3.2.2.9; `go` and `check_id_token` compute it themselves."""
        asked, back = go(page, browser, "id_token token")
        claims = page.check_id_token(back["id_token"], nonce=asked["nonce"], access_token=back["access_token"])
        assert len(claims["at_hash"]) == 22

    def test_without_an_access_token_there_is_none(self, page: RelyingParty, browser: Browser) -> None:
        _, back = go(page, browser, "id_token")
        assert "at_hash" not in unverified(back["id_token"])


class TestUserinfo:
    """With the access token that came in the fragment."""

    def test_oidcc_userinfo_get(self, page: RelyingParty, browser: Browser) -> None:
        _, back = go(page, browser, "id_token token", scope="openid email")
        answer = page.userinfo(back["access_token"])
        assert answer.json() == {
            "sub": unverified(back["id_token"])["sub"],
            "email": "anna@example.com",
            "email_verified": False,
        }

    def test_oidcc_userinfo_post_header(self, page: RelyingParty, browser: Browser) -> None:
        _, back = go(page, browser, "id_token token")
        answer = page.http.post("/auth/userinfo", headers={"authorization": f"Bearer {back['access_token']}"})
        assert answer.json()["sub"] == unverified(back["id_token"])["sub"]

    def test_oidcc_userinfo_post_body(self, page: RelyingParty, browser: Browser) -> None:
        _, back = go(page, browser, "id_token token")
        answer = page.http.post("/auth/userinfo", data={"access_token": back["access_token"]})
        assert answer.json()["sub"] == unverified(back["id_token"])["sub"]


def unverified(token: str) -> dict[str, Any]:
    claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    return claims
