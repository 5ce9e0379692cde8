"""{auth_url}/token with grant_type authorization_code."""

import asyncio
from typing import Any

import msgspec
import pyotp
import pytest

from domogate.auth.pages import COOKIE
from domogate.domain.people import Standing
from domogate.services.authorization.secrets import half_hash
from domogate.services.people import LoginComplete
from support.identity import AUDIENCE, ISSUER
from support.oauth import CLASSIC, NATIVE, PAGE, PASSWORD, VERIFIER, WEB, Browser, Provider, credentials, returned

FIELDS = {"access_token", "refresh_token", "id_token", "token_type", "expires_in", "expires_on", "scope"}


class TestTokens:
    async def test_the_answer_has_all_that_design_and_standards_ask_for(self, browser: Browser, provider: Provider) -> None:
        code = (await browser.grant_access())["code"]
        answer = await browser.redeem(code)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert (answer.headers["cache-control"], answer.headers["pragma"]) == ("no-store", "no-cache")
        tokens = answer.json()
        assert set(tokens) == FIELDS
        assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 3600, "openid light.read")
        assert type(tokens["expires_in"]) is type(tokens["expires_on"]) is int
        assert tokens["expires_on"] == (await provider.claims(tokens["access_token"]))["exp"]

    async def test_another_implementation_verifies_both_tokens(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens(nonce="n-0S6_WzA2Mj")
        now = int(provider.clock.now())
        access = await provider.claims(tokens["access_token"], AUDIENCE)
        assert {access["iss"], access["client_id"], access["scope"]} == {ISSUER, "web", "openid light.read"}
        identity = await provider.claims(tokens["id_token"], "web")
        assert identity["sub"] == access["sub"] == provider.anna.id
        assert (identity["nonce"], identity["auth_time"], identity["iat"]) == ("n-0S6_WzA2Mj", now, now)
        assert identity["at_hash"] == half_hash(tokens["access_token"])
        assert identity["amr"] == ["pwd"]

    async def test_the_id_token_says_how_the_person_logged_in_now_and_after_each_refresh(
        self, browser: Browser, provider: Provider
    ) -> None:
        secret = provider.sessions.second_factor.new_secret()
        await provider.store.change_user(provider.anna.id, lambda user: msgspec.structs.replace(user, totp_secret=secret))
        code = pyotp.TOTP(secret).generate_otp(int(provider.clock.now()) // 30)
        entered = await provider.sessions.log_in(provider.anna.email, PASSWORD, code, "192.0.2.1", "test")
        assert isinstance(entered, LoginComplete)
        browser.http.cookies.set(COOKIE, entered.cookie, domain="gateway.example", path="/auth")
        said = returned(await browser.decide(await browser.authorize()))
        tokens = (await browser.redeem(said["code"])).json()
        for _ in range(3):
            assert (await provider.claims(tokens["id_token"], "web"))["amr"] == ["pwd", "otp"]
            assert "amr" not in await provider.claims(tokens["access_token"])
            tokens = (await browser.refresh(tokens["refresh_token"])).json()

    @pytest.mark.parametrize("verified", [True, False])
    async def test_the_id_token_says_whether_the_email_is_proved(
        self, browser: Browser, provider: Provider, verified: bool
    ) -> None:
        await provider.store.change_user(provider.anna.id, lambda user: msgspec.structs.replace(user, email_verified=verified))
        tokens = await browser.get_tokens(scope="openid email")
        assert (await provider.claims(tokens["id_token"], "web"))["email_verified"] is verified
        headers = {"authorization": f"Bearer {tokens['access_token']}"}
        assert (await browser.http.get("/auth/userinfo", headers=headers)).json()["email_verified"] is verified
        silent = await browser.get_tokens(scope="openid")
        assert not {"email", "email_verified"} & set(await provider.claims(silent["id_token"], "web"))

    async def test_both_tokens_open_what_they_are_for(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        for name in ("access_token", "id_token"):
            assert (await provider.verifier.verify(tokens[name].encode())).scopes == {"openid", "light.read"}

    async def test_without_a_nonce_there_is_none(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        assert "nonce" not in await provider.claims(tokens["id_token"], "web")

    async def test_an_id_token_is_there_without_openid_too(self, browser: Browser) -> None:
        """Most families need it (Spec 5.2)."""
        assert set(await browser.get_tokens(scope="light.read")) == FIELDS

    async def test_a_refresh_token_is_there_without_offline_access_too(self, browser: Browser) -> None:
        assert "refresh_token" in await browser.get_tokens(NATIVE)

    async def test_but_not_for_a_client_that_is_not_registered_for_it(self, browser: Browser) -> None:
        assert set(await browser.get_tokens(PAGE)) == FIELDS - {"refresh_token"}

    async def test_and_not_when_the_person_refused_offline_access(self, browser: Browser) -> None:
        asked = "openid light.read offline_access"
        said = await browser.grant_access(scope=asked, scopes=["light.read"])
        assert set((await browser.redeem(said["code"])).json()) == FIELDS - {"refresh_token"}
        said = await browser.grant_access(scope=asked, scopes=["light.read", "offline_access"])
        assert set((await browser.redeem(said["code"])).json()) == FIELDS

    async def test_the_client_cannot_remove_the_mark_of_the_refusal_from_the_code(self, browser: Browser) -> None:
        said = await browser.grant_access(scope="openid offline_access", scopes=["openid"])
        assert (await browser.redeem(said["code"].removeprefix("online."))).json()["error"] == "invalid_grant"

    async def test_a_slash_at_the_end_is_the_same_endpoint(self, browser: Browser) -> None:
        said = await browser.grant_access()
        form = {"grant_type": "authorization_code", "code": said["code"], "code_verifier": VERIFIER, **credentials(WEB)}
        answer = await browser.post_form("/auth/token/", form)
        assert (answer.status_code, set(answer.json())) == (200, FIELDS)


class TestRefused:
    async def refused(self, browser: Browser, code: str, client: Any = WEB, **changed: str | None) -> str:
        answer = await browser.redeem(code, client, **changed)
        assert answer.status_code == 400
        assert answer.headers["cache-control"] == "no-store"
        error: str = answer.json()["error"]
        return error

    @pytest.mark.parametrize("code", ["nonsense", "x" * 5000, "é", "a b", "\x00"])
    async def test_an_unknown_code(self, browser: Browser, code: str) -> None:
        assert await self.refused(browser, code) == "invalid_grant"

    async def test_no_code_at_all(self, browser: Browser) -> None:
        assert await self.refused(browser, "") == "invalid_request"

    @pytest.mark.parametrize(("seconds", "status"), [(59, 200), (60, 400), (61, 400)])
    async def test_a_code_older_than_a_minute(self, browser: Browser, provider: Provider, seconds: int, status: int) -> None:
        code = (await browser.grant_access())["code"]
        provider.clock.advance(seconds)
        assert (await browser.redeem(code)).status_code == status

    @pytest.mark.parametrize(
        "verifier", [None, VERIFIER[:-1] + "x", VERIFIER.upper(), "short", "x" * 129, VERIFIER + " ", "é" * 43]
    )
    async def test_a_verifier_that_is_missing_or_wrong(self, browser: Browser, verifier: str | None) -> None:
        code = (await browser.grant_access())["code"]
        assert await self.refused(browser, code, code_verifier=verifier) == "invalid_grant"

    async def test_a_verifier_that_was_not_asked_for(self, browser: Browser) -> None:
        code = (await browser.grant_access(CLASSIC, code_challenge=None, code_challenge_method=None))["code"]
        assert await self.refused(browser, code, CLASSIC) == "invalid_grant"

    async def test_the_code_of_another_client(self, browser: Browser, provider: Provider) -> None:
        code = (await browser.grant_access())["code"]
        assert await self.refused(browser, code, CLASSIC) == "invalid_grant"
        assert await self.refused(browser, code, WEB) == "invalid_grant", "it was in the wrong hands"
        assert not await provider.store.list_grants(provider.anna.id)

    async def test_a_client_that_fails_to_authenticate_does_not_use_the_code_up(self, browser: Browser) -> None:
        code = (await browser.grant_access())["code"]
        assert (await browser.redeem(code, client_secret="wrong")).status_code == 401
        assert (await browser.redeem(code, code_verifier="not a verifier")).status_code == 400
        assert (await browser.redeem(code)).status_code == 200

    async def test_a_code_whose_grant_was_revoked_meanwhile(self, browser: Browser, provider: Provider) -> None:
        code = (await browser.grant_access())["code"]
        await provider.store.revoke_grants(provider.anna.id, None, provider.clock.now())
        assert await self.refused(browser, code) == "invalid_grant"

    async def test_a_code_of_somebody_who_is_gone(self, browser: Browser, provider: Provider) -> None:
        code = (await browser.grant_access())["code"]
        await provider.store.delete_user(provider.anna.id)
        assert await self.refused(browser, code) == "invalid_grant"

    async def test_a_code_of_somebody_who_is_no_longer_active(self, browser: Browser, provider: Provider) -> None:
        code = (await browser.grant_access())["code"]
        await provider.store.save_user(msgspec.structs.replace(provider.anna, password_hash=None))
        assert await self.refused(browser, code) == "invalid_grant"

    async def test_a_client_that_lost_the_grant(self, browser: Browser, provider: Provider) -> None:
        code = (await browser.grant_access())["code"]
        await provider.store.save_client(msgspec.structs.replace(WEB, grants=()))
        assert await self.refused(browser, code) == "unauthorized_client"

    @pytest.mark.parametrize("grant_type", ["implicit", "password", "client_credentials", "nonsense", "Authorization_Code"])
    async def test_other_grant_types(self, browser: Browser, grant_type: str) -> None:
        assert await self.refused(browser, "x", grant_type=grant_type) == "unsupported_grant_type"

    async def test_no_grant_type(self, browser: Browser) -> None:
        assert await self.refused(browser, "x", grant_type=None) == "invalid_request"


class TestUsedTwice:
    async def test_the_second_time_is_refused_and_ends_what_the_first_gave(self, browser: Browser, provider: Provider) -> None:
        code = (await browser.grant_access())["code"]
        tokens = (await browser.redeem(code)).json()
        assert await provider.is_alive(tokens["access_token"])
        again = await browser.redeem(code)
        assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
        assert not await provider.is_alive(tokens["access_token"])
        assert not await provider.is_alive(tokens["id_token"])
        assert (await browser.refresh(tokens["refresh_token"])).status_code == 400

    @pytest.mark.slow
    async def test_of_fifty_at_once_exactly_one_succeeds(self, browser: Browser) -> None:
        code = (await browser.grant_access())["code"]
        answers = await asyncio.gather(*(browser.redeem(code) for _ in range(50)))
        assert sorted(answer.status_code for answer in answers) == [200, *[400] * 49]
        assert {answer.json()["error"] for answer in answers if answer.status_code == 400} == {"invalid_grant"}


class TestTheRedirectUri:
    async def test_must_be_that_of_the_request(self, browser: Browser) -> None:
        said = await browser.grant_access()
        answer = await browser.redeem(said["code"], redirect_uri=WEB.redirect_uris[1])
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")

    async def test_is_good_when_it_is_the_same(self, browser: Browser) -> None:
        said = await browser.grant_access()
        assert (await browser.redeem(said["code"], redirect_uri=WEB.redirect_uris[0])).status_code == 200

    async def test_of_a_native_application_has_the_port_of_the_request(self, browser: Browser) -> None:
        uri = "http://127.0.0.1:51004/back"
        said = await browser.grant_access(NATIVE, redirect_uri=uri)
        assert (await browser.redeem(said["code"], NATIVE, redirect_uri=uri)).status_code == 200
        said = await browser.grant_access(NATIVE, redirect_uri=uri)
        other = await browser.redeem(said["code"], NATIVE, redirect_uri="http://127.0.0.1:51005/back")
        assert other.status_code == 400

    async def test_may_be_named_although_the_request_left_it_out(self, browser: Browser) -> None:
        said = await browser.grant_access(CLASSIC, redirect_uri=None)
        answer = await browser.redeem(said["code"], CLASSIC, redirect_uri=CLASSIC.redirect_uris[0])
        assert answer.status_code == 200

    async def test_may_be_left_out_without_pkce_only_by_a_client_that_has_exactly_one(
        self, browser: Browser, provider: Provider
    ) -> None:
        no_pkce: dict[str, Any] = {"code_challenge": None, "code_challenge_method": None}
        said = await browser.grant_access(CLASSIC, **no_pkce)
        assert (await browser.redeem(said["code"], CLASSIC, code_verifier=None)).status_code == 200
        two = msgspec.structs.replace(CLASSIC, redirect_uris=("https://classic.example/back", "https://classic.example/b"))
        await provider.store.save_client(two)
        said = await browser.grant_access(two, **no_pkce)
        refused = await browser.redeem(said["code"], two, code_verifier=None)
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")


class TestStandingDoesNotMatterHere:
    async def test_a_user_whose_password_is_due_still_gets_tokens(self, browser: Browser, provider: Provider) -> None:
        """469 and 470 are for the families to answer."""
        await provider.store.save_user(msgspec.structs.replace(provider.anna, standing=Standing.BOTH_EXPIRED))
        await browser.log_in()
        code = returned(await browser.decide(await browser.authorize()))["code"]
        assert (await browser.redeem(code)).status_code == 200
