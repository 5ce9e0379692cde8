"""The implicit flow: `id_token` and `id_token token` (Spec 5.2), if both the gateway and the client enable it."""

from typing import Any
from urllib.parse import urlsplit

import pytest

from domogate.domain.people import GrantType
from domogate.services.authorization.secrets import half_hash
from support.identity import AUDIENCE, ISSUER
from support.oauth import PAGE, WEB, Browser, Provider, returned

TYPES = ["id_token", "id_token token", "token id_token"]
ASKED: dict[str, Any] = {"nonce": "n-1", "code_challenge": None, "code_challenge_method": None}


async def grant_access(browser: Browser, response_type: str, **changed: Any) -> dict[str, str]:
    await browser.log_in()
    answer = await browser.authorize(PAGE, response_type=response_type, **{**ASKED, **changed})
    if answer.status_code == 200:
        answer = await browser.decide(answer)
    assert urlsplit(answer.headers["location"]).query == "", "tokens never travel in a query"
    return returned(answer, "fragment")


class TestTokens:
    async def test_an_id_token_alone(self, browser: Browser, provider: Provider) -> None:
        said = await grant_access(browser, "id_token")
        assert set(said) == {"id_token", "state", "iss"}
        claims = await provider.claims(said["id_token"], "page")
        assert (claims["nonce"], claims["sub"], claims["iss"]) == ("n-1", provider.anna.id, ISSUER)
        assert claims["auth_time"] == int(provider.clock.now())
        assert claims["amr"] == ["pwd"]
        assert "at_hash" not in claims

    @pytest.mark.parametrize("response_type", TYPES[1:])
    async def test_with_an_access_token_that_it_vouches_for(
        self, browser: Browser, provider: Provider, response_type: str
    ) -> None:
        said = await grant_access(browser, response_type)
        fields = {"id_token", "access_token", "token_type", "expires_in", "expires_on", "scope", "state", "iss"}
        assert set(said) == fields
        assert (said["token_type"], said["expires_in"], said["scope"]) == ("Bearer", "3600", "openid light.read")
        claims = await provider.claims(said["id_token"], "page")
        assert (claims["at_hash"], claims["nonce"]) == (half_hash(said["access_token"]), "n-1")

    async def test_the_flow_is_kept_so_that_home_control_can_refuse_its_access_token(
        self, browser: Browser, provider: Provider
    ) -> None:
        said = await grant_access(browser, "id_token token")
        principal = await provider.verifier.verify(said["access_token"].encode())
        assert principal.flow is GrantType.IMPLICIT
        assert (await provider.claims(said["access_token"], AUDIENCE))["client_id"] == "page"

    async def test_there_is_never_a_refresh_token(self, browser: Browser) -> None:
        assert "refresh_token" not in await grant_access(browser, "id_token token", scope="openid offline_access")

    async def test_a_consent_given_before_is_enough(self, browser: Browser) -> None:
        await grant_access(browser, "id_token")
        answer = await browser.authorize(PAGE, response_type="id_token", prompt="none", **ASKED)
        assert returned(answer, "fragment")["id_token"]


class TestRefused:
    @pytest.mark.parametrize("response_type", TYPES)
    @pytest.mark.parametrize(
        ("changed", "error"),
        [
            ({"nonce": None}, "invalid_request"),
            ({"response_mode": "query"}, "invalid_request"),
            ({"scope": "light.read"}, "invalid_scope"),
        ],
    )
    async def test_in_the_fragment(self, browser: Browser, response_type: str, changed: Any, error: str) -> None:
        said = await grant_access(browser, response_type, **changed)
        assert set(said) == {"error", "error_description", "state", "iss"}
        assert said["error"] == error

    @pytest.mark.parametrize("response_type", TYPES)
    async def test_a_client_that_is_not_enabled_gets_no_token(self, browser: Browser, response_type: str) -> None:
        await browser.log_in()
        said = returned(await browser.authorize(WEB, response_type=response_type, nonce="n"), "fragment")
        assert set(said) == {"error", "error_description", "state", "iss"}
        assert said["error"] == "unauthorized_client"

    @pytest.mark.parametrize("response_type", TYPES)
    async def test_a_server_that_does_not_enable_it_gives_no_token(self, provider: Provider, response_type: str) -> None:
        browser = provider.browser(implicit=False)
        async with browser.http:
            said = await grant_access(browser, response_type)
        assert said["error"] == "unsupported_response_type"
