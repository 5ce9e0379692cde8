"""{auth_url}/token with grant_type refresh_token: Spec 5, and the retry rule of Decision 0023."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from domogate.identity.rotation import rotate_keys
from domogate.services.authorization.exchange import UNKNOWN_TOKENS
from domogate.services.authorization.secrets import derive_successor
from support.oauth import CLASSIC, NATIVE, SECRET, WEB, Browser, Provider, credentials

FIELDS = {"access_token", "refresh_token", "id_token", "token_type", "expires_in", "expires_on", "scope"}
DAY = 86_400.0


class TestAnswer:
    async def test_it_has_new_tokens_and_all_else_that_was_decided(self, browser: Browser, provider: Provider) -> None:
        first = await browser.get_tokens()
        provider.clock.advance(3000)
        answer = await browser.refresh(first["refresh_token"])
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        tokens = answer.json()
        assert set(tokens) == FIELDS
        assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 3600, "openid light.read")
        assert type(tokens["expires_in"]) is type(tokens["expires_on"]) is int
        assert tokens["expires_on"] == first["expires_on"] + 3000
        assert all(tokens[name] != first[name] for name in ("access_token", "refresh_token", "id_token"))

    async def test_the_request_of_the_contract_is_all_it_takes(self, browser: Browser) -> None:
        first = await browser.get_tokens()
        form = {"grant_type": "refresh_token", "client_id": "web", "client_secret": SECRET}
        answer = await browser.post_form("/auth/token", {**form, "refresh_token": first["refresh_token"]})
        assert answer.status_code == 200

    async def test_the_tokens_are_of_the_same_grant_and_login(self, browser: Browser, provider: Provider) -> None:
        first = await browser.get_tokens(nonce="n")
        before = await provider.claims(first["id_token"], "web")
        provider.clock.advance(5000)
        second = (await browser.refresh(first["refresh_token"])).json()
        after = await provider.claims(second["id_token"], "web")
        assert [after[it] for it in ("sub", "grant", "auth_time", "amr")] == [
            before[it] for it in ("sub", "grant", "auth_time", "amr")
        ]
        assert "nonce" not in after, "it was for the first one only (OpenID Connect Core §12.2)"
        assert await provider.is_alive(second["access_token"])

    async def test_a_public_client_refreshes_too(self, browser: Browser) -> None:
        first = await browser.get_tokens(NATIVE)
        assert (await browser.refresh(first["refresh_token"], NATIVE)).status_code == 200

    async def test_for_months_each_time_with_the_newest(self, browser: Browser, provider: Provider) -> None:
        token = (await browser.get_tokens())["refresh_token"]
        for _ in range(6):
            provider.clock.advance(80 * DAY)
            answer = await browser.refresh(token)
            assert answer.status_code == 200
            token = answer.json()["refresh_token"]


class TestRefused:
    async def test_an_access_token(self, browser: Browser) -> None:
        """Spec 5: the refresh_token value, not the access_token value."""
        tokens = await browser.get_tokens()
        for value in (tokens["access_token"], tokens["id_token"]):
            answer = await browser.refresh(value)
            assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
        assert (await browser.refresh(tokens["refresh_token"])).status_code == 200

    @pytest.mark.parametrize("value", ["nonsense", "x" * 10_000, "\x00", "é", "null", "%00"])
    async def test_anything_else(self, browser: Browser, value: str) -> None:
        answer = await browser.refresh(value)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")

    async def test_a_code(self, browser: Browser) -> None:
        code = (await browser.grant_access())["code"]
        assert (await browser.refresh(code)).json()["error"] == "invalid_grant"

    async def test_none(self, browser: Browser) -> None:
        assert (await browser.refresh("")).json()["error"] == "invalid_request"

    async def test_that_of_another_client_which_it_leaves_as_it_was(self, browser: Browser) -> None:
        tokens = await browser.get_tokens()
        for other in (CLASSIC, NATIVE):
            answer = await browser.refresh(tokens["refresh_token"], other)
            assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
        assert (await browser.refresh(tokens["refresh_token"])).status_code == 200

    @pytest.mark.parametrize(("seconds", "status"), [(90 * DAY - 1, 200), (90 * DAY, 400)])
    async def test_one_that_is_ninety_days_old(self, browser: Browser, provider: Provider, seconds: float, status: int) -> None:
        tokens = await browser.get_tokens()
        provider.clock.advance(seconds)
        assert (await browser.refresh(tokens["refresh_token"])).status_code == status

    async def test_one_whose_grant_was_revoked(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        await provider.store.revoke_grants(provider.anna.id, WEB.id, provider.clock.now())
        assert (await browser.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"

    async def test_one_of_somebody_who_is_gone(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        await provider.store.delete_user(provider.anna.id)
        assert (await browser.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"

    async def test_one_of_somebody_who_is_no_longer_active(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        await provider.store.save_user(msgspec.structs.replace(provider.anna, password_hash=None))
        assert (await browser.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"

    async def test_a_client_that_lost_the_grant(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        await provider.store.save_client(msgspec.structs.replace(WEB, grants=(WEB.grants[0],)))
        assert (await browser.refresh(tokens["refresh_token"])).json()["error"] == "unauthorized_client"


class TestScope:
    async def test_it_may_be_narrowed_for_the_tokens_but_not_for_the_grant(self, browser: Browser, provider: Provider) -> None:
        first = await browser.get_tokens(scope="openid light.read plug.read")
        narrow = (await browser.refresh(first["refresh_token"], scope="plug.read")).json()
        assert narrow["scope"] == "plug.read"
        assert (await provider.claims(narrow["access_token"]))["scope"] == "plug.read"
        assert (await provider.claims(narrow["id_token"], "web"))["scope"] == "plug.read"
        whole = (await browser.refresh(narrow["refresh_token"])).json()
        assert whole["scope"] == "openid light.read plug.read"

    @pytest.mark.parametrize("scope", ["plug.write", "light.read plug.write", "LIGHT.READ", "nonsense", " "])
    async def test_it_is_never_widened_and_trying_uses_nothing_up(self, browser: Browser, scope: str) -> None:
        first = await browser.get_tokens()
        answer = await browser.refresh(first["refresh_token"], scope=scope)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_scope")
        assert (await browser.refresh(first["refresh_token"])).status_code == 200

    async def test_scopes_that_the_client_has_lost_are_left_out(self, browser: Browser, provider: Provider) -> None:
        first = await browser.get_tokens(scope="openid light.read plug.read")
        await provider.store.save_client(msgspec.structs.replace(WEB, scopes=("light.read",)))
        second = (await browser.refresh(first["refresh_token"])).json()
        assert second["scope"] == "openid light.read"
        assert (await provider.claims(second["access_token"]))["scope"] == "openid light.read"
        told = await browser.post_form("/auth/introspect", {"token": second["refresh_token"], **credentials(WEB)})
        assert told.json()["scope"] == "light.read openid"
        named = await browser.refresh(second["refresh_token"], scope="openid light.read plug.read")
        assert named.json()["scope"] == "openid light.read", "a client that names its scopes goes on with the rest"
        await provider.store.save_client(WEB)
        whole = (await browser.refresh(named.json()["refresh_token"])).json()
        assert whole["scope"] == "openid light.read plug.read"

    async def test_a_code_of_a_client_that_has_lost_scopes_gives_the_rest(self, browser: Browser, provider: Provider) -> None:
        code = (await browser.grant_access(scope="openid light.read plug.read"))["code"]
        await provider.store.save_client(msgspec.structs.replace(WEB, scopes=("plug.read",)))
        tokens = (await browser.redeem(code)).json()
        assert tokens["scope"] == "openid plug.read"


class TestRetry:
    async def test_within_ten_seconds_the_same_successor_comes_again(self, browser: Browser, provider: Provider) -> None:
        first = await browser.get_tokens()
        second = (await browser.refresh(first["refresh_token"])).json()
        provider.clock.advance(10)
        again = await browser.refresh(first["refresh_token"])
        assert again.status_code == 200
        assert again.json()["refresh_token"] == second["refresh_token"]
        assert await provider.is_alive(again.json()["access_token"])
        assert (await browser.refresh(second["refresh_token"])).status_code == 200

    async def test_later_it_is_refused_and_the_family_ends(self, browser: Browser, provider: Provider) -> None:
        first = await browser.get_tokens()
        second = (await browser.refresh(first["refresh_token"])).json()
        provider.clock.advance(10.5)
        again = await browser.refresh(first["refresh_token"])
        assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
        assert (await browser.refresh(second["refresh_token"])).status_code == 400
        assert not await provider.is_alive(second["access_token"])
        assert ("refresh", "refused") in provider.ledger.actions()

    async def test_only_the_immediate_predecessor_is_forgiven(self, browser: Browser) -> None:
        first = await browser.get_tokens()
        second = (await browser.refresh(first["refresh_token"])).json()
        third = (await browser.refresh(second["refresh_token"])).json()
        assert (await browser.refresh(first["refresh_token"])).status_code == 400
        assert (await browser.refresh(third["refresh_token"])).status_code == 400

    @pytest.mark.slow
    async def test_of_fifty_at_once_exactly_one_successor_comes(self, browser: Browser, provider: Provider) -> None:
        first = await browser.get_tokens()
        answers = await asyncio.gather(*(browser.refresh(first["refresh_token"]) for _ in range(50)))
        assert [answer.status_code for answer in answers] == [200] * 50
        (successor,) = {answer.json()["refresh_token"] for answer in answers}
        provider.clock.advance(60)
        assert (await browser.refresh(successor)).status_code == 200

    async def test_another_gateway_on_the_same_store_gives_the_same_successor(
        self, browser: Browser, provider: Provider
    ) -> None:
        first = await browser.get_tokens()
        second = (await browser.refresh(first["refresh_token"])).json()
        other = Provider(provider.store, provider.clock)
        await other.start()
        async with other.browser().http as http:
            form = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"], **credentials(WEB)}
            again = await http.post("/auth/token", data=form)
        other.hasher.close()
        assert again.json()["refresh_token"] == second["refresh_token"]


class TestAFlood:
    @pytest.mark.slow
    async def test_many_values_that_are_no_refresh_tokens_cost_no_writes(self, browser: Browser, provider: Provider) -> None:
        token = (await browser.get_tokens())["refresh_token"]
        for number in range(UNKNOWN_TOKENS):
            await browser.refresh(f"nonsense {number}")
        before = provider.store.commits
        for number in range(5):
            assert (await browser.refresh(f"more nonsense {number}")).json()["error"] == "invalid_grant"
        assert provider.store.commits == before
        assert (await browser.refresh(token)).status_code == 200, "people refresh as before"
        assert provider.store.commits == before + 1


class TestAtRest:
    async def test_no_code_or_refresh_token_lies_in_the_database(
        self, browser: Browser, provider: Provider, tmp_path: Path
    ) -> None:
        code = (await browser.grant_access())["code"]
        first = (await browser.redeem(code)).json()
        second = (await browser.refresh(first["refresh_token"])).json()
        await provider.store.stop()
        kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert provider.anna.id.encode() in kept
        for secret in (code, first["refresh_token"], second["refresh_token"], second["access_token"], SECRET):
            assert secret.encode() not in kept
        await provider.store.start()


class TestAfterAnEmergency:
    """All signing keys are distrusted: a person who knew the old ones cannot compute refresh tokens any more."""

    async def test_successors_are_derived_from_a_new_secret(self, browser: Browser, provider: Provider) -> None:
        stolen = await provider.signer.find_server_secret()
        tokens = await browser.get_tokens()
        await rotate_keys(provider.store, provider.clock, now=True)
        second = (await browser.refresh(tokens["refresh_token"])).json()["refresh_token"]
        assert second != derive_successor(tokens["refresh_token"], stolen)
        third = (await browser.refresh(second)).json()["refresh_token"]
        assert third != derive_successor(second, stolen)
        assert (await browser.refresh(third)).status_code == 200

    async def test_a_retry_of_an_earlier_refresh_is_refused_and_its_answer_still_works(
        self, browser: Browser, provider: Provider
    ) -> None:
        tokens = await browser.get_tokens()
        second = (await browser.refresh(tokens["refresh_token"])).json()["refresh_token"]
        await rotate_keys(provider.store, provider.clock, now=True)
        retry = await browser.refresh(tokens["refresh_token"])
        assert (retry.status_code, retry.json()["error"]) == (400, "invalid_grant")
        assert (await browser.refresh(second)).status_code == 200
