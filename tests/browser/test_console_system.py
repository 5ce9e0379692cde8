"""Live events, settings and the log in the console, in a real browser against a running demo."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Route, expect

from support.gateway import Gateway
from support.http import async_client
from support.pages import visit

pytestmark = pytest.mark.slow

ANNA, LUCIA = "anna@example.com", "lucia@example.com"


async def test_events_are_listed_as_they_happen(chromium: Browser, workshop: Gateway) -> None:
    house = next(plant for plant in workshop.estate.plants if plant.owner == ANNA)
    async with visit(chromium, workshop, who=LUCIA) as walk:
        async with walk.page.expect_request(re.compile("/manage/v1/events")) as waiting:
            await walk.open(f"/console/events?kind=people&plant={house.id}")
        token = (await (await waiting.value).all_headers())["authorization"]
        await expect(walk.page.get_by_text("Live", exact=True)).to_be_visible()
        people = f"/manage/v1/plants/{house.id}/invitations"
        async with async_client(workshop.base_url, authorization=token) as client:
            invited = await client.post(people, json={"email": "events@example.com"})
            assert invited.status_code == 201, invited.text
            rows = walk.page.get_by_role("table", name="Events").get_by_role("row")
            await expect(rows.nth(1)).to_contain_text(re.compile("People.*Casa Bianchi"))
            await walk.page.get_by_role("button", name="Pause").click()
            assert await walk.shows("Paused.")
            await client.delete(f"{people}/events@example.com")
            await walk.page.get_by_role("button", name="Clear").click()
            assert await walk.shows("No event yet.")
            await walk.page.get_by_role("button", name="Continue").click()
            await expect(walk.page.get_by_text("Live", exact=True)).to_be_visible()
            await walk.page.get_by_label("Kind").select_option("")
            await expect(rows.nth(1)).to_contain_text("State")  # the simulated devices report all the time


async def test_settings_and_log_lines_are_shown(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        await walk.open("/console/settings?source=environment")
        row = walk.page.get_by_role("row").filter(has_text="device_deadline")
        await expect(row).to_contain_text("DOMOGATE_DEVICE_DEADLINE")
        await expect(row).to_contain_text("Default:")
        await expect(row).to_contain_text("How long a device may take to answer.")
        await walk.page.locator(".menu summary").click()
        await walk.page.locator(".language select").select_option("de")
        await expect(row).to_contain_text("So lange darf ein Gerät für seine Antwort brauchen.")
        await walk.page.locator(".language select").select_option("en")
        line = {"at": "2026-11-15T08:00:00Z", "level": "warning", "text": "the broker is slow"}
        asked: list[str] = []

        async def answer(route: Route) -> None:
            asked.append(route.request.url)
            await route.fulfill(json={"items": [line], "next": None})

        await walk.page.route(re.compile("/manage/v1/logs"), answer)
        await walk.open("/console/logs?level=error")
        await expect(walk.page.get_by_role("row").nth(1)).to_contain_text("the broker is slow")
        assert asked[0].endswith("/logs?level=error")
        await walk.page.unroute_all()
        await walk.page.get_by_label("Level").select_option("critical")
        assert await walk.shows("No line of this level.")


async def test_the_page_of_the_settings_names_the_gateway_of_a_cluster(chromium: Browser, workshop: Gateway) -> None:
    async def answer(route: Route) -> None:
        await route.fulfill(json={**await (await route.fetch()).json(), "gateway": "gate2:8080"})

    async with visit(chromium, workshop, who=LUCIA) as walk:
        await walk.page.route(re.compile("/manage/v1/settings"), answer)
        await walk.open("/console/settings")
        assert await walk.shows("This page shows what the gateway gate2:8080 knows.")
        await expect(walk.page.get_by_role("row").filter(has_text="device_deadline")).to_have_count(1)
        assert await walk.find_problems_everywhere("console-settings-cluster") == []


async def test_a_backup_is_downloaded(chromium: Browser, workshop: Gateway, tmp_path: Path) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        await walk.open("/console/backup")
        async with walk.page.expect_download() as waiting:
            await walk.page.get_by_role("button", name="Make a backup now").click()
        file = tmp_path / "backup"
        await (await waiting.value).save_as(file)
        assert file.read_bytes().startswith(b"SQLite format 3")

        async def answer(route: Route) -> None:
            overview = await (await route.fetch()).json()
            overview["database"]["kind"] = "postgresql"
            await route.fulfill(json=overview)

        await walk.page.route(re.compile("/manage/v1/overview"), answer)
        await walk.open("/console/backup")
        await expect(walk.page.locator("code").last).to_contain_text("pg_dump")
        await expect(walk.page.get_by_role("button", name="Make a backup now")).to_have_count(0)
        assert await walk.find_problems_everywhere("console-backup-postgresql") == []
