"""The door in a real browser, against a running demo."""

import gzip
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Request, expect

from domogate.console.files import ASSETS, STATIC, load_build
from support.gateway import Gateway, running, start
from support.pages import Walk, visit

pytestmark = pytest.mark.slow

ANNA = "anna@example.com"
NO_HOME = "00000000-0000-4000-8000-000000000000"
HOUSE = "/console/plants/ca5a0001-0000-4000-8000-000000000000"
FIRST_LOAD = 90_000


async def enter(walk: Walk, name: str = "Anna Bianchi", words: str = "You are logged in as Anna Bianchi.") -> None:
    """Log in at the door with one click, and return to it from the homes of this person."""
    await walk.page.get_by_role("button", name=name).click()
    await walk.page.wait_for_url("**/homes*")
    await walk.page.get_by_role("heading", level=1).wait_for()
    await walk.page.locator(".wordmark").click()
    assert await walk.shows(words)


async def test_it_looks_right_and_has_no_barriers(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, width=320) as walk:
        await walk.open("/")
        assert await walk.find_problems_everywhere("door") == []
        await enter(walk)
        await walk.page.locator(".menu summary").click()
        assert await walk.find_problems_everywhere("door-logged-in") == []


async def test_the_refusal_of_the_console_looks_right(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA, width=320) as walk:
        await walk.open("/console")
        assert await walk.shows("This area is for operators of the gateway.")
        assert await walk.find_problems_everywhere("operators-only") == []
        await walk.page.get_by_role("link", name="Back to the start page").click()
        await expect(walk.page.get_by_role("link", name="My homes")).to_be_visible()
        await expect(walk.page.get_by_role("link", name="Console")).to_have_count(0)


async def test_an_operator_of_the_demo_gets_to_the_console(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo) as walk:
        await walk.open("/")
        await walk.page.get_by_role("button", name="Lucia Orsini").click()
        await walk.page.wait_for_url("**/console*")
        await walk.page.get_by_role("heading", level=1).wait_for()


async def test_people_of_the_demo_get_to_their_homes_or_to_what_they_must_do_first(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, width=320) as walk:

        async def choose(name: str) -> None:
            await walk.open("/")
            await walk.page.get_by_role("button", name=name).click()
            await walk.page.wait_for_url("**/homes*")

        title = walk.page.get_by_role("heading", level=1)
        await choose("Dario Esposito")
        await walk.page.get_by_role("link", name="Hotel Miramare").click()
        await expect(title).to_have_text("Hotel Miramare")
        await expect(walk.page.locator(".card").first).to_be_visible()
        await choose("Gina Longo")
        await expect(walk.page.get_by_role("alert")).to_contain_text("Your password has expired.")
        assert await walk.find_problems_everywhere("password-expired") == []
        await walk.page.get_by_role("link", name="Choose a new password").click()
        await expect(title).to_have_text("Change your password")
        await choose("Hugo Marino")
        await expect(walk.page.get_by_role("alert")).to_contain_text("There are new terms.")
        await walk.open(f"/homes/{NO_HOME}")  # The page of a home has the same link.
        await walk.page.get_by_role("link", name="Read and accept the terms").click()
        await expect(title).to_have_text("Terms of use")
        await choose("Ines Neri")  # must do both: the password comes first
        await expect(walk.page.get_by_role("alert")).to_contain_text("Your password has expired.")
        await expect(walk.page.get_by_role("link", name="Read and accept the terms")).to_have_count(0)
        await walk.page.get_by_role("link", name="Choose a new password").click()
        await expect(title).to_have_text("Change your password")
        assert [complaint for complaint in walk.complaints if not re.search("status of (469|470)", complaint)] == []
        walk.complaints.clear()  # A refused request is an error in the console of the browser.


async def test_the_account_page_leads_to_the_homes_and_to_the_door(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.open("/auth/account")
        await walk.page.get_by_role("link", name="Casa Bianchi", exact=True).click()
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Casa Bianchi")
        await walk.open("/auth/account")
        await walk.page.get_by_role("link", name="Domogate").click()
        assert await walk.shows("You are logged in as Anna Bianchi.")


async def test_tokens_are_only_in_memory(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo) as walk:
        await walk.open("/")
        await enter(walk)
        await expect(walk.page).to_have_url(f"{demo.base_url}/")
        assert await walk.page.evaluate("sessionStorage.length + localStorage.length") == 0


async def test_it_finds_the_login_of_the_browser_at_each_load(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        loads: list[str] = []
        walk.page.on("load", lambda page: loads.append(page.url))
        await walk.open("/")
        assert await walk.shows("You are logged in as Anna Bianchi.")
        await walk.page.reload()
        assert await walk.shows("You are logged in as Anna Bianchi.")
        assert loads == [f"{demo.base_url}/"] * 2, "the page stays"
        assert await walk.page.evaluate("sessionStorage.length + localStorage.length") == 0


async def test_without_a_login_it_asks_once(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo) as walk:
        asked: list[str] = []
        walk.page.on("request", lambda request: asked.append(request.url) if "/auth/authorize" in request.url else None)
        await walk.open("/")
        await walk.page.wait_for_load_state("networkidle")
        await expect(walk.page.get_by_role("button", name="Log in", exact=True)).to_be_visible()
        assert ["prompt=none" in url for url in asked] == [True]


async def test_its_header_leads_back_to_the_wanted_page(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo) as walk:
        await walk.open("/homes")
        await expect(walk.page).to_have_url(f"{demo.base_url}/")
        await walk.page.locator("header.bar").get_by_role("button", name="Log in").click()
        await walk.fill_login(ANNA)
        await walk.page.wait_for_url("**/homes*")


async def test_the_header_of_another_page_leads_back_to_that_page(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo) as walk:
        await walk.open("/homes")
        await expect(walk.page).to_have_url(f"{demo.base_url}/")
        await walk.page.get_by_role("main").get_by_role("link", name="Developers").click()
        await walk.page.get_by_role("link", name="Errors").first.click()
        await walk.page.get_by_role("searchbox").fill("1004")
        address = walk.page.url
        await walk.page.locator("header.bar").get_by_role("button", name="Log in").click()
        await walk.fill_login(ANNA)
        await expect(walk.page).to_have_url(address)


async def test_each_page_has_its_own_title(chromium: Browser, demo: Gateway) -> None:
    """WCAG 2.2, 2.4.2."""
    async with visit(chromium, demo, who="lucia@example.com") as walk:
        titles = {
            "/": "Domogate",
            "/console/plants": "Plants · Console · Domogate",
            HOUSE: "Casa Bianchi · Plants · Console · Domogate",
            "/console/no-such-page": "There is no such page. · Console · Domogate",
            "/developers/errors": "Errors · Developers · Domogate",
        }
        for path, title in titles.items():
            await walk.open(path)
            await expect(walk.page).to_have_title(title)
    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.open("/homes")
        await expect(walk.page).to_have_title("My homes · Domogate")
        await walk.page.get_by_role("link", name="Casa Bianchi").click()
        await expect(walk.page).to_have_title("Casa Bianchi · My homes · Domogate")
        await walk.page.get_by_role("link", name="Energy", exact=True).click()
        await expect(walk.page).to_have_title("Energy · Casa Bianchi · My homes · Domogate")
        await walk.page.go_back()
        await walk.page.get_by_role("link", name="Kitchen", exact=True).click()
        await expect(walk.page).to_have_title("Kitchen · Casa Bianchi · My homes · Domogate")
        await walk.page.get_by_role("link", name="Ceiling lamp").click()
        await expect(walk.page).to_have_title("Ceiling lamp · Casa Bianchi · My homes · Domogate")


async def test_logging_out_ends_the_login_in_every_tab(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        other = await walk.page.context.new_page()
        for page in (walk.page, other):
            await page.goto(f"{demo.base_url}/")
            await page.get_by_text("You are logged in as Anna Bianchi.").wait_for()
        await walk.page.locator(".menu summary").click()
        await walk.page.get_by_role("button", name="Log out").click()
        for page in (walk.page, other):
            await expect(page.get_by_role("button", name="Log in", exact=True)).to_be_visible()
        await walk.page.goto(f"{demo.auth_url}/account")
        await expect(walk.page).to_have_url(f"{demo.auth_url}/login?return_to=%2Fauth%2Faccount")


async def test_the_language_can_be_changed_and_is_remembered(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, locale="it") as walk:
        await walk.open("/")
        assert await walk.shows("Il gateway per le tue case connesse.")
        await walk.page.get_by_label("Lingua").select_option("de")
        assert await walk.shows("Das Gateway zu Ihren vernetzten Häusern.")
        await walk.open("/")
        assert await walk.shows("Das Gateway zu Ihren vernetzten Häusern.")
        await expect(walk.page.locator("html")).to_have_attribute("lang", "de")


async def test_the_language_of_the_account_is_used_after_the_login(chromium: Browser, demo: Gateway) -> None:
    demo.domogate("user", "change", "elena@example.com", "--language", "fr")
    try:
        async with visit(chromium, demo) as walk:
            await walk.open("/")
            await enter(walk, "Elena Ferri", "Vous êtes connecté en tant que Elena Ferri.")
    finally:
        demo.domogate("user", "change", "elena@example.com", "--language", "browser")


async def test_a_made_up_answer_of_a_login_is_ignored(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo) as walk:
        await walk.open(f"/signed-in?code=stolen&state=made-up&iss={demo.auth_url}")
        await expect(walk.page).to_have_url(f"{demo.base_url}/")
        await expect(walk.page.get_by_role("button", name="Log in", exact=True)).to_be_visible()


async def test_tokens_are_renewed_until_the_login_ends(chromium: Browser, tmp_path: Path) -> None:
    settings = {"DOMOGATE_ACCESS_TOKEN_LIFETIME": "3", "DOMOGATE_ID_TOKEN_LIFETIME": "3"}
    with running(start("demo", tmp_path, settings)) as gateway:
        async with visit(chromium, gateway) as walk:
            renewals: list[str] = []
            walk.page.on("request", lambda request: renewals.append(request.post_data or "") if _renews(request) else None)
            await walk.open("/")
            await enter(walk)
            for _ in range(2):
                await walk.page.wait_for_event("response", lambda response: _renews(response.request) and response.ok)
            assert len(set(renewals)) == len(renewals), "each refresh token is used once"
            assert await walk.shows("You are logged in as Anna Bianchi.")
            # The login ends in another tab of the same browser. The next renewal is refused, and the page says so.
            other = await walk.page.context.new_page()
            await other.goto(f"{gateway.auth_url}/account")
            await other.get_by_role("button", name="Log out").click()
            await expect(walk.page.get_by_role("button", name="Log in", exact=True)).to_be_visible()
            assert any("400" in complaint for complaint in walk.complaints)
            walk.complaints.clear()  # The refused renewal is an error in the console of the browser.


def _renews(request: Request) -> bool:
    return request.url.endswith("/auth/token") and "refresh_token" in (request.post_data or "")


def test_the_first_load_is_small() -> None:
    build = load_build()
    assert build is not None, "the pages are not built: run ./dev web"
    for area in ("", *build.manifest.areas):
        urls = {build.script_url, *build.list_preloaded(area)}
        assert sum(len(build.files[url].gzip) for url in urls) <= FIRST_LOAD, area
        for url in urls:
            content = (STATIC / url.removeprefix(ASSETS)).read_bytes()
            assert build.files[url].encode("gzip") == (build.files[url].gzip, "gzip")
            assert gzip.decompress(build.files[url].gzip) == content
            assert build.files[url].encode("identity") == (content, None)
