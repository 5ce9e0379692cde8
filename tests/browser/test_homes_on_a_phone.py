"""My homes as an application on a phone: how it is installed, and a home with many devices."""

import copy
import json
import struct
from typing import Any

import pytest
from playwright.async_api import Browser, Route, expect

from support.gateway import Gateway
from support.pages import visit

pytestmark = pytest.mark.slow

ANNA = "anna@example.com"
HOUSE_ID = "ca5a0001-0000-4000-8000-000000000000"
MANY = 1_000


async def test_the_pages_can_be_installed(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA, width=320) as walk:
        await walk.open(f"/homes/{HOUSE_ID}")
        session = await walk.page.context.new_cdp_session(walk.page)
        found = await session.send("Page.getAppManifest")
        assert found["errors"] == []
        manifest = json.loads(found["data"])
        assert (manifest["start_url"], manifest["display"]) == ("/homes", "standalone")
        sizes = {icon["sizes"]: icon["src"] for icon in manifest["icons"]}
        assert sizes.keys() == {"any", "192x192", "512x512"}
        touch = await walk.page.locator("link[rel=apple-touch-icon]").get_attribute("href")
        for size, path in (("192x192", sizes["192x192"]), ("512x512", sizes["512x512"]), ("180x180", touch)):
            picture = await (await walk.page.request.get(f"{walk.gateway.base_url}{path}")).body()
            width, height = struct.unpack(">II", picture[16:24])  # the header of a PNG file
            assert f"{width}x{height}" == size


async def test_rooms_of_no_one_and_many_devices_in_a_home_of_a_thousand(chromium: Browser, demo: Gateway) -> None:
    async def answer(route: Route) -> None:
        home: dict[str, Any] = await (await route.fetch()).json()
        lamp = next(module for module in home["modules"] if module["kind"] == "light")
        single, large, *_ = [room["id"] for floor in home["floors"] for room in floor["rooms"]]
        rooms = [single, *[large] * 200, *[None] * (MANY - 201)]
        home["modules"] = [
            {**copy.deepcopy(lamp), "id": f"00000000-0000-4000-8000-{number:012}", "name": f"Lamp {number}", "roomId": room}
            for number, room in enumerate(rooms)
        ]
        await route.fulfill(json=home)

    async with visit(chromium, demo, who=ANNA, width=320) as walk:
        await walk.page.route(f"**/home/v1/homes/{HOUSE_ID}", answer)
        await walk.open(f"/homes/{HOUSE_ID}")
        await expect(walk.page.get_by_role("article")).to_have_count(MANY)
        for words in ("0 devices", "1 device", "200 devices", "799 devices"):
            await expect(walk.page.get_by_text(words, exact=True).first).to_be_attached()
        await walk.page.get_by_role("searchbox").fill("lamp 99")
        await expect(walk.page.get_by_role("article")).to_have_count(11)
        assert await walk.find_problems() == []


async def test_controls_of_devices_are_large_enough_for_a_finger(chromium: Browser, demo: Gateway) -> None:
    """Other tests look at the other pages, and at lamps and thermostats."""
    async with visit(chromium, demo, who=ANNA, width=320) as walk:
        for name in ("Kitchen shutter", "Front door lock"):
            await walk.open(f"/homes/{HOUSE_ID}")
            await walk.page.get_by_role("link", name=name).first.click()
            await expect(walk.page.get_by_role("heading", level=1)).to_have_text(name)
            assert await walk.find_small_targets() == []
        await walk.page.locator("main button").first.evaluate(
            "button => { button.style.cssText = 'min-height: 0; height: 40px' }"
        )
        problems = await walk.find_problems_everywhere()
        assert problems
        assert all("320-" in problem and "too small" in problem for problem in problems)


async def test_only_a_touch_of_its_ring_turns_the_dial_of_a_thermostat(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA, width=320) as walk:
        await walk.open(f"/homes/{HOUSE_ID}")
        await walk.page.get_by_role("link", name="Thermostat ground floor").click()
        dial = walk.page.get_by_role("slider")
        before = await dial.get_attribute("aria-valuenow")
        box = await dial.bounding_box()
        assert box is not None
        size = box["width"]
        for x, y in ((0.5, 0.5), (0.4, 0.65), (0.02, 0.02)):  # the numbers, and a corner
            await dial.click(position={"x": x * size, "y": y * size})
            await expect(dial).to_have_attribute("aria-valuenow", before or "")
        async with walk.page.expect_response(lambda answer: answer.url.endswith("/commands")) as waiting:
            await dial.click(position={"x": 0.5 * size, "y": 0.08 * size})
        assert json.loads((await waiting.value).request.post_data or "{}")["setPoint"] == 17.5
