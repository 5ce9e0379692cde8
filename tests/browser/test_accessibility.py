"""axe-core finds nothing on any page, dark on a phone and light on a desk."""

from typing import Literal

import pytest
from playwright.async_api import Browser

from domogate.domain.people import Standing
from support.browsing import Screen
from support.pages import ANNA, BRUNO, CARLA, HOUSE, PASSWORD, SCOPES, SECRET, House
from support.people import BASE_URL

pytestmark = pytest.mark.slow


async def walk(screen: Screen, home: House) -> list[str]:
    """Through every page and its mistakes; what axe-core has against them."""
    found: list[str] = []

    async def look(heading: str) -> None:
        assert await screen.heading() == heading
        found.extend(await screen.find_barriers())

    await screen.open("/auth/login")
    await look("Log in")
    await screen.fill_login(password="not it")
    await look("Log in")
    await screen.open("/auth/password/used-up")
    await look("This link is used up")
    url, _ = await home.people.add_link(await home.user(CARLA))
    await screen.open(url.removeprefix(BASE_URL))
    await look("Welcome")
    await screen.field("Password").fill("password1234")
    await screen.field("Password once more").fill("password1234")
    await screen.button("Set password").click()
    await look("Welcome")
    await screen.field("Password").fill("four green kites")
    await screen.field("Password once more").fill("four green kites")
    await screen.button("Set password").click()
    await look("Your password is set")
    await screen.open("/auth/authorize?client_id=unknown")
    await look("This request cannot be completed")

    await screen.log_in()
    await screen.page.get_by_text("What it may do").click()
    await look("Hello, Anna")
    await screen.open("/auth/account?done=ended")
    await look("Hello, Anna")
    await screen.open("/auth/account/password")
    await screen.field("Current password").fill("not it at all")
    await screen.field("New password").fill("password1234")
    await screen.field("New password once more").fill("password1234")
    await screen.button("Change password").click()
    await look("Change your password")
    await screen.open("/auth/account/second-factor")
    await screen.field("Six-digit code").fill("000000")
    await screen.button("Switch on").click()
    await look("Set up a second step")
    await screen.open(home.authorize_path(scope=" ".join(SCOPES), prompt="consent"))
    await look(f"Let {home.client.name} in?")
    await screen.open(home.authorize_path(prompt="login"))
    await look("Confirm that it is you")
    await screen.open("/auth/logout")
    await look("Log out?")
    await screen.button("Log out").click()
    await look("You are logged out")

    await screen.open("/auth/login")
    await screen.fill_login(BRUNO.email)
    await look("Enter your code")
    await screen.field("Six-digit code").fill("000000")
    await screen.button("Continue").click()
    await look("Enter your code")
    await screen.field("Six-digit code").fill(home.code())
    await screen.button("Continue").click()
    await look("Hello, Bruno")
    await screen.open(f"/auth/account/plants/leave?plant={HOUSE.id}")
    await look(f"Leave {HOUSE.name}?")
    await screen.open("/auth/account/second-factor")
    await look("Second step")
    return found


@pytest.mark.parametrize(("scheme", "width"), [("dark", 390), ("light", 1280)])
async def test_nothing_stands_in_anybodys_way(
    chromium: Browser, home: House, scheme: Literal["dark", "light"], width: int
) -> None:
    await home.let_in(ANNA, *SCOPES)
    await home.set_standing(ANNA, Standing.BOTH_EXPIRED)
    await home.change(BRUNO, totp_secret=SECRET)
    await home.sessions.log_in(ANNA.email, PASSWORD, None, "192.0.2.8", "")
    context = await chromium.new_context(
        base_url=home.base_url,
        locale="en",
        color_scheme=scheme,
        viewport={"width": width, "height": 850},
    )
    screen = Screen(await context.new_page(), home)
    assert await walk(screen, home) == []


async def test_no_page_scrolls_sideways_on_a_small_phone(chromium: Browser, home: House) -> None:
    await home.let_in(ANNA, *SCOPES)
    await home.set_standing(ANNA, Standing.BOTH_EXPIRED)
    for language in ("en", "it", "de", "fr"):
        context = await chromium.new_context(base_url=home.base_url, locale=language, viewport={"width": 320, "height": 568})
        screen = Screen(await context.new_page(), home)
        await screen.open("/auth/login")
        await screen.page.fill("#email", ANNA.email)
        await screen.page.fill("#password", PASSWORD)
        await screen.page.click("main button")
        consent = home.authorize_path(scope=" ".join(SCOPES), prompt="consent")
        for path in ("/auth/account", "/auth/account/password", "/auth/account/second-factor", consent, "/auth/logout"):
            await screen.open(path)
            assert await screen.page.evaluate("document.documentElement.lang") == language
            assert await screen.page.evaluate("document.documentElement.scrollWidth") == 320, (language, path)
        await context.close()


async def test_the_checker_finds_what_is_wrong(screen: Screen) -> None:
    await screen.open("/auth/login")
    await screen.page.evaluate("document.querySelector('label').remove()")
    assert any(": label:" in barrier for barrier in await screen.find_barriers())
