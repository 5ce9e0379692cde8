"""History and energy of a home, in a real browser."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Browser, Locator, Route, expect

from support.gateway import Gateway
from support.pages import Walk, visit

pytestmark = pytest.mark.slow

ANNA = "anna@example.com"
HOUSE = "/homes/ca5a0001-0000-4000-8000-000000000000"
ENERGY = re.compile(r"/home/v1/homes/[^/]+/energy\?")
METER = "Energy meter"
NOW = datetime(2026, 11, 18, 10, tzinfo=UTC)
"""The time of the browser in tests that depend on the calendar."""
TODAY = "2026-11-17T23:00:00.000Z"
"""Midnight in the home, which is in Italy. The browser is in Japan."""


async def test_the_pages_look_right_and_have_no_barriers(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA, width=320) as walk:
        await walk.open(f"{HOUSE}/energy")
        await walk.page.get_by_role("link", name=METER).wait_for()
        assert await walk.find_problems_everywhere("energy") == []
        await walk.page.get_by_role("link", name=METER).click()
        await walk.page.locator(".chart canvas").first.wait_for()
        await expect(walk.page.get_by_role("button", name="Zoom in").first).to_be_visible()
        assert await walk.find_problems_everywhere("history") == []


async def test_a_day_is_compared_with_the_day_before_and_has_its_cost(chromium: Browser, demo: Gateway) -> None:
    asked: list[tuple[str, str]] = []
    today, status = 12.5, 200

    async def answer(route: Route) -> None:
        query = parse_qs(urlsplit(route.request.url).query)
        (since,), (until,) = query["since"], query["until"]
        asked.append((since, until))
        used = today if since == TODAY else 10.0
        total = {"used": used, "usedBefore": None, "cost": used * 0.2, "costBefore": None, "currency": "EUR"}
        await route.fulfill(status=status, json={**total, "rooms": [], "modules": [], "simulated": False})

    async with visit(chromium, demo, who=ANNA, time_zone="Asia/Tokyo") as walk:
        await walk.page.clock.install(time=NOW)
        await walk.page.route(ENERGY, answer)
        await walk.open(f"{HOUSE}/energy")
        assert await walk.shows("12.5 kWh")
        assert await walk.shows("€2.50")
        assert await walk.shows("The times are those of the home (Europe/Rome). This device uses Asia/Tokyo.")
        assert await walk.shows("10 kWh · €2.00 in the same time of the period before")
        asked.clear()
        await walk.page.get_by_role("button", name="Earlier").click()
        assert await walk.shows("10 kWh · €2.00 in the same time of the period before")
        await expect(walk.page.locator(".energy-used")).to_have_text("10 kWh€2.00")
        (before_since, before_until), (since, until) = sorted(asked)
        assert before_until == since > before_since
        assert until == TODAY

        used, shown = walk.page.locator(".energy-used"), walk.page.locator(".period-steps strong")
        await walk.page.get_by_role("button", name="Later").click()
        await expect(used).to_contain_text("12.5 kWh")
        today = 13.0
        await walk.page.clock.fast_forward(300_000)  # then the page loads the present day again
        await expect(used).to_contain_text("13 kWh")
        status = 500
        await walk.page.clock.fast_forward(300_000)
        await expect(walk.page.get_by_role("alert")).to_contain_text(re.compile(r"Shown as of 7:\d\d"))
        await expect(used).to_contain_text("13 kWh")
        await walk.page.get_by_role("button", name="Earlier").click()
        await expect(used).to_have_count(0)  # numbers of another day are not shown
        status = 200
        await walk.page.get_by_role("button", name="Later").click()
        await expect(used).to_contain_text("13 kWh")
        await walk.page.clock.fast_forward(14 * 3_600_000)
        await expect(shown).to_contain_text("Nov 19")
        await expect(used).to_contain_text("10 kWh")
        assert all("500" in complaint for complaint in walk.complaints)
        walk.complaints.clear()


async def save_table(walk: Walk, file: Path) -> tuple[str, list[str]]:
    """The name and the lines of the file."""
    async with walk.page.expect_download() as waiting:
        await walk.page.get_by_role("button", name="Save as CSV").click()
    download = await waiting.value
    await download.save_as(file)
    return download.suggested_filename, file.read_text().splitlines()


async def test_the_history_of_devices_is_saved_as_a_table(chromium: Browser, demo: Gateway, tmp_path: Path) -> None:
    async with visit(chromium, demo, who=ANNA, time_zone="America/New_York") as walk:
        await walk.open(HOUSE)
        await walk.page.get_by_role("link", name=METER).click()
        await walk.page.get_by_role("button", name="Month", exact=True).click()
        await expect(walk.page.locator(".chart").first.locator("tbody tr").nth(27)).to_be_attached()  # a day has 24 values
        name, (head, first, *_) = await save_table(walk, tmp_path / "device.csv")
        assert (name, head) == ("Energy meter-month.csv", "at,measure,unit,mean,low,high,last,used")
        assert re.match(r"\d{4}-\d\d-\d\dT00:00:00\+0[12]:00,(energy|power),", first)  # midnight in Rome

        await walk.open(f"{HOUSE}/energy")
        name, (head, *lines) = await save_table(walk, tmp_path / "home.csv")
        assert (name, head) == ("Casa Bianchi-day.csv", "device,at,measure,unit,mean,low,high,last,used")
        assert all(re.match(r"[^,]+,\d{4}-\d\d-\d\dT\d\d:00:00\+0[12]:00,(energy|power),", line) for line in lines)
        devices = {line.partition(",")[0] for line in lines}
        assert METER in devices
        assert len(devices) > 1


DRAWN = "document.querySelector('.chart canvas').toDataURL()"


def readings_of(query: dict[str, list[str]]) -> list[dict[str, object]]:
    """One value for each hour, day or month."""
    since, until = (datetime.fromisoformat(query[name][0]) for name in ("since", "until"))
    begin = since.astimezone(ZoneInfo(query["timezone"][0]))
    match query["per"]:
        case ["hour"]:
            times = [since + timedelta(hours=number) for number in range((until - since) // timedelta(hours=1))]
        case ["day"]:
            times = [begin + timedelta(days=number) for number in range((until - since).days + 1)]
        case _:
            times = [begin.replace(month=month) for month in range(1, 13)]
    values = {"unit": "watt_hour", "mean": 1.0, "low": 1.0, "high": 1.0, "last": 1.0}
    return [
        {"at": f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", "measure": "energy", "used": 1000.0 * (number + 1), **values}
        for number, at in enumerate(times)
    ]


async def check_buttons(walk: Walk, buttons: Locator, whole: str) -> None:
    """Zoom the chart of a year with the keyboard."""

    async def press(name: str) -> None:
        await buttons.get_by_role("button", name=name).press("Enter")

    shown = buttons.get_by_role("status")
    for name in ("Move back", "Zoom out", "Move forward", "Show all"):
        await expect(buttons.get_by_role("button", name=name)).to_be_disabled()
    await press("Zoom in")
    await expect(shown).to_have_text(re.compile("Shown from .*Apr 2.* to .*Oct 1"))
    await press("Move forward")
    await expect(shown).to_have_text(re.compile("Shown from .*Jul 2.* to .*Dec 31"))
    await expect(buttons.get_by_role("button", name="Move forward")).to_be_disabled()
    await press("Move back")
    await expect(shown).to_have_text(re.compile("Shown from .*Apr 2.* to .*Oct 1"))
    await press("Zoom in")
    await press("Zoom in")
    await expect(buttons.get_by_role("button", name="Zoom in")).to_be_disabled()
    await press("Zoom out")
    await expect(buttons.get_by_role("button", name="Zoom in")).to_be_enabled()
    await press("Show all")
    await walk.page.wait_for_function(f"whole => {DRAWN} === whole", arg=whole)


async def select_with_finger(walk: Walk) -> None:
    """Move a finger sideways over the chart."""
    box = await walk.page.locator(".chart .u-over").first.bounding_box()
    assert box is not None
    screen = await walk.page.context.new_cdp_session(walk.page)
    for kind, x in (("touchStart", 200), ("touchMove", 300), ("touchMove", 500), ("touchEnd", None)):
        points = [] if x is None else [{"x": box["x"] + x, "y": box["y"] + 80}]
        await screen.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


async def test_charts_with_many_values_are_drawn_compared_and_zoomed(chromium: Browser, demo: Gateway) -> None:
    async def answer(route: Route) -> None:
        await route.fulfill(json={"items": readings_of(parse_qs(urlsplit(route.request.url).query))})

    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.page.clock.set_fixed_time(NOW)
        await walk.page.route(re.compile(r"/readings\?"), answer)
        await walk.open(HOUSE)
        await walk.page.get_by_role("link", name=METER).click()
        chart = walk.page.locator(".chart").first
        rows, plot = chart.locator("figcaption tbody tr"), chart.locator(".u-over")
        for name, values in (("Week", 168), ("Month", 30), ("Year", 12)):
            await walk.page.get_by_role("button", name=name, exact=True).click()
            await expect(rows).to_have_count(values)
            await expect(rows.last.locator("td").first).to_have_text(f"{values} kWh")
            await expect(rows.first.locator("td").last).to_have_text("1 kWh")  # of the period before
        whole = await walk.page.evaluate(DRAWN)
        await plot.hover(position={"x": 300, "y": 100})
        await walk.page.mouse.down()
        await plot.hover(position={"x": 600, "y": 100})
        await walk.page.mouse.up()
        await walk.page.wait_for_function(f"whole => {DRAWN} !== whole", arg=whole)
        await plot.dblclick(position={"x": 20, "y": 100})
        await walk.page.wait_for_function(f"whole => {DRAWN} === whole", arg=whole)
        await check_buttons(walk, chart.get_by_role("group", name="Zoom: Energy"), whole)
        await select_with_finger(walk)
        await expect(chart.get_by_role("status")).to_contain_text("Shown from")
        light = await walk.page.evaluate(DRAWN)
        await walk.page.emulate_media(color_scheme="dark")  # the chart is drawn again, with the same zoom
        await walk.page.wait_for_function(f"light => {DRAWN} !== light", arg=light)
        await expect(chart.get_by_role("status")).to_contain_text("Shown from")
        await walk.page.get_by_role("button", name="Month", exact=True).click()
        await expect(chart.get_by_role("status")).to_be_empty()  # another period is shown whole


async def test_a_period_without_values_says_so(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.open(f"{HOUSE}/energy")
        await walk.page.get_by_role("button", name="Year", exact=True).click()
        await walk.page.get_by_role("button", name="Earlier").click()
        await walk.page.get_by_role("button", name="Earlier").click()
        assert await walk.shows("Nothing was measured in this period.")
        await expect(walk.page.get_by_role("button", name="Later")).to_be_enabled()
