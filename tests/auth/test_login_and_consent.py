"""When a person has to log in and to consent, and the effect of the decision."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import msgspec
import pytest

from domogate.domain.ids import new_id
from domogate.domain.people import Client, Grant, GrantType
from support.identity import ISSUER
from support.oauth import NATIVE, PAGE, SECRET, WEB, Browser, Provider, is_back_at, returned, tampered

pytestmark = pytest.mark.slow


def leads_to_login(answer: httpx.Response) -> dict[str, str]:
    """The query of the login page."""
    parts = urlsplit(answer.headers["location"])
    assert parts.path == "/auth/login"
    return dict(parse_qsl(parts.query, keep_blank_values=True))


class TestLogin:
    async def test_without_a_session_the_person_logs_in_and_returns_to_the_same_request(self, browser: Browser) -> None:
        answer = await browser.authorize(login_hint="anna@example.com", state="ü &=")
        login = leads_to_login(answer)
        assert login["login_hint"] == "anna@example.com"
        assert login["return_to"].startswith("/auth/authorize?")
        page = await browser.follow_login(answer)
        assert page.json()["page"] == "consent"
        assert returned(await browser.decide(page))["state"] == "ü &="

    async def test_a_cookie_that_is_nobodys_is_no_login(self, browser: Browser) -> None:
        browser.http.cookies.set("domogate_session", "nonsense")
        leads_to_login(await browser.authorize())

    async def test_prompt_none_never_shows_a_page(self, browser: Browser) -> None:
        said = returned(await browser.authorize(prompt="none"))
        assert (said["error"], said["state"], said["iss"]) == ("login_required", "xyz", ISSUER)

    @pytest.mark.parametrize("prompt", ["login", "select_account", "login consent"])
    async def test_prompt_login_asks_somebody_who_is_logged_in_and_asks_once(
        self, browser: Browser, provider: Provider, prompt: str
    ) -> None:
        await browser.log_in()
        provider.clock.advance(5)
        answer = await browser.authorize(prompt=prompt)
        leads_to_login(answer)
        provider.clock.advance(5)
        assert (await browser.follow_login(answer)).json()["page"] == "consent"

    async def test_going_back_without_logging_in_leads_to_the_login_again(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in()
        provider.clock.advance(5)
        login = leads_to_login(await browser.authorize(prompt="login"))
        leads_to_login(await browser.http.get(login["return_to"]))

    async def test_the_time_of_the_login_cannot_be_forged(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in()
        provider.clock.advance(5)
        own = leads_to_login(await browser.authorize(prompt="login", state="other"))["return_to"]
        sealed = dict(parse_qsl(urlsplit(own).query))["login_since"]
        earlier = f"0.{sealed.partition('.')[2]}"
        for since in (sealed, earlier, "0", "0.x", ".", "x.y"):
            leads_to_login(await browser.authorize(prompt="login", login_since=since))

    @pytest.mark.parametrize(("age", "is_asked"), [(59, False), (60, False), (61, True)])
    async def test_max_age_bounds_how_long_ago_the_login_was(
        self, browser: Browser, provider: Provider, age: int, is_asked: bool
    ) -> None:
        await browser.log_in()
        provider.clock.advance(age)
        answer = await browser.authorize(max_age="60")
        assert (answer.status_code == 303) is is_asked

    async def test_max_age_zero_asks_once_however_long_the_consent_takes(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in()
        provider.clock.advance(1)
        page = await browser.follow_login(await browser.authorize(max_age="0"))
        provider.clock.advance(300)
        code = returned(await browser.decide(page))["code"]
        provider.clock.advance(1)
        claims = await provider.claims((await browser.redeem(code)).json()["id_token"], "web")
        assert claims["auth_time"] == int(provider.clock.now()) - 301

    async def test_max_age_counts_for_prompt_none(self, browser: Browser, provider: Provider) -> None:
        await browser.get_tokens()
        provider.clock.advance(61)
        assert returned(await browser.authorize(max_age="60", prompt="none"))["error"] == "login_required"


class TestIdTokenHint:
    async def test_of_the_logged_in_person_changes_nothing_even_when_it_has_expired(
        self, browser: Browser, provider: Provider
    ) -> None:
        tokens = await browser.get_tokens()
        provider.clock.advance(7200)
        answer = await browser.authorize(id_token_hint=tokens["id_token"], prompt="none")
        assert returned(answer)["code"]

    async def test_of_somebody_else_leads_to_the_login(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        provider.clock.advance(5)
        await browser.log_in(provider.bruno)
        hint = tokens["id_token"]
        assert returned(await browser.authorize(id_token_hint=hint, prompt="none"))["error"] == "login_required"
        answer = await browser.authorize(id_token_hint=hint)
        assert is_back_at(await browser.follow_login(answer, provider.anna), WEB.redirect_uris[0])
        again = await browser.follow_login(answer, provider.bruno)
        assert returned(again)["error"] == "login_required"

    async def test_that_is_not_an_id_token_is_ignored(self, browser: Browser) -> None:
        tokens = await browser.get_tokens()
        for hint in ("nonsense", "a.b.c", tokens["access_token"], tampered(tokens["id_token"])):
            said = returned(await browser.authorize(id_token_hint=hint, prompt="none"))
            assert said["error"] == "login_required"
            assert returned(await browser.authorize(id_token_hint=hint))["code"]

    async def test_of_another_client_is_worth_nothing(self, browser: Browser) -> None:
        tokens = await browser.get_tokens(PAGE)
        await browser.get_tokens(WEB)
        said = returned(await browser.authorize(id_token_hint=tokens["id_token"], prompt="none"))
        assert said["error"] == "login_required"


class TestWhetherToAsk:
    async def test_a_first_request_is_asked_and_the_same_again_is_not(self, browser: Browser) -> None:
        await browser.get_tokens()
        assert returned(await browser.authorize())["code"]
        assert returned(await browser.authorize(scope="light.read"))["code"]
        assert returned(await browser.authorize(prompt="none"))["code"]

    async def test_more_scopes_are_asked_for(self, browser: Browser) -> None:
        await browser.get_tokens()
        answer = await browser.authorize(scope="openid light.read plug.write")
        assert answer.json()["scopes"] == ["openid", "light.read", "plug.write"]
        said = returned(await browser.authorize(scope="openid light.read plug.write", prompt="none"))
        assert said["error"] == "consent_required"

    async def test_scopes_that_were_unticked_are_asked_for_again(self, browser: Browser) -> None:
        said = await browser.grant_access(scope="openid light.read plug.read", scopes=["openid", "plug.read"])
        await browser.redeem(said["code"])
        assert (await browser.authorize(scope="openid light.read plug.read")).json()["page"] == "consent"
        assert returned(await browser.authorize(scope="openid plug.read"))["code"]

    async def test_a_code_that_was_never_redeemed_is_not_a_consent(self, browser: Browser) -> None:
        await browser.grant_access()
        assert (await browser.authorize()).json()["page"] == "consent"

    async def test_prompt_consent_asks_every_time(self, browser: Browser) -> None:
        await browser.get_tokens()
        assert (await browser.authorize(prompt="consent")).json()["page"] == "consent"

    async def test_offline_access_is_asked_for_every_time(self, browser: Browser) -> None:
        await browser.get_tokens(scope="openid offline_access")
        assert (await browser.authorize(scope="openid offline_access")).json()["page"] == "consent"
        said = returned(await browser.authorize(scope="openid offline_access", prompt="none"))
        assert said["error"] == "consent_required"

    async def test_another_person_is_asked(self, browser: Browser, provider: Provider) -> None:
        await browser.get_tokens()
        await browser.log_in(provider.bruno)
        assert (await browser.authorize()).json()["page"] == "consent"

    async def test_another_client_is_asked_for(self, browser: Browser) -> None:
        await browser.get_tokens()
        assert (await browser.authorize(PAGE)).json()["page"] == "consent"

    async def test_a_revoked_grant_is_asked_for_again(self, browser: Browser, provider: Provider) -> None:
        await browser.get_tokens()
        await provider.store.revoke_grants(provider.anna.id, WEB.id, provider.clock.now())
        assert (await browser.authorize()).json()["page"] == "consent"

    async def test_a_grant_by_an_operator_is_not_a_consent_of_the_person(self, browser: Browser, provider: Provider) -> None:
        await provider.store.add_grant(Grant(new_id(), provider.anna.id, WEB.id, ("openid", "light.read")))
        await browser.log_in()
        assert (await browser.authorize()).json()["page"] == "consent"

    async def test_a_client_that_anybody_could_pretend_to_be_is_asked_for_every_time(self, browser: Browser) -> None:
        await browser.get_tokens(NATIVE)
        assert (await browser.authorize(NATIVE)).json()["page"] == "consent"
        assert returned(await browser.authorize(NATIVE, prompt="none"))["error"] == "consent_required"

    async def test_a_public_client_at_an_address_of_its_own_is_not(self, browser: Browser) -> None:
        await browser.get_tokens(PAGE)
        assert returned(await browser.authorize(PAGE))["code"]


class TestTheAnswer:
    async def test_allowing_grants_what_is_ticked(self, browser: Browser, provider: Provider) -> None:
        said = await browser.grant_access(scope="openid light.read plug.read plug.write", scopes=["openid", "plug.read"])
        tokens = (await browser.redeem(said["code"])).json()
        assert tokens["scope"] == "openid plug.read"
        for token, audience in ((tokens["access_token"], "https://gateway.example"), (tokens["id_token"], "web")):
            assert (await provider.claims(token, audience))["scope"] == "openid plug.read"
        (grant,) = await provider.store.list_grants(provider.anna.id)
        assert (grant.scopes, grant.client_id, grant.flow) == (("openid", "plug.read"), "web", GrantType.AUTHORIZATION_CODE)
        assert grant.auth_time == provider.clock.now()

    async def test_nothing_can_be_ticked_that_was_not_asked_for(self, browser: Browser) -> None:
        said = await browser.grant_access(scopes=["light.read", "plug.write", "gateway.manage", "nonsense"])
        assert (await browser.redeem(said["code"])).json()["scope"] == "openid light.read"

    async def test_ticking_nothing_but_who_they_are_grants_that(self, browser: Browser) -> None:
        said = await browser.grant_access(scopes=[])
        assert (await browser.redeem(said["code"])).json()["scope"] == "openid"

    async def test_ticking_nothing_at_all_asks_again(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in()
        page = await browser.decide(await browser.authorize(scope="light.read"), scopes=[])
        assert (page.status_code, page.json()["page"], page.json()["problem"]) == (400, "consent", "scopes")
        assert returned(await browser.decide(page, scopes=["light.read"]))["code"]

    async def test_denying_is_told_to_the_application(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in()
        answer = await browser.decide(await browser.authorize(), "deny")
        assert is_back_at(answer, WEB.redirect_uris[0])
        said = returned(answer)
        assert (said["error"], said["state"], said["iss"]) == ("access_denied", "xyz", ISSUER)
        assert not await provider.store.list_grants(provider.anna.id)
        assert provider.ledger.actions() == [("consent", "refused")]

    async def test_the_response_has_a_code_the_state_and_the_issuer(self, browser: Browser) -> None:
        said = await browser.grant_access()
        assert set(said) == {"code", "state", "iss"}
        assert (said["state"], said["iss"]) == ("xyz", ISSUER)

    @pytest.mark.parametrize("state", ["xyz", None])
    async def test_the_issuer_is_never_the_last_parameter(self, browser: Browser, state: str | None) -> None:
        await browser.log_in()
        answers = [await browser.decide(await browser.authorize(state=state), decision) for decision in ("deny", "allow")]
        for answer in answers:
            names = [name for name, _ in parse_qsl(urlsplit(answer.headers["location"]).query)]
            assert names[-2] == "iss"

    async def test_in_a_fragment_where_that_is_asked_for(self, browser: Browser) -> None:
        await browser.log_in()
        answer = await browser.decide(await browser.authorize(response_mode="fragment"))
        assert set(returned(answer, "fragment")) == {"code", "state", "iss"}
        assert urlsplit(answer.headers["location"]).query == ""

    @pytest.mark.parametrize(("decision", "csrf"), [("allow", ""), ("allow", "other"), ("deny", "other"), ("perhaps", None)])
    async def test_an_answer_that_the_person_did_not_give_is_asked_for_again(
        self, browser: Browser, provider: Provider, decision: str, csrf: str | None
    ) -> None:
        await browser.log_in()
        answer = await browser.decide(await browser.authorize(), decision, csrf=csrf)
        assert answer.headers["location"].startswith(f"{ISSUER}/authorize?")
        assert (await browser.http.get(answer.headers["location"])).json()["page"] == "consent"
        assert not await provider.store.list_grants(provider.anna.id)

    async def test_an_answer_after_the_session_has_ended_leads_to_the_login(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in()
        page = await browser.authorize()
        await provider.store.end_sessions(provider.anna.id)
        answer = await browser.decide(page)
        leads_to_login(answer)
        assert (await browser.follow_login(answer)).json()["page"] == "consent"

    async def test_the_request_is_checked_again_when_it_is_answered(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in()
        page = await browser.authorize()
        await provider.store.save_client(msgspec.structs.replace(WEB, redirect_uris=("https://web.example/new",)))
        answer = await browser.decide(page)
        assert (answer.status_code, answer.json()["page"]) == (400, "error")

    async def test_neither_the_code_nor_a_secret_is_kept_or_noted(self, browser: Browser, provider: Provider) -> None:
        said = await browser.grant_access()
        assert said["code"] not in str(provider.ledger.notes)
        await browser.redeem(said["code"])
        await browser.redeem(said["code"])
        assert said["code"] not in str(provider.ledger.notes)
        assert SECRET not in str(provider.ledger.notes)
        assert provider.ledger.actions() == [("grant", "ok"), ("refusal", "refused")]


class TestDeletedMeanwhile:
    @pytest.mark.parametrize(("client", "response_type"), [(WEB, "code"), (PAGE, "id_token"), (PAGE, "id_token token")])
    @pytest.mark.parametrize("deleted", ["user", "client"])
    async def test_a_deleted_account_or_application_is_an_error_and_gets_no_grant(
        self,
        browser: Browser,
        provider: Provider,
        monkeypatch: pytest.MonkeyPatch,
        client: Client,
        response_type: str,
        deleted: str,
    ) -> None:
        """The person has pressed the button, and the account or the application is deleted before the grant is stored."""
        store = provider.store
        await browser.log_in()
        is_code = response_type == "code"
        page = await browser.authorize(client, response_type=response_type, nonce="n", scope="openid light.read")
        write, name = (store.add_code, "add_code") if is_code else (store.add_grant, "add_grant")

        async def delete_first(*given: Any) -> None:
            await (store.delete_user(provider.anna.id) if deleted == "user" else store.delete_client(client.id))
            await write(*given)

        monkeypatch.setattr(store, name, delete_first)
        said = returned(await browser.decide(page), "query" if is_code else "fragment")
        assert said["error"] == "access_denied"
