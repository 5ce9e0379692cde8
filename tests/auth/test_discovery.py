"""The discovery document is correct: the tests try every statement in it."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest

from domogate import auth
from domogate.auth.pages.language import LANGUAGES
from domogate.identity.loaded_keys import new_signing_key
from support.identity import AUDIENCE, ISSUER
from support.oauth import PAGE, WEB, Browser, Provider, authorization_request

BELOW = ["/auth/.well-known/openid-configuration", "/auth/.well-known/oauth-authorization-server"]
ROOT = ["/.well-known/oauth-authorization-server/auth", "/.well-known/openid-configuration/auth"]


@pytest.fixture
async def root(provider: Provider) -> AsyncIterator[httpx.AsyncClient]:
    """The app that the gateway mounts at /.well-known."""
    discovery = auth.Discovery(provider.signer, ISSUER, implicit_enabled=True)
    transport = httpx.ASGITransport(auth.build_well_known(discovery, auth.PREFIX), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=AUDIENCE) as client:
        yield client


async def read(browser: Browser) -> dict[str, Any]:
    metadata: dict[str, Any] = (await browser.http.get(BELOW[0])).json()
    return metadata


class TestWhere:
    @pytest.mark.parametrize("path", BELOW)
    async def test_below_the_issuer(self, browser: Browser, path: str) -> None:
        answer = await browser.http.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        assert answer.headers["cache-control"] == "public, max-age=300"
        assert answer.json() == await read(browser)

    @pytest.mark.parametrize("path", ROOT)
    async def test_at_the_root_as_rfc_8414_derives_it(self, root: httpx.AsyncClient, path: str) -> None:
        answer = await root.get(path)
        assert (answer.status_code, answer.json()["issuer"]) == (200, ISSUER)
        assert (await root.post(path)).status_code == 405

    @pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/.well-known/nonsense", "/.well-known/"])
    async def test_nowhere_else(self, root: httpx.AsyncClient, path: str) -> None:
        answer = await root.get(path)
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")

    async def test_behind_a_proxy_that_keeps_its_path(self, provider: Provider) -> None:
        discovery = auth.Discovery(provider.signer, "https://house.example/gate/auth", implicit_enabled=False)
        transport = httpx.ASGITransport(auth.build_well_known(discovery, auth.PREFIX))
        async with httpx.AsyncClient(transport=transport, base_url="https://house.example") as client:
            for path in ("/gate/auth", "/auth"):
                answer = await client.get(f"/.well-known/oauth-authorization-server{path}")
                assert answer.json()["issuer"] == "https://house.example/gate/auth"


class TestWhat:
    async def test_all_that_the_standards_require_is_there(self, browser: Browser) -> None:
        metadata = await read(browser)
        required = {
            *("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"),
            *("response_types_supported", "subject_types_supported", "id_token_signing_alg_values_supported"),
            *("revocation_endpoint", "introspection_endpoint", "end_session_endpoint", "scopes_supported"),
            *("code_challenge_methods_supported", "authorization_response_iss_parameter_supported"),
        }
        assert required <= set(metadata)
        assert metadata["issuer"] == ISSUER

    async def test_every_endpoint_is_there(self, browser: Browser) -> None:
        endpoints = {name: url for name, url in (await read(browser)).items() if name.endswith(("_endpoint", "_uri"))}
        assert {"authorization_endpoint", "token_endpoint", "jwks_uri"} <= endpoints.keys()
        for name, url in endpoints.items():
            assert url.startswith(ISSUER)
            assert (await browser.http.get(url)).status_code != 404, name

    @pytest.mark.slow
    async def test_the_algorithms_are_those_of_the_keys(self, browser: Browser, provider: Provider) -> None:
        assert (await read(browser))["id_token_signing_alg_values_supported"] == ["ES256"]
        await provider.store.change_signing_keys(lambda _: [new_signing_key("RS256", provider.clock.now())])
        assert (await read(browser))["id_token_signing_alg_values_supported"] == ["ES256", "RS256"]

    async def test_every_response_type_and_mode_is_taken(self, browser: Browser) -> None:
        metadata = await read(browser)
        assert {"code"} <= set(metadata["response_types_supported"])
        assert {"query", "fragment"} <= set(metadata["response_modes_supported"])
        await browser.log_in()
        for response_type in metadata["response_types_supported"]:
            answer = await browser.authorize(PAGE, response_type=response_type, nonce="n")
            assert answer.json()["page"] == "consent", response_type
        for mode in metadata["response_modes_supported"]:
            assert (await browser.authorize(response_mode=mode)).json()["page"] == "consent", mode

    async def test_implicit_is_told_of_only_where_it_is_enabled(self, provider: Provider) -> None:
        async with provider.browser(implicit=False).http as http:
            metadata = (await http.get(BELOW[0])).json()
        assert metadata["response_types_supported"] == ["code"]
        assert metadata["grant_types_supported"] == ["authorization_code", "refresh_token"]

    async def test_every_prompt_is_known(self, browser: Browser) -> None:
        prompts = (await read(browser))["prompt_values_supported"]
        assert "login" in prompts
        for prompt in prompts:
            answer = await browser.http.get("/auth/authorize", params=authorization_request(WEB, prompt=prompt))
            assert "invalid_request" not in answer.headers["location"]

    async def test_every_scope_can_be_asked_for(self, browser: Browser, provider: Provider) -> None:
        metadata = await read(browser)
        await provider.store.save_client(msgspec.structs.replace(WEB, scopes=tuple(metadata["scopes_supported"])))
        await browser.log_in(provider.bruno)
        asked = await browser.authorize(scope=" ".join(metadata["scopes_supported"]))
        assert asked.json()["scopes"] == metadata["scopes_supported"]

    async def test_every_claim_of_a_token_is_told_of(self, browser: Browser, provider: Provider) -> None:
        told = set((await read(browser))["claims_supported"])
        tokens = await browser.get_tokens(nonce="n", scope="openid profile email")
        said = set(await provider.claims(tokens["id_token"], "web"))
        assert said <= told
        assert {"amr", "auth_time", "email_verified"} <= said

    async def test_every_language_is_there(self, browser: Browser) -> None:
        assert (await read(browser))["ui_locales_supported"] == sorted(LANGUAGES)

    async def test_unsupported_features_are_declared_as_unsupported(self, browser: Browser) -> None:
        metadata = await read(browser)
        for name in ("request_parameter_supported", "request_uri_parameter_supported", "claims_parameter_supported"):
            assert metadata[name] is False
