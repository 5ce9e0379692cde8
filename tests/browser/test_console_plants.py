"""Plants, modules and drivers in the console, in a real browser against a running demo."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Browser, Route, expect

from support.gateway import Gateway
from support.pages import Walk, visit

pytestmark = pytest.mark.slow

LUCIA = "lucia@example.com"
HOUSE = "Casa Bianchi"


async def open_house(walk: Walk) -> None:
    await walk.open("/console/plants")
    await walk.page.get_by_role("link", name=HOUSE, exact=True).click()
    await walk.page.get_by_role("table", name="Modules").wait_for()


async def open_module(walk: Walk, name: str) -> None:
    await open_house(walk)
    await walk.page.get_by_role("searchbox", name="Modules: Search").fill(name)
    await walk.page.get_by_role("link", name=name, exact=True).click()
    await expect(walk.page.get_by_role("heading", level=1)).to_have_text(name)


async def test_the_pages_look_right_and_have_no_barriers(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA, width=320) as walk:
        await walk.open("/console/plants")
        await walk.page.get_by_role("table").wait_for()
        assert await walk.find_problems_everywhere("console-plants") == []
        await open_house(walk)
        assert await walk.find_problems_everywhere("console-plant") == []
        await walk.page.get_by_role("button", name="Invite").click()
        await walk.page.get_by_role("dialog").get_by_label("Access").select_option("some")
        assert await walk.find_small_targets_everywhere() == []
        await open_module(walk, "Thermostat ground floor")
        await walk.page.get_by_role("button", name="Send a command").wait_for()
        assert await walk.find_problems_everywhere("console-module") == []
        await walk.page.get_by_role("button", name="Send a command").click()
        assert await walk.find_problems_everywhere("console-command") == []
        await walk.open("/console/drivers")
        await walk.page.get_by_role("table").wait_for()
        assert await walk.find_problems_everywhere("console-drivers") == []


async def test_readings_are_zoomed_and_stored_as_csv(chromium: Browser, demo: Gateway, tmp_path: Path) -> None:
    asked: list[dict[str, list[str]]] = []

    async def answer(route: Route) -> None:
        query = parse_qs(urlsplit(route.request.url).query)
        asked.append(query)
        summary = {"count": 4, "mean": 21.5, "low": 20, "high": 23, "last": 22} if "resolution" in query else {"value": 21}
        head = {"measure": "temperature", "unit": "celsius", "simulated": True}
        items = [{**head, "at": f"2026-11-15T{hour:02}:00:00Z", **summary} for hour in range(10)]
        await route.fulfill(json={"items": items, "next": None})

    async with visit(chromium, demo, who=LUCIA, width=320) as walk:
        await walk.page.route(re.compile(r"/readings\?"), answer)
        await open_module(walk, "Thermostat ground floor")
        zoom = walk.page.get_by_role("group", name="Zoom:")
        await zoom.get_by_role("button", name="Zoom in").press("Enter")
        await expect(zoom.get_by_role("status")).to_contain_text("Shown from ")
        await walk.page.get_by_role("button", name="Save as CSV").click()
        form = walk.page.get_by_role("dialog")
        assert await walk.find_problems_everywhere("console-readings") == []
        await form.get_by_label("First day").fill("2026-11-14")
        await form.get_by_label("Last day").fill("2026-11-15")
        await form.get_by_label("One line for").select_option("each")
        async with walk.page.expect_download() as waiting:
            await form.get_by_role("button", name="Save as CSV").click()
        file = tmp_path / "readings.csv"
        await (await waiting.value).save_as(file)
        assert (await waiting.value).suggested_filename == "Thermostat ground floor.csv"
        lines = file.read_text().splitlines()
        assert (lines[0], lines[1]) == ("at,measure,unit,value", "2026-11-15T00:00:00Z,temperature,celsius,21")
        assert len(lines) == 11
        assert asked[-1]["since"] == ["2026-11-14T00:00:00.000Z"]
        assert asked[-1]["until"] == ["2026-11-16T00:00:00.000Z"]


async def test_a_command_is_sent_and_its_order_is_listed(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        await open_module(walk, "Reading lamp")
        for wanted in ("Yes", "No"):
            await walk.page.get_by_role("button", name="Send a command").click()
            await walk.page.get_by_role("dialog").get_by_label("On", exact=True).select_option(label=wanted)
            await walk.page.get_by_role("dialog").get_by_role("button", name="Send a command").click()
            await expect(walk.page.locator(".toast").last).to_contain_text("Confirmed")
            await expect(walk.page.get_by_role("table", name="Orders").get_by_role("row").nth(1)).to_contain_text(
                re.compile(f"Set the light On: {wanted}.*Confirmed")
            )
        await expect(walk.page.locator(".facts").get_by_text("No", exact=True)).to_be_visible()
        await walk.open("/console/orders?state=confirmed")
        row = walk.page.get_by_role("row").filter(has_text="Set the light On: No").first
        await expect(row).to_contain_text(re.compile(r"Confirmed.*\d ms.*sent after \d+ ms"))
        await expect(row.get_by_role("link", name="Reading lamp")).to_have_attribute("href", re.compile("/modules/"))
        await expect(row.get_by_role("link", name="Casa Bianchi")).to_be_visible()
        await walk.page.get_by_label("State").select_option("failed")
        await expect(walk.page).to_have_url(re.compile(r"/console/orders\?state=failed$"))
        await expect(row).to_have_count(0)


async def test_a_command_that_is_refused_says_why(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        await open_module(walk, "Reading lamp")
        await walk.page.get_by_role("button", name="Send a command").click()
        await walk.page.get_by_role("dialog").get_by_role("button", name="Send a command").click()
        await expect(walk.page.get_by_role("dialog").get_by_role("alert")).to_contain_text("must be given")
        assert all("400" in complaint for complaint in walk.complaints)
        walk.complaints.clear()


async def test_an_injected_fault_shows_why_a_module_is_offline(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        await open_module(walk, "Hall lamp")
        await walk.page.get_by_role("button", name="Inject a fault").click()
        await walk.page.get_by_role("dialog").get_by_role("button", name="Inject a fault").click()
        assert await walk.shows("A fault is injected. Since")
        await open_house(walk)
        await walk.page.get_by_label("Reachable").select_option("offline")
        row = walk.page.get_by_role("table", name="Modules").get_by_role("row").filter(has_text="Hall lamp")
        await expect(row).to_contain_text("A fault is injected.")
        await walk.open("/console/faults")
        await expect(
            walk.page.get_by_role("row").filter(has_text="Casa Bianchi").get_by_role("link", name="Hall lamp")
        ).to_be_visible()
        await walk.page.get_by_role("button", name="Clear all").click()
        await walk.page.get_by_role("dialog").get_by_role("button", name="Clear all").click()
        assert await walk.shows("No fault is injected.")
        await open_house(walk)
        await walk.page.get_by_label("Reachable").select_option("offline")
        await expect(row).to_have_count(0)


async def test_filter_and_search_find_modules(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA) as walk:
        await open_house(walk)
        rows = walk.page.get_by_role("table", name="Modules").get_by_role("row")
        everything = await rows.count()
        await walk.page.get_by_label("Kind").select_option("lock")
        await expect(rows).not_to_have_count(everything)
        await expect(rows.filter(has_text="Front door lock")).to_have_count(1)
        await walk.page.get_by_role("searchbox", name="Modules: Search").fill("nothing like this")
        assert await walk.shows("Nothing was found.")


async def test_a_plant_is_removed_and_brought_back(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        await walk.open("/console/plants")
        await walk.page.get_by_role("link", name="Studio Bianchi, Architects").click()
        await walk.page.get_by_role("button", name="Remove the plant").click()
        await walk.page.get_by_role("dialog").get_by_role("button", name="Remove the plant").click()
        await expect(walk.page.locator(".page-head").get_by_text("Removed")).to_be_visible()
        await walk.page.get_by_role("button", name="Bring the plant back").click()
        await expect(walk.page.get_by_role("button", name="Remove the plant")).to_be_visible()


async def test_a_person_is_invited_and_the_invitation_is_withdrawn(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        await open_house(walk)
        await walk.page.get_by_role("button", name="Invite").click()
        form = walk.page.get_by_role("dialog")
        await form.get_by_label("E-mail").fill("nils@example.com")
        await form.get_by_label("Access").select_option("Only these floors, ambients and modules")
        await form.get_by_role("button", name="Invite").click()
        await expect(form.get_by_role("alert")).to_have_text("Choose at least one floor, ambient or module.")
        await form.get_by_label("Kitchen", exact=True).check()
        await form.get_by_label("Until").fill("2035-03-05T11:00")
        async with walk.page.expect_request(re.compile("/invitations$")) as asked:
            await form.get_by_role("button", name="Invite").click()
        invitation = json.loads((await asked.value).post_data or "")
        assert invitation["limits"]["validUntil"] == "2035-03-05T10:00:00.000Z"  # the plant is in Italy
        await expect(form.locator(".secret")).to_contain_text(f"{workshop.auth_url}/")
        await walk.page.get_by_role("button", name="I have stored it").click()
        row = walk.page.get_by_role("row").filter(has_text="nils@example.com")
        await expect(row).to_contain_text(re.compile(r"Invited\s*Kitchen\s*–\s*Mar 5, 2035, 11:00"))
        await row.get_by_role("button", name="Limits").click()
        await expect(form.get_by_label("Until")).to_have_value("2035-03-05T11:00")
        await form.get_by_label("Hall", exact=True).check()
        await form.get_by_label("Ground floor", exact=True).check()
        modules = form.get_by_role("group", name="Modules")
        fountain = modules.get_by_label("Fountain")
        await expect(modules.get_by_text("more. Search")).to_be_visible()  # the house has more modules than a list shows
        await modules.get_by_role("searchbox").fill("fountain")
        await fountain.check()
        await modules.get_by_role("searchbox").fill("bedside")
        await expect(fountain).to_be_checked()  # a chosen module stays in the list
        await form.get_by_label("Until").fill("")
        await form.get_by_role("button", name="Save").click()
        await expect(row).to_contain_text(re.compile(r"Ground floor, Kitchen, Hall, Fountain\s*–\s*–"))
        await row.get_by_role("button", name="Limits").click()
        for label in ("Kitchen", "Hall", "Ground floor"):
            await form.get_by_label(label, exact=True).uncheck()
        await form.get_by_role("button", name="Save").click()
        await expect(row).to_contain_text(re.compile(r"Invited\s*Fountain"))
        await row.get_by_role("button", name="Withdraw").click()
        await walk.page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()
        await expect(row).to_have_count(0)
        await walk.open("/console/people")
        await walk.page.get_by_role("link", name="nils@example.com").click()
        await walk.page.get_by_role("button", name="Delete").click()
        await walk.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await walk.page.get_by_role("table", name="People").wait_for()
