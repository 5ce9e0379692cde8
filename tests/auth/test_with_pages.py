"""The endpoints together with the real pages."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from domogate.auth.pages import Pages
from domogate.services.people import People
from support.forms import the_form
from support.identity import AUDIENCE
from support.oauth import PASSWORD, WEB, Browser, Provider, open_provider, returned
from support.people_setup import LINK_LIFETIME, RecordedMail


@pytest.fixture
async def provider(tmp_path: Path, template: Path) -> AsyncIterator[Provider]:
    async with open_provider(tmp_path, template) as provider:
        store, clock = provider.store, provider.clock
        people = People(store, provider.hasher, clock, RecordedMail(), base_url=AUDIENCE, link_lifetime=LINK_LIFETIME)
        webhooks: Any = None  # only the account pages use it
        provider.pages = Pages(provider.sessions, store, people, webhooks, clock, base_url=AUDIENCE)
        yield provider


async def go(browser: Browser, answer: httpx.Response) -> httpx.Response:
    """Follow one redirect within the gateway."""
    assert answer.status_code == 303, answer.text
    return await browser.http.get(answer.headers["location"])


async def log_in(browser: Browser, page: httpx.Response) -> httpx.Response:
    form = the_form(page.text, "/auth/login")
    form.fill(email="anna@example.com", password=PASSWORD)
    return await browser.post_form("/auth/login", form.press())


async def to_consent(browser: Browser, **changed: str | None) -> httpx.Response:
    login = await go(browser, await browser.authorize(WEB, **changed))
    return await go(browser, await log_in(browser, login))


class TestTheWholeWay:
    async def test_log_in_grant_fewer_scopes_and_get_tokens(self, browser: Browser, provider: Provider) -> None:
        page = await to_consent(browser, scope="openid light.read plug.write", state="s\n ü\"'<&>")
        assert WEB.name in page.text
        form = the_form(page.text, "/auth/authorize")
        form.untick("scope", "plug.write")
        said = returned(await browser.post_form("/auth/authorize", form.press("decision", "allow")))
        assert said["state"] == "s\n ü\"'<&>"
        tokens = (await browser.redeem(said["code"])).json()
        assert tokens["scope"] == "openid light.read"
        assert await provider.is_alive(tokens["id_token"])

    async def test_deny(self, browser: Browser) -> None:
        form = the_form((await to_consent(browser)).text, "/auth/authorize")
        answer = await browser.post_form("/auth/authorize", form.press("decision", "deny"))
        assert returned(answer)["error"] == "access_denied"

    async def test_a_form_without_its_token_grants_nothing(self, browser: Browser, provider: Provider) -> None:
        form = the_form((await to_consent(browser)).text, "/auth/authorize")
        form.fill(csrf="x")
        again = await go(browser, await browser.post_form("/auth/authorize", form.press("decision", "allow")))
        the_form(again.text, "/auth/authorize")
        assert not await provider.store.list_grants(provider.anna.id)

    async def test_prompt_login_asks_again_and_then_goes_on(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in()
        provider.clock.advance(5)
        page = await to_consent(browser, prompt="login")
        the_form(page.text, "/auth/authorize")

    async def test_the_consent_page_lets_the_form_lead_back_to_the_application(self, browser: Browser) -> None:
        policy = (await to_consent(browser)).headers["content-security-policy"]
        (targets,) = [part for part in policy.split(";") if part.strip().startswith("form-action")]
        assert "https://web.example" in targets

    async def test_an_error_page_shows_what_is_wrong_and_runs_nothing(self, browser: Browser) -> None:
        answer = await browser.authorize(redirect_uri="https://evil.example/<script>alert(1)</script>")
        assert answer.status_code == 400
        assert "https://evil.example/" in answer.text
        assert "<script" not in answer.text
        assert "location" not in answer.headers

    async def test_log_out_after_being_asked(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in()
        page = await browser.http.get("/auth/logout", params={"client_id": "web", "state": "s", "ui_locales": "it"})
        form = the_form(page.text, "/auth/logout")
        answer = await browser.post_form("/auth/logout", form.press("decision", "logout"))
        assert answer.headers["content-language"] == page.headers["content-language"] == "it"
        assert answer.status_code == 200
        assert not await provider.store.list_sessions(provider.anna.id)
