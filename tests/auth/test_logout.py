"""{auth_url}/logout: OpenID Connect RP-Initiated Logout 1.0."""

from typing import Any
from urllib.parse import urlencode

import httpx
import jwt
import pytest

from domogate.auth.pages import COOKIE
from support.identity import ISSUER
from support.oauth import CLASSIC, Browser, Provider, tampered
from support.token_forger import encode

BYE = "https://web.example/bye"


async def log_out(browser: Browser, **query: str) -> httpx.Response:
    return await browser.http.get("/auth/logout", params=query)


async def is_logged_in(browser: Browser, provider: Provider) -> bool:
    return bool(await provider.store.list_sessions(provider.anna.id))


async def answer_question(browser: Browser, page: httpx.Response, decision: str, **changed: str) -> httpx.Response:
    shown = page.json()
    assert shown["page"] == "logout"
    return await browser.post_form("/auth/logout", {**shown["fields"], "decision": decision, "csrf": shown["csrf"], **changed})


class TestWithAHint:
    async def test_the_session_ends_at_once_and_the_browser_goes_back(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        answer = await log_out(browser, id_token_hint=tokens["id_token"], post_logout_redirect_uri=BYE, state="a b\r\n")
        assert answer.headers["location"] == f"{BYE}?state=a+b%0D%0A"
        assert answer.headers["set-cookie"].startswith(f'{COOKIE}=""')
        assert not await is_logged_in(browser, provider)
        assert ("logout", "ok") in provider.ledger.actions()

    async def test_without_a_state_the_address_is_as_registered(self, browser: Browser) -> None:
        tokens = await browser.get_tokens()
        answer = await log_out(browser, id_token_hint=tokens["id_token"], post_logout_redirect_uri=BYE)
        assert answer.headers["location"] == BYE

    async def test_that_has_expired(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        provider.clock.advance(80_000)
        assert (await log_out(browser, id_token_hint=tokens["id_token"])).json()["page"] == "logged out"
        assert not await is_logged_in(browser, provider)

    async def test_tokens_that_were_granted_go_on(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        await log_out(browser, id_token_hint=tokens["id_token"])
        assert await provider.is_alive(tokens["access_token"])

    async def test_of_somebody_else_it_asks(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        await browser.log_in(provider.bruno)
        answer = await log_out(browser, id_token_hint=tokens["id_token"], post_logout_redirect_uri=BYE)
        assert answer.json()["page"] == "logout"

    async def test_that_is_not_an_id_token_it_asks(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens()
        rest = tokens["id_token"].partition(".")[2]
        with_crit = encode({**jwt.get_unverified_header(tokens["id_token"]), "crit": 1})
        for hint in ("nonsense", tokens["access_token"], tampered(tokens["id_token"]), f"{with_crit}.{rest}"):
            assert (await log_out(browser, id_token_hint=hint)).json()["page"] == "logout"
        assert await is_logged_in(browser, provider)

    async def test_when_nobody_is_logged_in_the_browser_goes_back_all_the_same(self, browser: Browser) -> None:
        tokens = await browser.get_tokens()
        browser.http.cookies.clear()
        answer = await log_out(browser, id_token_hint=tokens["id_token"], post_logout_redirect_uri=BYE)
        assert answer.headers["location"] == BYE


class TestWithoutAHint:
    async def test_it_asks_and_logs_out_on_yes(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in()
        page = await log_out(browser, client_id="web", post_logout_redirect_uri=BYE, state="s")
        assert await is_logged_in(browser, provider)
        assert page.json()["client"] == "web"
        answer = await answer_question(browser, page, "logout")
        assert answer.headers["location"] == f"{BYE}?state=s"
        assert not await is_logged_in(browser, provider)

    async def test_and_does_not_on_no(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in()
        answer = await answer_question(browser, await log_out(browser), "stay")
        assert answer.headers["location"] == f"{ISSUER}/account"
        assert await is_logged_in(browser, provider)

    async def test_nor_when_somebody_else_answers(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in()
        answer = await answer_question(browser, await log_out(browser), "logout", csrf="other")
        assert answer.json()["page"] == "logout"
        assert await is_logged_in(browser, provider)

    async def test_an_answer_after_the_session_has_ended_is_good(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in()
        page = await log_out(browser)
        await provider.store.end_sessions(provider.anna.id)
        assert (await answer_question(browser, page, "logout")).json()["page"] == "logged out"

    async def test_without_a_session_the_logged_out_page_is_shown(self, browser: Browser) -> None:
        assert (await log_out(browser)).json()["page"] == "logged out"


class TestRefused:
    @pytest.mark.parametrize(
        "query",
        [
            {"post_logout_redirect_uri": BYE},
            {"client_id": "nobody"},
            {"client_id": "nobody", "post_logout_redirect_uri": BYE},
            {"client_id": "web", "post_logout_redirect_uri": "https://evil.example/"},
            {"client_id": "web", "post_logout_redirect_uri": f"{BYE}/"},
            {"client_id": "web", "post_logout_redirect_uri": f"{BYE}?x=1"},
            {"client_id": "web", "post_logout_redirect_uri": "https://web.example/back"},
            {"client_id": "web", "post_logout_redirect_uri": f"{BYE}\r\nSet-Cookie: a=b"},
            {"client_id": "classic", "post_logout_redirect_uri": BYE},
            {"id_token_hint": "nonsense", "post_logout_redirect_uri": BYE},
        ],
    )
    async def test_an_address_that_is_not_the_clients_gets_an_error_page(
        self, browser: Browser, provider: Provider, query: Any
    ) -> None:
        await browser.log_in()
        answer = await log_out(browser, **query)
        assert (answer.status_code, answer.json()["page"]) == (400, "error")
        assert "location" not in answer.headers
        assert await is_logged_in(browser, provider)

    async def test_a_hint_of_another_client(self, browser: Browser, provider: Provider) -> None:
        tokens = await browser.get_tokens(CLASSIC)
        answer = await log_out(browser, id_token_hint=tokens["id_token"], client_id="web", post_logout_redirect_uri=BYE)
        assert answer.status_code == 400
        assert await is_logged_in(browser, provider)

    async def test_a_parameter_twice(self, browser: Browser) -> None:
        assert (await browser.http.get("/auth/logout?state=a&state=b")).status_code == 400
        assert (await browser.post_form("/auth/logout", [("state", "a"), ("state", "b")])).status_code == 400

    async def test_other_methods(self, browser: Browser) -> None:
        assert (await browser.http.delete("/auth/logout")).status_code == 405


class TestPost:
    async def test_a_request_as_a_form_goes_on_as_a_query(self, browser: Browser) -> None:
        """A form of another site is sent without the cookie; the redirect that follows has it."""
        query = {"client_id": "web", "post_logout_redirect_uri": BYE}
        answer = await browser.post_form("/auth/logout", query)
        assert answer.headers["location"] == f"{ISSUER}/logout?{urlencode(query)}"
