"""Changes of plants, rooms and modules in the console, in a real browser against a running demo."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Route, expect

from support.gateway import Gateway
from support.pages import visit

pytestmark = pytest.mark.slow

LUCIA = "lucia@example.com"
HOUSE_ID = "ca5a0001-0000-4000-8000-000000000000"
MODULES = re.compile(r"/modules(\?.*)?$")


async def test_rooms_are_added_and_modules_moved_by_drag_and_by_keyboard(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        page = walk.page
        form = page.get_by_role("dialog")
        await walk.open("/console/plants")
        await page.get_by_role("link", name="Casa Bianchi", exact=True).click()
        await page.get_by_role("link", name="Floors and ambients").click()
        await page.get_by_role("button", name="Add a floor").click()
        await form.get_by_label("Name").fill("Attic")
        await form.get_by_role("button", name="Add a floor").click()
        await page.get_by_role("button", name="Add an ambient").click()
        await form.get_by_label("Name").fill("Atelier")
        await form.get_by_label("Floor").select_option(label="Attic")
        await form.get_by_role("button", name="Add an ambient").click()
        attic = page.get_by_role("region", name="Attic", exact=True)
        atelier = attic.get_by_role("region", name="Atelier")
        await expect(atelier).to_contain_text("No module.")
        assert await walk.find_problems_everywhere("console-rooms") == []

        await page.set_viewport_size({"width": 1440, "height": 3000})  # both ends of the drag are visible
        lamp = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="Reading lamp", exact=True))
        await lamp.drag_to(atelier, source_position={"x": 10, "y": 12})
        await expect(page.get_by_role("status").filter(has_text="Reading lamp is moved.")).to_be_visible()
        await expect(atelier.get_by_role("link", name="Reading lamp")).to_be_visible()
        await page.get_by_role("button", name="Undo").click()
        await expect(atelier).to_contain_text("No module.")
        await page.get_by_label("Ambient of Reading lamp").select_option(label="Atelier")
        await expect(atelier.get_by_role("link", name="Reading lamp")).to_be_visible()
        await expect(atelier.get_by_role("button", name="Delete")).to_have_count(0)
        await page.get_by_role("button", name="Undo").click()
        await expect(atelier).to_contain_text("No module.")

        await atelier.get_by_role("button", name="Change").click()
        await form.get_by_label("Name").fill("Studio")
        await form.get_by_role("button", name="Save").click()
        await expect(attic.get_by_role("region", name="Studio")).to_be_visible()
        for region in (attic.get_by_role("region", name="Studio"), attic):
            await region.get_by_role("button", name="Delete").click()
            await form.get_by_role("button", name="Delete").click()
            await expect(region).to_have_count(0)


async def test_the_tree_shows_states_and_reasons_and_is_searched(chromium: Browser, demo: Gateway) -> None:
    lamp: dict[str, Any] = {
        "kind": "light",
        "driver": "simulator",
        "options": {},
        "simulated": True,
        "reportedAt": None,
        "state": {"of": "light", "on": True, "level": 40, "color": None},
        "reachable": True,
        "absence": None,
    }

    async def answer(route: Route) -> None:
        """One module in the first ambient, 200 in the second one, none in the others."""
        content = await (
            await route.fetch(url=f"{demo.base_url}{MODULES.sub('/content', urlsplit(route.request.url).path)}")
        ).json()
        single, large, *_ = [room for floor in content["floors"] for room in floor["ambients"]]
        items = [
            {
                **lamp,
                "id": f"00000000-0000-4000-8000-{number:012}",
                "name": f"Lamp {number}",
                "ambientId": room["id"],
                "ambient": room["name"],
            }
            for number, room in enumerate([single, *[large] * 200])
        ]
        items[7] |= {
            "reachable": False,
            "absence": {
                "why": "silent",
                "since": "2026-11-16T08:00:00Z",
                "evidence": "no report for 90 s",
                "code": "",
                "values": {},
            },
        }
        items[8] |= {"kind": "plug", "state": {"of": "plug", "on": False}}
        await route.fulfill(json={"items": items, "next": None})

    async with visit(chromium, demo, who=LUCIA) as walk:
        page = walk.page
        await page.route(MODULES, answer)
        await walk.open(f"/console/plants/{HOUSE_ID}/rooms")
        rooms, entries = page.locator(".drop-room"), page.locator(".drop-room li")
        everything = await rooms.count()
        await expect(rooms.nth(0)).to_contain_text("one module")
        await expect(rooms.nth(0).get_by_role("listitem")).to_contain_text("On: Yes · Level: 40")
        await expect(rooms.nth(1)).to_contain_text("200 modules")
        await expect(rooms.nth(2)).to_contain_text("No module.")
        await expect(entries.filter(has_text="Offline")).to_contain_text("no report for 90 s")
        assert await walk.find_problems_everywhere("console-rooms-large") == []
        await rooms.nth(1).get_by_role("button", name="Show all 200").click()
        await expect(entries).to_have_count(201)

        await page.get_by_label("Reachable").select_option("offline")
        await expect(entries).to_have_count(1)
        await expect(rooms).to_have_count(1)
        await page.get_by_label("Reachable").select_option("")
        await page.get_by_label("Kind").select_option("plug")
        await expect(entries).to_have_count(1)
        await page.get_by_label("Kind").select_option("")
        await page.get_by_role("searchbox").fill("lamp 19")
        await expect(entries).to_have_count(11)
        await page.get_by_role("searchbox").fill("nothing like this")
        assert await walk.shows("Nothing was found.")
        await page.get_by_role("searchbox").fill("")
        await expect(rooms).to_have_count(everything)


async def test_a_module_gets_another_name_and_other_options_and_the_change_is_undone(
    chromium: Browser, workshop: Gateway
) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        page = walk.page
        form = page.get_by_role("dialog")
        await walk.open("/console/plants")
        await page.get_by_role("link", name="Casa Bianchi", exact=True).click()
        await page.get_by_role("link", name="Hall lamp", exact=True).click()
        await page.get_by_role("button", name="Change", exact=True).click()
        await form.get_by_label("Name").fill("Entrance lamp")
        await form.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Entrance lamp")
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Hall lamp")

        await page.get_by_role("button", name="Change", exact=True).click()
        driver = form.get_by_label("Driver")
        await expect(driver.get_by_role("option")).to_have_text(["simulator", "mqtt", "openwebnet"])
        await driver.select_option("mqtt")
        await form.get_by_role("button", name="Save").click()
        await expect(form.get_by_role("alert")).to_contain_text("options.name")
        await form.get_by_label("name", exact=True).fill("hall_lamp")  # an option of the other driver
        await form.get_by_role("button", name="Save").click()
        await expect(page.locator(".facts")).to_contain_text("mqtt")
        await page.get_by_role("button", name="Undo").click()
        await expect(page.locator(".facts")).to_contain_text("simulator")

        await page.get_by_role("button", name="Options").click()
        await form.get_by_label("transition").fill("4000")
        await form.evaluate("dialog => dialog.querySelector('form').noValidate = true")
        await form.get_by_role("button", name="Save").click()
        await expect(form.get_by_role("alert")).to_contain_text("transition")  # the gateway checks it too
        await form.get_by_label("transition").fill("1.5")
        await form.get_by_role("button", name="Save").click()
        changed = page.get_by_role("status").filter(has_text="Hall lamp is changed.")
        await expect(changed).to_be_visible()
        await page.get_by_role("button", name="Options").click()
        await expect(form.get_by_label("transition")).to_have_value("1.5")
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Undo").click()
        await expect(changed).to_have_count(0)
        assert all("422" in complaint for complaint in walk.complaints)
        walk.complaints.clear()


async def test_wrong_json_in_an_option_is_named_at_its_field(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        page, form = walk.page, walk.page.get_by_role("dialog")
        await walk.open("/console/plants")
        await page.get_by_role("link", name="Casa Bianchi", exact=True).click()
        await page.get_by_role("link", name="Hall lamp", exact=True).click()
        await page.get_by_role("button", name="Change", exact=True).click()
        await form.get_by_label("Driver").select_option("mqtt")
        await form.get_by_label("dialect").select_option("generic")
        state = form.get_by_label("state", exact=True)
        await state.fill('{"on": {"topic": "home/hall" "path": "power"}}')
        await form.get_by_role("button", name="Save").click()
        await expect(form.get_by_role("alert")).to_contain_text("This is not JSON. Expected ',' or '}' after property value")
        await expect(state).to_have_attribute("aria-invalid", "true")
        await expect(state).to_have_value('{"on": {"topic": "home/hall" "path": "power"}}')
        await state.fill("{}")
        await expect(form.get_by_role("alert")).to_have_count(0)


async def test_a_plant_is_added_and_changed(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        page = walk.page
        form = page.get_by_role("dialog")
        await walk.open("/console/plants")
        await page.get_by_role("button", name="Add a plant").click()
        await form.get_by_label("Name").fill("Villa Verde")
        await form.get_by_label("Owner").fill("nobody-at-all@example.com")
        await form.get_by_role("button", name="Add a plant").click()
        await expect(form.get_by_role("alert")).to_contain_text("nobody-at-all@example.com")
        await form.get_by_label("Owner").fill("dario@example.com")
        await form.get_by_role("button", name="Add a plant").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Floors and ambients")
        await page.get_by_role("link", name="Villa Verde").click()
        await page.get_by_role("button", name="Change", exact=True).click()
        await form.get_by_label("Country").fill("Italia")
        await form.get_by_role("button", name="Save").click()
        await expect(page.locator(".page-head")).to_contain_text("Italia")
        await page.get_by_role("button", name="Remove the plant").click()
        await form.get_by_role("button", name="Remove the plant").click()
        await expect(page.locator(".page-head").get_by_text("Removed")).to_be_visible()
        assert all("422" in complaint for complaint in walk.complaints)
        walk.complaints.clear()


async def test_found_devices_are_placed_by_drag_and_by_pattern_and_removed_again(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        page = walk.page
        await walk.open("/console/discovery")
        await page.get_by_role("button", name="Search for devices").click()
        await page.get_by_role("dialog").get_by_label("Seconds").fill("1")
        await page.get_by_role("dialog").get_by_role("button", name="Search for devices").click()
        await page.get_by_label("Plant").select_option(label="Casa Bianchi")
        hall = page.get_by_role("region", name="Hall", exact=True)
        door = page.get_by_role("listitem").filter(has_text="hall_door")
        await expect(hall).to_be_visible()
        await door.drag_to(hall, source_position={"x": 10, "y": 12})
        await expect(hall).to_contain_text("hall_door")
        assert await walk.find_problems_everywhere("console-found") == []
        await page.get_by_label("Pattern of names").fill("{room}_*")
        await page.get_by_role("button", name="Place").click()
        await expect(page.locator(".notice").filter(has_text="devices are placed.")).to_be_visible()
        async with visit(chromium, workshop, who=LUCIA, width=320) as other:
            await other.open("/console/modules?text=hall+casa&kind=lock")
            row = other.page.get_by_role("row").filter(has_text="hall_door")
            await expect(row).to_contain_text("Casa Bianchi")
            await page.get_by_role("button", name="Undo").click()
            await expect(page.locator(".notice").filter(has_text="placed")).to_have_count(0)
            await other.page.reload()
            await other.page.get_by_role("table").wait_for()
            await expect(row).to_have_count(0)
