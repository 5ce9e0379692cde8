"""Refused codes, refresh tokens and grants over the real server, and the effect on their tokens."""

import time
from typing import Any

import pytest

from support.certification import (
    BROWSER_APP,
    BRUNO,
    GRACE,
    SECOND,
    STRICT,
    Browser,
    Operator,
    RelyingParty,
    challenge_of,
    check_oauth_error,
    check_token_response,
)
from support.gateway import Gateway
from support.http import expect_ok, expect_refusal
from support.spec_operations import E3, E6, E7, E8, E9, E16, Operation, Target

pytestmark = pytest.mark.slow

HOME = "openid topology.read light.read plug.read"


def call(gateway: Gateway, tokens: dict[str, Any], operation: Operation = E6, target: Target | None = None) -> Any:
    """The status of a family that takes the id token or the access token."""
    token = tokens["access_token" if operation.token == "access" else "id_token"]
    return gateway.api.send(operation, target, token=token)


def lives(gateway: Gateway, tokens: dict[str, Any]) -> bool:
    """Whether both tokens are accepted. They are valid or invalid together."""
    plant = {"plant": gateway.estate.find_plants(lambda it: it.owner == "anna@example.com")[0].id}
    answers = [call(gateway, tokens), call(gateway, tokens, E3, plant)]
    if all(answer.status_code == 200 for answer in answers):
        return True
    expect_refusal(E6, answers[0], 401)
    expect_refusal(E3, answers[1], 401)
    return False


class TestCodes:
    def test_one_used_twice_is_400_and_the_grant_s_tokens_are_revoked(
        self, identity: Gateway, rp: RelyingParty, browser: Browser
    ) -> None:
        code = rp.get_code(browser, scope=HOME)
        tokens = check_token_response(rp.redeem(code))
        other = rp.log_in(browser, scope=HOME)
        assert lives(identity, tokens)
        check_oauth_error(rp.redeem(code), "invalid_grant")
        assert not lives(identity, tokens)
        check_oauth_error(rp.refresh(tokens["refresh_token"]), "invalid_grant")
        assert lives(identity, other.tokens), "another grant of the same person and application goes on"

    def test_one_of_another_client_is_400_and_of_no_use_any_more(
        self, identity: Gateway, rp: RelyingParty, browser: Browser
    ) -> None:
        code = rp.get_code(browser)
        thief = RelyingParty(identity, SECOND)
        check_oauth_error(thief.redeem(code, redirect_uri=STRICT.redirect_uris[0]), "invalid_grant")
        check_oauth_error(rp.redeem(code), "invalid_grant")

    def test_one_that_never_was_is_400(self, rp: RelyingParty) -> None:
        for code in ("", "x", "a" * 43, "%00", "\N{SNOWMAN}"):
            assert rp.redeem(code).status_code == 400

    @pytest.mark.parametrize(
        "redirect_uri", ["https://strict.example/other?kept=1", "https://strict.example/callback/", "https://evil.example/"]
    )
    def test_another_redirect_uri_than_that_of_the_request_is_400(
        self, rp: RelyingParty, browser: Browser, redirect_uri: str
    ) -> None:
        check_oauth_error(rp.redeem(rp.get_code(browser), redirect_uri=redirect_uri), "invalid_grant")


class TestProofKeys:
    @pytest.mark.parametrize("verifier", [None, "w" * 43, "too-short", "with spaces " * 8, "x" * 129])
    def test_a_verifier_that_is_missing_or_wrong_is_400(self, rp: RelyingParty, browser: Browser, verifier: str | None) -> None:
        check_oauth_error(rp.redeem(rp.get_code(browser), code_verifier=verifier), "invalid_grant")

    def test_the_challenge_itself_is_no_verifier(self, rp: RelyingParty, browser: Browser) -> None:
        check_oauth_error(rp.redeem(rp.get_code(browser), code_verifier=challenge_of(rp.verifier)), "invalid_grant")

    def test_a_verifier_that_was_not_asked_for_is_400(self, identity: Gateway, browser: Browser) -> None:
        classic = RelyingParty(identity, SECOND)
        check_oauth_error(classic.redeem(classic.get_code(browser), code_verifier=classic.verifier), "invalid_grant")

    @pytest.mark.parametrize("method", ["plain", "s256", "S512", None])
    def test_any_method_but_s256_is_refused_before_anybody_logs_in(
        self, rp: RelyingParty, browser: Browser, method: str | None
    ) -> None:
        asked = rp.request(code_challenge_method=method)
        back = rp.returned(browser.go("/auth/authorize", asked), asked)
        assert back["error"] == "invalid_request"
        assert browser.seen == []

    @pytest.mark.parametrize("challenge", [None, "short", "+" * 43, "a" * 44])
    def test_no_challenge_or_what_is_none_is_refused(self, rp: RelyingParty, browser: Browser, challenge: str | None) -> None:
        asked = rp.request(code_challenge=challenge)
        assert rp.returned(browser.go("/auth/authorize", asked), asked)["error"] == "invalid_request"

    def test_an_application_without_a_secret_cannot_do_without(self, identity: Gateway, browser: Browser) -> None:
        page = RelyingParty(identity, BROWSER_APP)
        asked = page.request(code_challenge=None, code_challenge_method=None)
        assert page.returned(browser.go("/auth/authorize", asked), asked)["error"] == "invalid_request"


class TestRefreshing:
    def test_again_within_the_grace_gives_the_same_successor_and_later_ends_the_family(
        self, identity: Gateway, rp: RelyingParty, browser: Browser
    ) -> None:
        first = rp.log_in(browser, scope=HOME)
        bystander = rp.log_in(browser, scope=HOME)
        second = check_token_response(rp.refresh(first.refresh_token))
        repeated = check_token_response(rp.refresh(first.refresh_token))
        assert repeated["refresh_token"] == second["refresh_token"]
        assert lives(identity, repeated)
        time.sleep(GRACE + 0.1)
        check_oauth_error(rp.refresh(first.refresh_token), "invalid_grant")
        assert not lives(identity, second)
        assert not lives(identity, first.tokens)
        check_oauth_error(rp.refresh(second["refresh_token"]), "invalid_grant")
        assert lives(identity, bystander.tokens)
        check_token_response(rp.refresh(bystander.refresh_token))

    def test_after_the_successor_was_used_there_is_no_grace_any_more(
        self, identity: Gateway, rp: RelyingParty, browser: Browser
    ) -> None:
        first = rp.log_in(browser, scope=HOME)
        second = check_token_response(rp.refresh(first.refresh_token))
        third = check_token_response(rp.refresh(second["refresh_token"]))
        check_oauth_error(rp.refresh(first.refresh_token), "invalid_grant")
        assert not lives(identity, third)

    def test_by_another_client_is_400_and_changes_nothing(self, identity: Gateway, rp: RelyingParty, browser: Browser) -> None:
        login = rp.log_in(browser, scope=HOME)
        check_oauth_error(RelyingParty(identity, SECOND).refresh(login.refresh_token), "invalid_grant")
        assert lives(identity, login.tokens)
        check_token_response(rp.refresh(login.refresh_token))

    def test_widened_scope_is_400_and_changes_nothing(self, identity: Gateway, rp: RelyingParty, browser: Browser) -> None:
        login = rp.log_in(browser, scope="openid topology.read")
        for scope in ("openid topology.read plug.write", "plug.write", "gateway.manage", "TOPOLOGY.READ", "topology.readx"):
            check_oauth_error(rp.refresh(login.refresh_token, scope=scope), "invalid_scope")
        narrowed = check_token_response(rp.refresh(login.refresh_token, scope="openid"))
        assert narrowed["scope"] == "openid"
        expect_refusal(E6, call(identity, narrowed), 401)
        whole = check_token_response(rp.refresh(narrowed["refresh_token"]))
        assert whole["scope"] == "openid topology.read"

    def test_anything_else_sent_as_refresh_token_is_400(self, rp: RelyingParty, browser: Browser) -> None:
        login = rp.log_in(browser)
        for other in (login.access_token, login.id_token, "x", "a.b.c", login.refresh_token[:-1], "\N{SNOWMAN}"):
            check_oauth_error(rp.refresh(other, by_post=True), "invalid_grant")
        check_token_response(rp.refresh(login.refresh_token, by_post=True))

    def test_a_refresh_token_opens_nothing(self, identity: Gateway, rp: RelyingParty, browser: Browser) -> None:
        login = rp.log_in(browser, scope=HOME)
        tokens = {"access_token": login.refresh_token, "id_token": login.refresh_token}
        assert not lives(identity, tokens)
        assert rp.userinfo(login.refresh_token).status_code == 401


class TestImplicit:
    def test_an_application_that_is_not_enabled_for_it_gets_no_token(self, rp: RelyingParty, browser: Browser) -> None:
        for response_type in ("id_token", "id_token token"):
            asked = rp.request(response_type=response_type)
            back = rp.returned(browser.go("/auth/authorize", asked), asked, "fragment")
            assert back["error"] == "unauthorized_client"
            assert back.keys().isdisjoint({"id_token", "access_token"})
        assert browser.seen == []

    def test_its_access_token_does_not_open_home_control(self, identity: Gateway, browser: Browser) -> None:
        """Spec 5: authorization code only. Its id token is accepted by the families that take one."""
        page = RelyingParty(identity, BROWSER_APP)
        asked = page.request(response_type="id_token token", scope=HOME)
        tokens: dict[str, Any] = page.returned(browser.go("/auth/authorize", asked), asked, "fragment")
        plant = {"plant": identity.estate.find_plants(lambda it: it.owner == "anna@example.com")[0].id}
        expect_refusal(E3, call(identity, tokens, E3, plant), 401)
        expect_ok(E6, call(identity, tokens))

    def test_where_the_gateway_has_it_off_nobody_gets_a_token(self, demo: Gateway) -> None:
        """demo-app is registered for it, but the demo has it disabled."""
        asked = {
            "response_type": "id_token token",
            "client_id": "demo-app",
            "redirect_uri": "http://127.0.0.1:8090/callback",
            "scope": "openid",
            "nonce": "n",
        }
        answer = Browser(demo).go("/auth/authorize", asked)
        assert answer.status_code == 303
        assert "error=unsupported_response_type" in answer.headers["location"]
        assert "token=" not in answer.headers["location"]


class TestRightsThatEnd:
    def test_a_revoked_grant_is_401_from_the_next_call(self, identity: Gateway, rp: RelyingParty, browser: Browser) -> None:
        login = rp.log_in(browser, scope=HOME)
        assert lives(identity, login.tokens)
        assert rp.revoke(login.refresh_token).status_code == 200
        assert not lives(identity, login.tokens)

    def test_a_deleted_user_is_401_from_the_next_call(self, identity: Gateway, rp: RelyingParty, operator: Operator) -> None:
        email = f"short-lived-{time.time_ns()}@example.com"
        created = operator.send("POST", "/users", {"email": email, "name": "Brief", "showLink": True})
        password = "a password for a short while"
        browser = Browser(identity, email, password)
        operator.follow_link(created["link"]["url"], password)
        login = rp.log_in(browser, scope=HOME)
        assert call(identity, login.tokens).status_code == 204
        operator.send("DELETE", f"/users/{created['user']['id']}")
        expect_refusal(E6, call(identity, login.tokens), 401)
        assert rp.userinfo(login.access_token).status_code == 401
        check_oauth_error(rp.refresh(login.refresh_token), "invalid_grant")
        assert rp.authorize(browser).url.path == "/auth/login"
        assert browser.go("/auth/login").status_code == 403

    def test_a_right_that_is_withdrawn_is_refused_on_the_next_call(
        self, identity: Gateway, rp: RelyingParty, operator: Operator
    ) -> None:
        login = rp.log_in(Browser(identity, BRUNO), scope=HOME)
        plant = identity.estate.find_plants(lambda it: BRUNO in it.people and it.owner != BRUNO)[0]
        who = login.claims["sub"]
        target: Target = {"plant": plant.id}
        light: Target = {"plant": plant.id, "module": plant.modules("light")[0]["id"]}
        expect_ok(E7, call(identity, login.tokens, E7, target))
        operator.send("DELETE", f"/plants/{plant.id}/allowed/{who}")
        try:
            expect_refusal(E7, call(identity, login.tokens, E7, target), 403)
            expect_refusal(E8, call(identity, login.tokens, E8, light), 403)
            expect_refusal(E9, call(identity, login.tokens, E9, target), 401)
            expect_refusal(E16, call(identity, login.tokens, E16, target), 401)
            expect_refusal(E3, call(identity, login.tokens, E3, target), 403)
        finally:
            operator.send("PUT", f"/plants/{plant.id}/allowed/{who}")
        expect_ok(E7, call(identity, login.tokens, E7, target))
