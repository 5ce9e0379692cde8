"""The overview of the console, in a real browser against a running demo."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Browser, Route, expect

from support.gateway import Gateway
from support.pages import Walk, visit

pytestmark = pytest.mark.slow

LUCIA = "lucia@example.com"


def minute(number: int) -> dict[str, Any]:
    until = datetime(2026, 11, 15, 8, tzinfo=UTC) + timedelta(minutes=number)
    return {
        "since": (until - timedelta(minutes=1)).isoformat(),
        "until": until.isoformat(),
        "requests": {
            "light": {"statuses": {"200": 40 + number % 7, "404": 2, "500": number % 3}, "p50Ms": 3.5, "p99Ms": 20 + number}
        },
        "streams": 2,
        "events": number % 11,
        "deliveries": {},
        "orders": {"confirmed": 3},
        "refusedLogins": 0,
        "absentModules": 6 + number % 2,
        "pendingDeliveries": number,
        "deadLetters": 0,
    }


def order(number: int, state: str) -> dict[str, Any]:
    ids = {"id": f"order-{number}", "plantId": "plant", "moduleId": "module", "userId": None}
    times = {"deadline": "2026-11-15T08:00:00Z", "queuedAt": "2026-11-15T08:00:00Z", "sentAt": None, "endedAt": None}
    what = {"command": {"type": "light", "on": True}, "problem": "" if number % 100 else "broken"}
    return {**ids, **times, **what, "state": state}


def connection(name: str, state: str) -> dict[str, Any]:
    return {"name": name, "address": f"{name}.example.com:1883", "state": state, "since": None, "problem": ""}


def gateway(number: int, **changes: Any) -> dict[str, Any]:
    name = f"gate-{number}.example.com:8080"
    named = {"id": f"gateway-{number}", "name": name, "url": f"https://{name}", "version": "0.1.0"}
    health = {"startedAt": "2026-11-15T08:00:00Z", "leaseLeft": 5.3, "shards": 341, "leaving": False, "messages": "connected"}
    return {**named, **health, "answering": False, **changes}


CLUSTER = {
    "at": "2026-11-15T08:00:00Z",
    "name": "north",
    "gateways": [gateway(1, answering=True), gateway(2, messages="cut off"), gateway(3, leaving=True)],
    "knowledgeAge": 0.012,
    "knowledgeBound": 2.0,
    "natsServer": "10.0.0.5:4222",
    "natsProblem": None,
}


async def change_overview(walk: Walk) -> None:
    """Let the page get the real overview with an hour of numbers and a problem."""

    overview: dict[str, Any] = {}

    async def answer(route: Route) -> None:
        if not overview:
            overview.update(await (await route.fetch()).json())
        overview["minutes"] = [minute(number) for number in range(60)]
        statuses = {"200": 40, "404": 2, "429": 3, "500": 6}
        overview["lastHour"]["requests"] = {"light": {"statuses": statuses, "p50Ms": 3.5, "p99Ms": 20}}
        overview["drivers"][0]["connections"] = [connection("hall", "connected"), connection("bus", "lost")]
        overview["openOrders"], overview["webhooks"]["deadLetters"] = 2, 4
        overview["lastHour"]["orders"] = {"confirmed": 1234, "failed": 5}
        driver = {"kind": "driver", "detail": "The broker refused the login.", "name": "mqtt", "count": None}
        overview["problems"] = [driver, {"kind": "server errors", "detail": "", "name": None, "count": 6}]
        overview["gateway"] = "gate-1.example.com:8080"
        await route.fulfill(json=overview)

    await walk.page.route(re.compile("/manage/v1/overview"), answer)
    await walk.page.route(re.compile("/manage/v1/cluster"), lambda route: route.fulfill(json=CLUSTER))


async def test_it_looks_right_and_has_no_barriers(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA, width=320) as walk:
        await change_overview(walk)
        await walk.open("/console")
        await expect(walk.page.locator(".chart canvas")).to_have_count(4)
        gateways = walk.page.get_by_role("table", name="Gateways")
        for words in ("gate-1.example.com:8080 answers here", "Running", "Cut off from NATS", "Stopping", "341 / 1,024"):
            await expect(gateways).to_contain_text(words)
        assert await walk.shows(
            "Cluster north. This gateway knows all changes up to 0 s ago. It gets messages from the NATS server"
        )
        assert await walk.shows("This page shows what the gateway gate-1.example.com:8080 knows.")
        assert await walk.shows("6 requests of the last hour ended with status 500. The log says why.")
        zoom = walk.page.get_by_role("group", name="Zoom: Requests per minute")
        await zoom.get_by_role("button", name="Zoom in").press("Enter")
        await expect(zoom.get_by_role("status")).to_contain_text("Shown from ")
        async with walk.page.expect_response(re.compile("/manage/v1/overview")):
            pass  # the numbers are read again
        await expect(zoom.get_by_role("button", name="Zoom out")).to_be_enabled()
        assert await walk.find_problems_everywhere("console-overview") == []


WARNINGS = {
    "en": ("for example because the disk is full", "The last backup on a schedule failed."),
    "de": ("zum Beispiel weil die Festplatte voll ist", "Die letzte regelmäßige Sicherung ist fehlgeschlagen."),
    "fr": ("par exemple parce que le disque est plein", "La dernière sauvegarde régulière a échoué."),
    "it": ("per esempio perché il disco è pieno", "L’ultimo backup regolare non è riuscito."),
}


@pytest.mark.parametrize("language", WARNINGS)
async def test_a_full_disk_and_a_failed_backup_are_shown(chromium: Browser, demo: Gateway, language: str) -> None:
    async def answer(route: Route) -> None:
        overview = await (await route.fetch()).json()
        overview["problems"] = [{"kind": kind, "detail": "x", "name": None, "count": None} for kind in ("writes", "backup")]
        await route.fulfill(json=overview)

    async with visit(chromium, demo, who=LUCIA, locale=language) as walk:
        await walk.page.route(re.compile("/manage/v1/overview"), answer)
        await walk.open("/console")
        for words in WARNINGS[language]:
            notice = walk.page.locator(".notice").filter(has_text=words)
            await expect(notice.get_by_role("link")).to_have_attribute("href", "/console/logs?level=error")
        assert await walk.find_small_targets_everywhere() == []


async def test_each_number_with_a_list_leads_to_it(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA) as walk:
        await change_overview(walk)
        await walk.open("/console")
        await expect(walk.page).to_have_url(re.compile("/console/overview$"))
        await expect(walk.page.locator(".notice").first).to_contain_text("Driver: mqtt")
        await expect(walk.page.locator(".notice").first).to_contain_text("The broker refused the login.")
        orders = walk.page.get_by_role("region", name="Orders in the last hour")
        await expect(orders).to_contain_text("1,239")
        await orders.get_by_role("link", name="Failed").click()
        await expect(walk.page.get_by_label("State")).to_have_value("failed")
        await walk.page.go_back()
        requests = walk.page.get_by_role("table", name="Requests by API")
        await expect(requests).to_contain_text("200: 40 · 404: 2 · 429: 3 · 500: 6")
        await requests.get_by_role("link", name="6", exact=True).click()
        await expect(walk.page.get_by_label("Level")).to_have_value("error")
        await walk.page.go_back()
        streams = walk.page.get_by_role("region", name="Open event streams")
        await expect(streams.get_by_role("link")).to_have_count(1)  # No page lists the streams; the link is that of the events.
        connections = walk.page.get_by_role("region", name="Connected brokers and bus gateways")
        await expect(connections).to_contain_text("1 / 2")
        await connections.get_by_role("link").click()
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Drivers")
        await walk.page.go_back()
        async with walk.page.expect_request(re.compile(r"/manage/v1/orders\?.*open=true")):
            await orders.get_by_role("link", name="Open").click()
        await expect(walk.page.get_by_label("State")).to_have_value("open")
        await walk.page.go_back()
        async with walk.page.expect_request(re.compile(r"/manage/v1/webhooks\?.*deadLetters=true")):
            await walk.page.get_by_role("link", name="Dead letters 4").click()
        await expect(walk.page.get_by_label("Dead letters", exact=True)).to_have_value("true")
        await walk.page.go_back()
        refused = re.compile(r"/manage/v1/audit\?.*action=login.*second.*successful=false.*since=20")
        async with walk.page.expect_request(refused):
            await walk.page.get_by_role("region", name="Refused logins").get_by_role("link").click()
        assert await walk.shows("Only: Login, Second step of the login, Not successful, From")
        await walk.page.go_back()
        await walk.page.get_by_role("link", name="Look at it").first.click()
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Drivers")
        await walk.page.go_back()
        await walk.page.get_by_role("region", name="Plants").get_by_role("link", name="Removed").click()
        await expect(walk.page.get_by_role("row")).to_have_count(2)  # with the row of headings


async def test_numbers_that_cannot_be_read_are_not_shown_as_present(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA) as walk:
        await walk.open("/console/overview")
        await expect(walk.page.get_by_role("region", name="Running drivers")).to_contain_text("3 / 3")
        await expect(walk.page.get_by_role("region", name="Connected brokers")).to_have_count(0)  # The demo has none.
        await expect(walk.page.locator("#gateways")).to_have_count(0)  # This gateway is not a member of a cluster.
        await walk.page.route(
            re.compile("/manage/v1/overview"), lambda route: route.fulfill(status=500, json={"title": "Broken"})
        )
        await expect(walk.page.get_by_role("alert")).to_contain_text("The gateway failed on this request.")
        await expect(walk.page.locator(".page-head")).to_contain_text(re.compile(r"as of \d"))
        await walk.page.unroute_all()
        await expect(walk.page.get_by_role("alert")).to_have_count(0)
        assert all("500" in complaint for complaint in walk.complaints)
        walk.complaints.clear()


async def test_a_long_list_stays_long_and_says_when_it_is_old(chromium: Browser, demo: Gateway) -> None:
    state, status, total = "queued", 200, 0

    async def answer(route: Route) -> None:
        query = parse_qs(urlsplit(route.request.url).query)
        first, limit = (int(query.get(name, ["0"])[0]) for name in ("after", "limit"))
        items = [order(number, state) for number in range(first, min(first + limit, total))]
        await route.fulfill(status=status, json={"items": items, "next": str(first + limit) if first + limit < total else None})

    async with visit(chromium, demo, who=LUCIA) as walk:
        await walk.page.clock.install()
        await walk.page.route(re.compile(r"/manage/v1/orders\?"), answer)
        await walk.open("/console/orders")
        table, entries = walk.page.locator(".table-box"), walk.page.locator(".table-tools [role=status]")
        await walk.page.get_by_role("searchbox").fill("broken")  # to draw 12 rows is faster than to draw 1,200
        await expect(entries).to_have_text("0 entries")
        total = 1_200
        await walk.page.clock.fast_forward(5_000)  # then the page reads the orders again
        await expect(entries).to_have_text("10 entries")
        await walk.page.get_by_role("button", name="Load more", exact=True).click()
        await expect(entries).to_have_text("12 entries")
        state = "expired"
        await walk.page.clock.fast_forward(5_000)
        await expect(table.get_by_role("row").last).to_contain_text("Expired")
        await expect(entries).to_have_text("12 entries")
        status = 500
        await walk.page.clock.fast_forward(5_000)
        await expect(table.get_by_role("alert")).to_contain_text(re.compile(r"Shown as of \d"))
        await expect(entries).to_have_text("12 entries")
        status = 200
        await table.get_by_role("button", name="Try again").click()
        await expect(table.get_by_role("alert")).to_have_count(0)
        assert all("500" in complaint for complaint in walk.complaints)
        walk.complaints.clear()
