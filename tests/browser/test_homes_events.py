"""Favourites and the recent events of a home, in a real browser."""

import asyncio

import pytest
from playwright.async_api import Browser, Route, expect

from support.gateway import Gateway
from support.pages import Walk, visit

pytestmark = pytest.mark.slow

ANNA, BRUNO = "anna@example.com", "bruno@example.com"
HOUSE = "/homes/ca5a0001-0000-4000-8000-000000000000"


async def press_star(walk: Walk) -> None:
    """Add or remove a favourite. The page shows it at once: wait until it is stored."""
    async with walk.page.expect_response(lambda response: response.request.method == "PUT"):
        await walk.page.get_by_role("button", name="Favourite").click()


async def test_a_favourite_is_on_top_for_its_person_only(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as anna, visit(chromium, demo, who=BRUNO) as bruno:
        await anna.open(HOUSE)
        await anna.page.get_by_role("link", name="Reading lamp").click()
        star = anna.page.get_by_role("button", name="Favourite")
        await expect(star).to_have_attribute("aria-pressed", "false")
        await press_star(anna)
        await expect(star).to_have_attribute("aria-pressed", "true")
        assert await anna.find_problems() == []
        await anna.open(HOUSE)
        favourites = anna.page.get_by_role("region", name="Favourites")
        await expect(favourites.get_by_role("article", name="Reading lamp")).to_be_visible()
        assert await anna.find_problems("favourites") == []
        await bruno.open(HOUSE)
        await expect(bruno.page.get_by_role("article", name="Reading lamp")).to_be_visible()
        await expect(bruno.page.get_by_role("region", name="Favourites")).to_have_count(0)

        await favourites.get_by_role("link", name="Reading lamp").click()
        await press_star(anna)
        await expect(star).to_have_attribute("aria-pressed", "false")
        await anna.open(HOUSE)
        await expect(favourites).to_have_count(0)


async def test_a_list_that_was_read_before_does_not_remove_a_favourite(chromium: Browser, demo: Gateway) -> None:
    reads = 0
    reading, chosen = asyncio.Event(), asyncio.Event()

    async def answer(route: Route) -> None:
        nonlocal reads
        if route.request.method == "PUT":
            await route.fulfill(status=204)
            return
        reads += 1
        if reads == 2:  # The page reads the home once more after its stream is ready.
            reading.set()
            await chosen.wait()
        await route.fulfill(json={"modules": []})

    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.page.route("**/favourites", answer)
        await walk.open(HOUSE)
        await walk.page.get_by_role("link", name="Hall lamp").click()
        await reading.wait()
        star = walk.page.get_by_role("button", name="Favourite")
        await press_star(walk)
        await expect(star).to_have_attribute("aria-pressed", "true")
        async with walk.page.expect_response("**/favourites"):
            chosen.set()
        await walk.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        await expect(star).to_have_attribute("aria-pressed", "true")


async def test_a_favourite_that_is_not_stored_is_taken_back(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.open(HOUSE)
        await walk.page.get_by_role("link", name="Hall lamp").click()
        broken = {"x-request-id": "r-2"}
        await walk.page.route("**/favourites", lambda route: route.fulfill(status=500, headers=broken, json={}))
        await walk.page.get_by_role("button", name="Favourite").click()
        assert await walk.shows("r-2")
        await expect(walk.page.get_by_role("button", name="Favourite")).to_have_attribute("aria-pressed", "false")
        walk.complaints.clear()


async def test_events_say_who_did_what_while_the_page_is_open(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as anna, visit(chromium, demo, who=BRUNO) as bruno:
        await anna.open(f"{HOUSE}/events")
        await bruno.open(HOUSE)
        card = bruno.page.get_by_role("article", name="Hall lamp")
        lamp = card.get_by_role("switch")
        before = await lamp.is_checked()
        await lamp.click()
        await expect(lamp).to_be_checked(checked=not before)
        await expect(card).to_have_attribute("aria-busy", "false")
        words = f"Bruno Conti switched {'off' if before else 'on'} Hall lamp"
        await expect(anna.page.get_by_role("listitem").filter(has_text=words).first).to_be_visible()
        await lamp.click()
        await expect(lamp).to_be_checked(checked=before)
        await expect(card).to_have_attribute("aria-busy", "false")
        await anna.page.get_by_role("link", name=words).first.click()
        await expect(anna.page.get_by_role("heading", level=1)).to_have_text("Hall lamp")


async def test_the_page_with_events_looks_right(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA, width=320) as walk:
        await walk.open(f"{HOUSE}/events")
        await walk.page.get_by_role("listitem").first.wait_for()
        assert await walk.find_problems_everywhere("events") == []
