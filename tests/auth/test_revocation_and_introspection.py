"""{auth_url}/revoke (RFC 7009) and {auth_url}/introspect (RFC 7662)."""

from pathlib import Path

import httpx
import pytest

from domogate.domain.people import Client
from support.identity import AUDIENCE, ISSUER
from support.issuer_fixture import new_issuers
from support.oauth import CLASSIC, NATIVE, PAGE, WEB, Browser, Provider, credentials, open_provider

pytestmark = pytest.mark.slow


async def revoke(browser: Browser, token: str, client: Client = WEB, **fields: str) -> httpx.Response:
    return await browser.post_form("/auth/revoke", {"token": token, **credentials(client), **fields})


async def introspect(browser: Browser, token: str, client: Client = WEB, **fields: str) -> httpx.Response:
    return await browser.post_form("/auth/introspect", {"token": token, **credentials(client), **fields})


class TestRevoke:
    @pytest.mark.parametrize("name", ["refresh_token", "access_token"])
    @pytest.mark.parametrize("hint", ["", "refresh_token", "access_token", "nonsense"])
    async def test_either_token_ends_all_that_rests_on_its_grant(
        self, browser: Browser, provider: Provider, name: str, hint: str
    ) -> None:
        tokens = await browser.get_tokens()
        answer = await revoke(browser, tokens[name], token_type_hint=hint)
        assert (answer.status_code, answer.content) == (200, b"")
        assert not await provider.is_alive(tokens["access_token"])
        assert not await provider.is_alive(tokens["id_token"])
        assert (await browser.refresh(tokens["refresh_token"])).status_code == 400
        assert ("revocation", "ok") in provider.ledger.actions()

    async def test_again_and_unknown_are_as_good_as_done(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        for token in (tokens["refresh_token"], tokens["refresh_token"], tokens["access_token"], "nonsense", "a.b.c", "é"):
            assert (await revoke(browser, token)).status_code == 200
        assert provider.ledger.actions().count(("revocation", "ok")) == 1

    async def test_a_replaced_refresh_token_ends_its_family_too(self, browser: Browser, provider: Provider) -> None:
        first = await browser.get_tokens()
        second = (await browser.refresh(first["refresh_token"])).json()
        await revoke(browser, first["refresh_token"])
        assert not await provider.is_alive(second["access_token"])

    async def test_other_grants_of_the_client_go_on(self, browser: Browser, provider: Provider) -> None:
        first, second = await browser.get_tokens(), await browser.get_tokens()
        await revoke(browser, first["refresh_token"])
        assert await provider.is_alive(second["access_token"])

    async def test_a_public_client_gives_back_its_own(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens(PAGE)
        assert (await revoke(browser, tokens["access_token"], PAGE)).status_code == 200
        assert not await provider.is_alive(tokens["access_token"])

    async def test_a_client_cannot_revoke_tokens_of_another(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        for name in ("access_token", "refresh_token"):
            for other in (CLASSIC, NATIVE):
                answer = await revoke(browser, tokens[name], other)
                assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
        assert await provider.is_alive(tokens["access_token"])

    async def test_a_token_of_an_external_issuer_is_ignored_and_not_audited(self, tmp_path: Path, template: Path) -> None:
        issuers = await new_issuers(clients={"their-app": WEB.id})
        token = issuers.access().decode()
        async with open_provider(tmp_path, template, others=[issuers.issuer]) as provider:
            browser = provider.browser()
            async with browser.http:
                answer = await revoke(browser, token)
                assert (answer.status_code, answer.content) == (200, b"")
                assert (await introspect(browser, token)).json()["active"] is True
            assert "revocation" not in [action for action, _ in provider.ledger.actions()]

    async def test_an_id_token_is_not_what_it_is_for(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        answer = await revoke(browser, tokens["id_token"])
        assert (answer.status_code, answer.json()["error"]) == (400, "unsupported_token_type")
        assert await provider.is_alive(tokens["id_token"])

    async def test_it_takes_a_client_and_a_token(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        assert (await revoke(browser, tokens["access_token"], client_secret="wrong")).status_code == 401
        assert (await browser.post_form("/auth/revoke", {"token": tokens["access_token"]})).status_code == 401
        assert (await revoke(browser, "")).json()["error"] == "invalid_request"
        assert await provider.is_alive(tokens["access_token"])


class TestIntrospect:
    async def test_an_access_token(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        answer = await introspect(browser, tokens["access_token"])
        claims = await provider.claims(tokens["access_token"])
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
        assert answer.json() == {
            "active": True,
            "scope": "light.read openid",
            "client_id": "web",
            "token_type": "Bearer",
            "token_kind": "access",
            "exp": tokens["expires_on"],
            "sub": provider.anna.id,
            "iss": ISSUER,
            "iat": int(provider.clock.now()),
            "aud": AUDIENCE,
            "jti": claims["jti"],
        }

    async def test_an_id_token_is_for_the_client(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        said = (await introspect(browser, tokens["id_token"])).json()
        claims = await provider.claims(tokens["id_token"], WEB.id)
        assert {name: said[name] for name in ("aud", "jti", "iat", "exp", "sub", "iss")} == {
            name: claims[name] for name in ("aud", "jti", "iat", "exp", "sub", "iss")
        }

    @pytest.mark.parametrize("name", ["access_token", "id_token", "refresh_token"])
    async def test_the_username_is_given_only_with_the_scope_for_the_email(
        self, browser: Browser, provider: Provider, name: str
    ) -> None:
        without = await browser.get_tokens()
        assert "username" not in (await introspect(browser, without[name])).json()
        tokens = await browser.get_tokens(scope="openid email")
        assert (await introspect(browser, tokens[name])).json()["username"] == provider.anna.email

    async def test_a_token_that_was_verified_before_is_told_of_alike(self, browser: Browser) -> None:
        tokens = await browser.get_tokens()
        answers = [(await introspect(browser, tokens["access_token"])).json() for _ in range(2)]
        assert answers[0] == answers[1]

    @pytest.mark.parametrize("kind", ["access", "id"])
    async def test_a_token_of_an_external_issuer_names_its_issuer_and_subject(
        self, tmp_path: Path, template: Path, kind: str
    ) -> None:
        issuers = await new_issuers(clients={"their-app": WEB.id})
        token = (issuers.access() if kind == "access" else issuers.id()).decode()
        async with open_provider(tmp_path, template, others=[issuers.issuer]) as provider:
            browser = provider.browser()
            async with browser.http:
                said = (await introspect(browser, token)).json()
        assert (said["active"], said["client_id"], said["token_kind"]) == (True, WEB.id, kind)
        assert (said["iss"], said["sub"]) == (issuers.source.url, issuers.claims()["sub"])

    async def test_a_refresh_token_until_it_is_replaced(self, browser: Browser, provider: Provider) -> None:
        first = await browser.get_tokens()
        said = (await introspect(browser, first["refresh_token"])).json()
        now = int(provider.clock.now())
        assert (said["active"], said["token_kind"], said["iat"], said["exp"]) == (True, "refresh", now, now + 90 * 86_400)
        second = (await browser.refresh(first["refresh_token"])).json()
        assert (await introspect(browser, first["refresh_token"])).json() == {"active": False}
        assert (await introspect(browser, second["refresh_token"])).json()["active"] is True
        provider.clock.advance(90 * 86_400)
        assert (await introspect(browser, second["refresh_token"])).json() == {"active": False}

    async def test_an_id_token_which_opens_families_here(self, browser: Browser) -> None:
        tokens = await browser.get_tokens()
        assert (await introspect(browser, tokens["id_token"])).json()["token_kind"] == "id"

    async def test_an_ended_unknown_or_foreign_token_is_reported_as_inactive(
        self, browser: Browser, provider: Provider
    ) -> None:
        others = await browser.get_tokens(CLASSIC)
        revoked = await browser.get_tokens()
        await revoke(browser, revoked["access_token"])
        expired = await browser.get_tokens()
        provider.clock.advance(3600)
        dead = [others["access_token"], others["refresh_token"], expired["access_token"], *map(str, revoked.values()), "x", "."]
        for token in dead:
            assert (await introspect(browser, token)).json() == {"active": False}

    async def test_it_takes_a_client_that_can_prove_who_it_is(self, browser: Browser) -> None:
        tokens = await browser.get_tokens(NATIVE)
        for answer in (
            await introspect(browser, tokens["access_token"], NATIVE),
            await introspect(browser, tokens["access_token"], client_secret="wrong"),
            await browser.post_form("/auth/introspect", {"token": tokens["access_token"]}),
        ):
            assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
        assert (await introspect(browser, "")).json()["error"] == "invalid_request"
