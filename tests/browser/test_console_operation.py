"""Webhooks, emergency lighting, audit log and signing keys in the console, in a real browser against a running demo."""

import json
import re
from datetime import datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Browser, Route, expect

from support.gateway import Gateway
from support.http import async_client
from support.pages import Walk, visit

pytestmark = pytest.mark.slow

ANNA, LUCIA = "anna@example.com", "lucia@example.com"
SITE = "Ospedale San Luca"
HOUSE = "ca5a0001-0000-4000-8000-000000000000"
LAMP = "ca5a0001-0001-4000-8000-000000000001"
URL = "http://127.0.0.1:9/console-test"


async def open_site(walk: Walk) -> None:
    await walk.open("/console/safety")
    await walk.page.get_by_role("link", name=SITE).click()
    await walk.page.get_by_role("region", name="Logbook").wait_for()
    await walk.page.get_by_role("table", name="Units").wait_for()


async def test_the_pages_look_right_and_have_no_barriers(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA, width=320) as walk:
        await walk.open("/console/webhooks")
        await expect(walk.page.locator(".table-box")).to_be_visible()
        assert await walk.find_problems_everywhere("console-webhooks") == []
        for name in ("audit", "signing_keys", "safety"):
            await walk.open(f"/console/{name}")
            await walk.page.get_by_role("table").wait_for()
            assert await walk.find_problems_everywhere(f"console-{name}") == []
        await open_site(walk)
        assert await walk.find_problems_everywhere("console-site") == []


async def test_a_webhook_shows_its_dead_letters_and_is_deleted(chromium: Browser, workshop: Gateway) -> None:
    anna = workshop.people[ANNA]
    headers = {"authorization": f"Bearer {anna.id_token}", "ocp-apim-subscription-key": workshop.subscription_key}
    plant = next(plant for plant in workshop.estate.plants if plant.owner == ANNA)
    async with async_client(workshop.base_url, **headers) as client:
        created = await client.post("/webhooks", json={"plantId": plant.id, "url": URL})
        assert created.status_code == 201, created.text
    letter = {"id": "7", "time": "2026-11-15T08:00:00Z", "what": "module", "attempts": 9, "problem": "refused"}
    letter |= {"moduleId": LAMP, "moduleName": "Ceiling lamp"}
    sent: list[object] = []

    async def answer_letters(route: Route) -> None:
        if route.request.method == "POST":
            sent.append(json.loads(route.request.post_data or ""))
            await route.fulfill(json={"replayed": 1})
        else:
            await route.fulfill(json={"items": [] if sent else [{**letter, "deadAt": None}], "next": None})

    async with visit(chromium, workshop, who=LUCIA) as walk:
        await walk.page.route(re.compile("/dead-letters"), answer_letters)
        await walk.open("/console/webhooks")
        await walk.page.get_by_role("link", name=URL).click()
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Webhook")
        await expect(walk.page.locator(".facts")).to_contain_text(re.compile(r"Person\s*Anna Bianchi\s*Plant\s*Casa Bianchi"))
        await walk.page.get_by_role("button", name="Send a test event").click()
        await expect(walk.page.locator(".toast")).to_contain_text("Answer of the receiver:")  # nobody listens at this port
        await expect(walk.page.get_by_role("table", name="Last deliveries")).to_contain_text("test_")
        assert await walk.find_problems_everywhere("console-webhook") == []
        await walk.page.set_viewport_size({"width": 768, "height": 2000})
        await expect(walk.page.get_by_role("columnheader", name="Duration")).to_be_in_viewport(ratio=1)
        letters = walk.page.get_by_role("table", name="Dead letters")
        await expect(letters.get_by_role("link", name="Ceiling lamp")).to_have_attribute(
            "href", re.compile(f"/modules/{LAMP}$")
        )
        await expect(letters.get_by_role("link", name="Casa Bianchi")).to_be_visible()
        await walk.page.get_by_role("button", name="Deliver again").click()
        assert await walk.shows("1 event is delivered again.")
        assert await walk.shows("No event was given up.")
        assert sent == [{"ids": ["7"]}]
        await walk.page.route(re.compile("/manage/v1/plants/"), lambda route: route.fulfill(status=404, json={}))
        await walk.page.reload()
        await expect(walk.page.locator(".facts")).to_contain_text(f"Deleted plant {plant.id[:8]}")
        await expect(walk.page.locator(".facts").get_by_role("link", name="Casa Bianchi")).to_have_count(0)
        assert all("404" in complaint for complaint in walk.complaints)
        walk.complaints.clear()
        await walk.page.get_by_role("button", name="Delete").click()
        await walk.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Webhooks")
        await expect(walk.page.get_by_text(URL)).to_have_count(0)


async def test_the_report_of_a_site_is_downloaded(chromium: Browser, demo: Gateway, tmp_path: Path) -> None:
    async with visit(chromium, demo, who=LUCIA) as walk:
        await open_site(walk)
        form = walk.page.get_by_role("dialog")
        await walk.page.get_by_role("button", name="Make the report").click()
        assert await walk.find_problems_everywhere("console-report") == []
        await form.get_by_label("First day").fill("2026-10-01")
        await form.get_by_label("Last day").fill("2026-10-31")
        await form.get_by_label("Responsible person").fill("Elena Ferri")
        async with walk.page.expect_request(re.compile("/safety/report")) as asked:
            await form.get_by_role("button", name="Make the report").click()
        query = parse_qs(urlsplit((await asked.value).url).query)
        first, end = (datetime.fromisoformat(query[name][0]) for name in ("since", "until"))
        assert (end - first).days == 31
        assert query["responsible"] == ["Elena Ferri"]
        await expect(walk.page.get_by_role("link", name="Open the PDF")).to_have_attribute("href", re.compile("^blob:"))
        async with walk.page.expect_download() as waiting:
            await walk.page.get_by_role("link", name="Download the PDF").click()
        file = tmp_path / "report.pdf"
        await (await waiting.value).save_as(file)
        assert file.read_bytes().startswith(b"%PDF-")

        await walk.page.get_by_role("button", name="Tables as CSV").click()
        await form.get_by_label("First day").fill("2026-10-31")
        await form.get_by_label("Last day").fill("2026-10-01")
        await form.get_by_role("button", name="Tables as CSV").click()
        await expect(form.get_by_role("alert")).to_contain_text("The period ends before it begins.")
        await form.get_by_label("Last day").fill("")
        async with walk.page.expect_download() as waiting:
            await form.get_by_role("button", name="Tables as CSV").click()
        table = await waiting.value
        assert table.suggested_filename == f"{SITE}-units.csv"
        await table.save_as(file)
        assert file.read_text().startswith("kind,name,place,")
        assert all("400" in complaint for complaint in walk.complaints)
        walk.complaints.clear()


async def test_a_person_writes_into_the_logbook(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        await open_site(walk)
        await walk.page.get_by_role("button", name="Write an entry").click()
        form = walk.page.get_by_role("dialog")
        unit = form.get_by_label("Module").get_by_role("option").filter(has_text="Exit sign").first
        name = (await unit.text_content() or "").split(",")[0]
        await form.get_by_label("Module").select_option(value=await unit.get_attribute("value"))
        await form.get_by_label("Time").fill("2026-03-04T10:15")
        await form.get_by_label("By").fill("Lucia Orsini")
        await form.get_by_label("Text").fill("Looked at all exit signs.")
        await form.get_by_role("button", name="Write an entry").click()
        row = (
            walk.page.get_by_role("table", name="Logbook").get_by_role("row").filter(has_text="Looked at all exit signs.").first
        )
        await expect(row).to_contain_text("Inspection")
        await expect(row).to_contain_text(name)
        await expect(row).to_contain_text("10:15")


async def test_the_audit_log_names_things_with_links(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.open(f"/homes/{HOUSE}")
        async with walk.page.expect_response(re.compile("/commands$")):
            await walk.page.get_by_role("article", name="Hall lamp").get_by_role("switch").click()
    async with visit(chromium, demo, who=LUCIA) as walk:
        await walk.open(f"/console/audit?email={ANNA}&action=command")
        row = walk.page.get_by_role("row").filter(has_text="Hall lamp").first
        lamp = row.get_by_role("link", name="Hall lamp")
        await expect(lamp).to_have_attribute("title", re.compile("^[0-9a-f-]{36}$"))
        await expect(row.get_by_role("link", name=ANNA)).to_be_visible()
        assert await walk.find_problems_everywhere("console-audit-names") == []
        await lamp.click()
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Hall lamp")


async def test_the_audit_log_is_searched_verified_and_exported(chromium: Browser, demo: Gateway, tmp_path: Path) -> None:
    async with visit(chromium, demo, who=LUCIA) as walk:
        await walk.open("/console/audit")
        form = walk.page.get_by_role("dialog")
        rows = walk.page.get_by_role("table").get_by_role("row")
        await walk.page.get_by_role("button", name="Find entries").click()
        await form.get_by_label("E-mail").fill(LUCIA)
        await form.get_by_label("Action").select_option("login")
        await form.get_by_role("button", name="Find entries").click()
        assert await walk.shows(f"Only: {LUCIA}, login")
        await expect(rows.nth(1)).to_contain_text("Login")
        await expect(rows.nth(1).get_by_role("link", name=LUCIA)).to_be_visible()  # the log itself has a pseudonym
        await walk.open(f"/console/audit?email={LUCIA}&action=login&until=2026-01-01T00:00:00Z")
        assert await walk.shows("No entry was found.")
        await walk.open("/console/audit")
        async with walk.page.expect_request(re.compile(r"/manage/v1/audit\?.*since=.*until=")) as asked:
            await walk.page.get_by_label("Days").select_option("yesterday")
        query = parse_qs(urlsplit((await asked.value).url).query)
        first, end = (datetime.fromisoformat(query[name][0]) for name in ("since", "until"))
        assert (end - first).days == 1
        await walk.page.get_by_role("button", name="Verify").click()
        await form.get_by_role("button", name="Verify").click()
        assert await walk.shows("unchanged.")
        async with walk.page.expect_download() as waiting:
            await walk.page.get_by_role("button", name="Export").click()
        file = tmp_path / "audit.jsonl"
        await (await waiting.value).save_as(file)
        lines = file.read_text().splitlines()
        assert "login" in [json.loads(line)["entry"]["action"] for line in lines]


async def test_signing_keys_are_rotated_only_after_a_question(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA) as walk:
        sent: list[object] = []

        async def take(route: Route) -> None:
            sent.append(json.loads(route.request.post_data or ""))
            await route.fulfill(status=201, json={"kid": "k", "keys": []})

        await walk.page.route(re.compile("/rotation$"), take)
        await walk.open("/console/signing_keys")
        await expect(walk.page.get_by_role("table")).to_contain_text("Current")
        await walk.page.get_by_role("button", name="Rotate").click()
        assert sent == []
        await walk.page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
        await expect(walk.page.get_by_role("dialog")).to_have_count(0)
        assert sent == [{"emergency": False}]


async def test_the_first_application_gets_its_key_at_the_second_attempt(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        page, keys = walk.page, re.compile("/subscriptions$")
        await page.route(keys, lambda route: route.fulfill(status=409, json={"detail": "No key."}))
        await walk.open("/console/start?step=application")
        await page.get_by_label("Name", exact=True).fill("Lobby display")
        await page.get_by_label("Address to return to").fill("https://lobby.example/callback")
        await page.get_by_role("button", name="Register the application").click()
        await expect(page.get_by_role("alert")).to_contain_text("No key.")
        await page.unroute(keys)
        await page.get_by_label("Address to return to").fill("https://lobby.example/login")
        await page.get_by_role("button", name="Register the application").click()
        shown = page.locator(".facts code")
        await expect(shown).to_have_count(3)  # the id, the secret of the first attempt, and the key
        await expect(shown.first).to_have_text("lobby-display")
        assert all("409" in complaint for complaint in walk.complaints), walk.complaints
        walk.complaints.clear()
        await walk.open("/console/applications/lobby-display")
        await expect(page.get_by_text("https://lobby.example/login")).to_be_visible()
