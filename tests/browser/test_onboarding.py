"""From an empty folder to a working home: the first operator, a home, an MQTT lamp, a person and an application."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from support.gateway import Gateway, running, start
from support.mosquitto import DeviceClient, Mosquitto, mosquitto
from support.pages import LOOKS, Walk, visit

pytestmark = pytest.mark.slow

OLGA, PASSWORD = "olga@example.com", "olga-opens-the-gate"
SWITCH = {"type": "light", "features": [{"type": "binary", "name": "state"}]}
LAMP = {
    "ieee_address": "0x1",
    "type": "Router",
    "friendly_name": "kitchen_lamp",
    "supported": True,
    "definition": {"model": "M", "vendor": "V", "description": "bulb", "exposes": [SWITCH]},
}
TOPIC = "zigbee2mqtt/kitchen_lamp"
BAD_FILE = "users: [{email: olga@example.com}]\nplants: [{id: x}]\n"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """A broker with a lamp that reports every change."""
    with mosquitto(tmp_path_factory.mktemp("broker")) as one:
        lamp = DeviceClient(one.port)
        lamp.publish("zigbee2mqtt/bridge/devices", json.dumps([LAMP]), retain=True)
        lamp.publish("zigbee2mqtt/bridge/state", json.dumps({"state": "online"}), retain=True)
        lamp.publish(TOPIC, json.dumps({"state": "OFF"}), retain=True)
        lamp.answer = lambda _topic, payload: lamp.publish(TOPIC, payload, retain=True, wait=False)
        lamp.listen(f"{TOPIC}/set")
        yield one
        lamp.close()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, broker: Mosquitto) -> Iterator[Gateway]:
    settings = {"DOMOGATE_MQTT_BROKERS": json.dumps([{"url": broker.url}])}
    with running(start("serve", tmp_path_factory.mktemp("empty"), settings)) as new:
        yield new


async def look_at(walk: Walk, name: str) -> None:
    """All widths, and both colour schemes."""
    assert await walk.find_problems_everywhere(name, LOOKS[1:4]) == []


async def become_operator(walk: Walk) -> None:
    """The door takes the link of `domogate init`, and the operator sets the password and logs in."""
    page = walk.page
    await walk.open("/")
    assert await walk.shows("This gateway is new")
    await look_at(walk, "onboarding-door")
    await page.get_by_label("Link from the command").fill("https://example.com/other")
    await page.get_by_role("button", name="Set the password").click()
    assert await walk.shows("This is not a link from the command.")
    link = walk.gateway.domogate("init", "--email", OLGA, "--name", "Olga").strip()
    await page.get_by_label("Link from the command").fill(link)
    await page.get_by_role("button", name="Set the password").click()
    for field in await page.locator("input[type=password]").all():
        await field.fill(PASSWORD)
    await page.locator("main button[type=submit]").click()
    await page.locator("main a.button.primary").click()
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Log in", exact=True).click()


async def set_up_continues_after_a_restart(walk: Walk) -> None:
    """The overview leads back to the first open step. Without a broker, this step says how to set one."""
    page = walk.page
    without_a_broker = {"name": "mqtt", "connections": [], "canDiscover": True}
    await page.route("**/manage/v1/drivers/mqtt", lambda route: route.fulfill(json=without_a_broker))
    follow = page.get_by_role("link", name="Continue the set-up: find devices")
    async with asyncio.timeout(30):  # the overview counts again after 5 s
        while not await follow.count():
            await walk.open("/console/overview")
            await page.locator(".tiles, .wizard").first.wait_for()
    await follow.click()
    help_text = page.locator(".notice.warn")
    await expect(help_text).to_contain_text('[[mqtt_brokers]]\nurl = "mqtt://127.0.0.1:1883"')
    await expect(help_text).to_contain_text("domogate serve --config domogate.toml")
    await expect(help_text.get_by_role("button", name="Copy")).to_have_count(2)
    await look_at(walk, "onboarding-broker")
    await walk.open("/console/discovery")
    await expect(help_text).to_contain_text("[[mqtt_brokers]]")
    await page.unroute("**/manage/v1/drivers/mqtt")
    await walk.open("/console/start")


async def test_from_an_empty_folder_to_a_lamp_that_is_switched(chromium: Browser, gateway: Gateway, tmp_path: Path) -> None:
    async with visit(chromium, gateway) as walk:
        page = walk.page
        await become_operator(walk)
        await page.wait_for_url("**/console/start")
        assert await walk.shows("The first home")
        await look_at(walk, "onboarding-home")

        await page.get_by_label("How do you want to begin?").select_option("file")
        await page.locator(".cm-content").fill(BAD_FILE)
        assert await walk.shows("plants[0].id")
        await expect(page.get_by_role("button", name="Import")).to_be_disabled()
        await page.get_by_label("How do you want to begin?").select_option("rooms")

        await page.get_by_label("Name", exact=True).fill("Casa Olga")
        await page.get_by_label("Owner").fill("nobody@example.com")
        await page.get_by_role("button", name="Create the home").click()
        await expect(page.get_by_role("alert")).to_contain_text("There is no user 'nobody@example.com'")
        assert all("422" in complaint for complaint in walk.complaints)
        walk.complaints.clear()
        await page.get_by_label("Owner").fill(OLGA)
        await page.get_by_role("button", name="Create the home").click()

        await page.get_by_role("button", name="Search for devices").wait_for()
        await set_up_continues_after_a_restart(walk)
        await page.get_by_role("button", name="Search for devices").click()
        await expect(page.get_by_label("Room of kitchen_lamp")).to_have_value(re.compile("[0-9a-f-]{36}"))
        await look_at(walk, "onboarding-devices")
        await page.get_by_role("button", name="Add 1 device", exact=True).click()

        await page.get_by_label("E-mail", exact=True).wait_for()
        await walk.open("/console/start")
        await page.get_by_label("E-mail", exact=True).fill("nina@example.com")
        await page.get_by_role("button", name="Invite").click()
        await expect(page.locator(".facts code")).to_contain_text(f"{gateway.auth_url}/password")
        await look_at(walk, "onboarding-people")
        await page.get_by_role("button", name="Next step").click()

        await page.get_by_label("Name", exact=True).fill("Lobby display")
        await page.get_by_label("Address to return to").fill("https://lobby.example/callback")
        await page.get_by_role("button", name="Register the application").click()
        await expect(page.locator(".facts code")).to_have_count(3)
        await expect(page.locator(".facts code").first).to_have_text("lobby-display")
        await look_at(walk, "onboarding-application")
        await page.get_by_role("button", name="I have stored it").click()

        assert await walk.shows("The gateway is ready")
        await look_at(walk, "onboarding-done")
        await page.get_by_role("link", name="Open the home").click()
        lamp = page.get_by_role("article", name="Lamp", exact=True)
        await lamp.get_by_role("switch").click()
        await expect(lamp.get_by_role("switch")).to_be_checked()

        await page.get_by_role("navigation", name="Pages of this home").get_by_role("link", name="People").click()
        await page.get_by_role("button", name="Invite a person").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("E-mail").fill("omar@example.com")
        await dialog.get_by_role("button", name="Invite a person").click()
        await expect(dialog.locator(".secret code")).to_contain_text(f"{gateway.auth_url}/password")
        await look_at(walk, "onboarding-guest")
        await dialog.get_by_role("button", name="I have stored it").click()

        await walk.open("/console/orders")
        await expect(page.get_by_role("link", name="Olga", exact=True)).to_be_visible()
        await walk.open("/console/settings")
        await expect(page.get_by_role("row").filter(has_text="smtp_password").first).to_contain_text("Not set")
        await expect(page.get_by_role("row").filter(has_text="mqtt_brokers").first).to_contain_text("Secret, not shown")

        await walk.open("/")
        await expect(page.get_by_text("This gateway is new")).to_have_count(0)
        await walk.open("/console")
        await page.wait_for_url("**/console/overview")
