"""History and energy of a home, in a real browser."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Browser, Route, expect

from support.gateway import Gateway
from support.pages import LOOKS, Scheme, visit

pytestmark = pytest.mark.slow

ANNA = "anna@example.com"
HOUSE = "/homes/ca5a0001-0000-4000-8000-000000000000"
ENERGY = re.compile(r"/home/v1/homes/[^/]+/energy\?")
METER = "Energy meter"


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
async def test_the_pages_look_right_and_have_no_barriers(chromium: Browser, demo: Gateway, width: int, scheme: Scheme) -> None:
    async with visit(chromium, demo, who=ANNA, width=width, scheme=scheme) as walk:
        await walk.open(f"{HOUSE}/energy")
        await walk.page.get_by_role("link", name=METER).wait_for()
        assert await walk.find_problems("energy") == []
        await walk.page.get_by_role("link", name=METER).click()
        await walk.page.locator(".chart canvas").first.wait_for()
        assert await walk.find_problems("history") == []


async def test_a_day_is_compared_with_the_day_before_and_has_its_cost(chromium: Browser, demo: Gateway) -> None:
    asked: list[dict[str, list[str]]] = []

    async def answer(route: Route) -> None:
        query = parse_qs(urlsplit(route.request.url).query)
        is_first = all(query["since"] >= other["since"] for other in asked)
        asked.append(query)
        used = 12.5 if is_first else 10.0
        total = {"used": used, "usedBefore": None, "cost": used * 0.2, "costBefore": None, "currency": "EUR"}
        await route.fulfill(json={**total, "rooms": [], "modules": [], "simulated": False})

    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.page.route(ENERGY, answer)
        await walk.open(f"{HOUSE}/energy")
        assert await walk.shows("12.5 kWh")
        assert await walk.shows("€2.50")
        assert await walk.shows("10 kWh · €2.00 in the same time of the period before")
        asked.clear()
        async with walk.page.expect_response(lambda _response: len(asked) == 2):
            await walk.page.get_by_role("button", name="Earlier").click()
        before, day = sorted(asked, key=lambda query: query["since"])
        assert before["until"] == day["since"]


async def test_the_history_of_a_device_is_saved_as_a_table(chromium: Browser, demo: Gateway, tmp_path: Path) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.open(HOUSE)
        await walk.page.get_by_role("link", name=METER).click()
        await walk.page.get_by_role("button", name="Month", exact=True).click()
        async with walk.page.expect_download() as waiting:
            await walk.page.get_by_role("button", name="Save as CSV").click()
        download = await waiting.value
        await download.save_as(tmp_path / "table.csv")
        head, first, *_ = (tmp_path / "table.csv").read_text().splitlines()
        assert head == "at,measure,unit,mean,low,high,last,used"
        assert re.match(r"\d{4}-\d\d-\d\dT[\d:]+Z,(energy|power),", first)
        assert download.suggested_filename == "Energy meter-month.csv"


async def test_a_period_without_values_says_so(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.open(f"{HOUSE}/energy")
        await walk.page.get_by_role("button", name="Year", exact=True).click()
        await walk.page.get_by_role("button", name="Earlier").click()
        await walk.page.get_by_role("button", name="Earlier").click()
        assert await walk.shows("Nothing was measured in this period.")
        await expect(walk.page.get_by_role("button", name="Later")).to_be_enabled()
