"""Getting started in the portal of developers, in a real browser against a running demo."""

import asyncio
import re
import subprocess
import sys

import pytest
from playwright.async_api import Browser, Route, expect

from support.gateway import Gateway
from support.pages import Walk, visit

pytestmark = pytest.mark.slow

ANNA, FABIO = "anna@example.com", "fabio@example.com"
HOUSE = "Casa Bianchi"
RUNNERS = {"curl": ["sh", "-c"], "Python": [sys.executable, "-c"], "TypeScript": ["node", "--input-type=module", "-e"]}


async def run(code: str, language: str) -> str:
    """Run the code as it is printed, and return its output."""
    command = [*RUNNERS[language], code]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def choose_house(walk: Walk) -> None:
    await walk.page.get_by_label("Home", exact=True).select_option(HOUSE)
    await expect(walk.page.get_by_role("button", name="Read Ceiling lamp")).to_be_visible()


async def read_code(walk: Walk, language: str) -> str:
    await walk.page.get_by_role("button", name=language, exact=True).click()
    return await walk.page.get_by_role("group", name=language, exact=True).inner_text()


async def test_a_developer_makes_the_first_call(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, width=320) as walk:
        await walk.open("/")
        await walk.page.get_by_role("link", name="Developers").click()
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Getting started")
        await expect(walk.page.get_by_label("Person of the demo")).to_have_value(ANNA)
        assert await walk.find_problems_everywhere("developers-start") == []
        await walk.page.get_by_role("button", name="Log in as Anna Bianchi").click()
        await choose_house(walk)
        await expect(walk.page).to_have_url(f"{demo.base_url}/developers/start")
        await walk.page.get_by_role("button", name="Read Ceiling lamp").click()
        await walk.page.get_by_role("button", name="Send").click()
        answer = walk.page.get_by_role("region", name="Answer", exact=True)
        await expect(answer).to_contain_text("200")
        await expect(answer).to_contain_text('"name": "Ceiling lamp"')
        assert await walk.find_problems_everywhere("developers-first-call") == []
        await walk.page.reload()
        await choose_house(walk)


async def test_the_printed_calls_work_as_they_are(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=ANNA) as walk:
        await walk.open("/developers")
        await choose_house(walk)
        assert workshop.subscription_key in await read_code(walk, "curl")
        assert "Bearer ••••••••" in await read_code(walk, "curl"), "the token is hidden at first"
        await walk.page.get_by_role("button", name="Show the token").first.click()
        assert await walk.shows("Token, valid until")
        for call, expected in {
            "List my plants": f'"name":"{HOUSE}"',
            "Read Ceiling lamp": '"deviceType":"Dimmer"',
            "Switch Ceiling lamp on": "200",
        }.items():
            await walk.page.get_by_role("button", name=call).click()
            for language in RUNNERS:
                output = await run(await read_code(walk, language), language)
                assert "200" in output.split("\n")[0]
                assert expected in output
        await walk.page.get_by_role("button", name="Hide the token").first.click()
        assert "Bearer ••••••••" in await read_code(walk, "curl")


async def test_a_copied_call_has_the_token(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await walk.open("/developers")
        await choose_house(walk)
        await walk.page.get_by_role("button", name="curl: Copy").click()
        assert await walk.shows("Copied.")
        copied = await walk.page.evaluate("navigator.clipboard.readText()")
        assert "••" not in copied
        assert "200" in (await run(copied, "curl")).split("\n")[0]


async def hide_key(route: Route) -> None:
    """Serve the page as a gateway that is not a demo does: without a public key."""
    page = await route.fetch()
    await route.fulfill(response=page, body=re.sub(r'"demoKey":"[^"]+"', '"demoKey":null', await page.text()))


async def test_a_developer_without_a_home_gets_a_key_and_can_call_too(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=FABIO) as walk:
        await walk.page.route("**/developers", hide_key)
        await walk.open("/developers")
        assert await walk.shows("You have no home yet.")
        assert await walk.shows("take the first step before you send")
        await walk.page.get_by_role("button", name="Get a key of your own").click()
        assert await walk.shows("This is your new key.")
        key = await walk.page.get_by_role("group", name="Ocp-Apim-Subscription-Key").inner_text()
        assert key != workshop.subscription_key
        assert key in await read_code(walk, "curl")
        await walk.page.get_by_role("button", name="Send").click()
        await expect(walk.page.get_by_role("region", name="Answer", exact=True)).to_contain_text("204")
        assert await walk.shows("The answer has no body.")
        await walk.page.get_by_role("link", name="see and try all calls").click()
        await walk.page.get_by_role("link", name="Getting started").click()
        assert await walk.shows(key)
        await walk.page.unroute("**/developers")
        await walk.open("/developers")
        shown = walk.page.get_by_role("group", name="Ocp-Apim-Subscription-Key")
        await expect(shown).to_have_text(workshop.subscription_key)
        await walk.page.get_by_label("Subscription key", exact=True).fill(key)
        await expect(shown).to_have_text(key)
        assert key in await read_code(walk, "curl")
    workshop.domogate("key", "revoke", "First steps")
