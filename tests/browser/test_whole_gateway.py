"""The whole gateway in its own process: with a real browser a person gives an application access and removes it again."""

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from support.browser_tab import PATIENCE, allow_access
from support.gateway import Gateway
from support.pkce import challenge_of
from support.spec_operations import E8, E16

pytestmark = pytest.mark.slow

CLIENT = "demo-classic"
"""It sends its access token to all families. Other tests do not use its tokens."""
VERIFIER = "a-verifier-of-at-least-forty-three-characters"


async def remove_in_the_account(page: Page, demo: Gateway, _plant: str) -> None:
    await page.goto(f"{demo.auth_url}/account")
    await page.get_by_role("button", name="Remove Demo classic app").click()
    await page.get_by_role("status").wait_for()


async def remove_in_the_home(page: Page, demo: Gateway, plant: str) -> None:
    await page.goto(f"{demo.base_url}/homes/{plant}/people")
    await page.get_by_role("button", name="Remove access of Demo classic app").click()
    await page.get_by_role("dialog").get_by_role("button", name="Yes, end it").click()
    await expect(page.get_by_role("button", name="Remove access of Demo classic app")).to_have_count(0)


@pytest.mark.parametrize("remove", [remove_in_the_account, remove_in_the_home])
async def test_an_application_gets_what_was_granted_until_it_is_removed(
    chromium: Browser, demo: Gateway, remove: Callable[[Page, Gateway, str], Awaitable[None]]
) -> None:
    client = next(it for it in demo.ready["clients"] if it["client_id"] == CLIENT)
    redirect_uri = client["redirect_uris"][0]
    who, light = demo.case(E8)
    query = {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": redirect_uri,
        "scope": "light.read plug.read",
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
        "login_hint": who,
        "ui_locales": "en",
    }
    context = await chromium.new_context()
    context.set_default_timeout(PATIENCE)
    page = await context.new_page()
    await page.goto(f"{demo.auth_url}/authorize?{urlencode(query)}")
    await page.get_by_label("Password").fill(demo.people[who].password)
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_label("See your plugs").uncheck()
    address = await allow_access(page, redirect_uri)
    page = await context.new_page()

    form = {
        "grant_type": "authorization_code",
        "code": parse_qs(urlsplit(address).query)["code"][0],
        "redirect_uri": redirect_uri,
        "code_verifier": VERIFIER,
        "client_id": CLIENT,
        "client_secret": client["client_secret"],
    }
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE / 1000) as application:
        tokens = (await application.post(f"{demo.auth_url}/token", data=form)).json()
    token = tokens["access_token"]
    assert tokens["scope"] == "light.read"
    assert demo.send(E8, light, token=token).status_code == 200
    assert demo.send(E16, {"plant": light["plant"]}, token=token).status_code == 401

    await remove(page, demo, light["plant"])
    assert demo.send(E8, light, token=token).status_code == 401
    await context.close()
