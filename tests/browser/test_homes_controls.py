"""Each kind of device in My homes is used once, and the page shows the state that the device reports.

The home has its own gateway, because other tests change the devices of the shared one.
"""

from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, expect

from support.gateway import running, start
from support.pages import visit

pytestmark = pytest.mark.slow

HOUSE = "ca5a0001-0000-4000-8000-000000000000"


async def test_each_control_shows_the_state_after_its_command(chromium: Browser, tmp_path: Path) -> None:
    with running(start("demo", tmp_path)) as demo:
        async with visit(chromium, demo, who="anna@example.com") as walk:
            page = walk.page

            def card(name: str) -> Locator:
                return page.get_by_role("article", name=name, exact=True)

            await walk.open(f"/homes/{HOUSE}")
            for remote, battery in {"Garden remote": "Battery very low", "Wall remote": "Battery full"}.items():
                await expect(card(remote)).to_contain_text(battery)

            door = card("Garage door")
            await door.get_by_role("slider").fill("4")  # the door needs 18 s for the whole way
            await expect(door).to_contain_text("4% open")
            await door.get_by_role("button", name="Close Garage door").click()
            await expect(door).to_contain_text("Closed")
            await expect(door.get_by_role("button", name="Close Garage door")).to_be_disabled()

            sockets = card("Media sockets")
            second = sockets.get_by_role("switch", name="Socket 2")
            for on, words in ((True, "4 of 4 on"), (False, "3 of 4 on")):
                await second.click()
                await expect(second).to_be_checked(checked=on)
                await expect(sockets).to_contain_text(words)

            await card("Water the garden").get_by_role("button", name="Start Water the garden").click()
            fountain = card("Fountain").get_by_role("switch")
            await expect(fountain).to_be_checked()
            await fountain.click()
            await expect(fountain).not_to_be_checked()

            camera = card("Door camera")
            await camera.get_by_role("switch").click()
            picture = camera.get_by_role("img", name="Picture of Door camera")
            await expect(picture).to_be_visible()
            await expect(picture).not_to_have_js_property("naturalWidth", 0)  # the camera ends by itself after a minute

            await page.get_by_role("link", name="Path lights").click()
            hue = page.get_by_role("slider", name="Colour", exact=True)
            for degrees in ("120", "210"):
                await hue.fill(degrees)
                await expect(hue).to_have_attribute("aria-valuetext", f"{degrees}°")
                await expect(page.get_by_text("Waiting for the device")).to_have_count(0)
                await expect(hue).to_have_value(degrees)
            assert await walk.find_problems_everywhere("lamp-with-colour") == []

            await page.get_by_role("main").get_by_role("link", name="Casa Bianchi").click()
            await page.get_by_role("link", name="Thermostat first floor").click()
            program = page.get_by_label("Program")
            await program.select_option(label="Holidays")
            await expect(page.locator(".set-point")).to_contain_text("Automatic")
            await expect(page.get_by_label("Mode")).to_have_value("automatic")
            await expect(program).to_have_value("2")
            await page.get_by_label("Mode").select_option("manual")
            await expect(page.locator(".set-point")).to_contain_text("Manual")
