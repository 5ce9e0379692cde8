"""The reference of the portal of developers, in a real browser against a running demo."""

import pytest
from playwright.async_api import Browser, expect

from support.gateway import Gateway
from support.http import async_client
from support.pages import Walk, visit

pytestmark = pytest.mark.slow

ANNA, LUCIA = "anna@example.com", "lucia@example.com"
HOUSE = "Casa Bianchi"
EVERYDAY_WORDS = {
    "lamp": "Get light status",
    "switch": "Set plug status",
    "turn on": "Set light status",
    "door": "Open lock",
    "heating": "Get chronothermostat status",
}
OPEN_ALL = """async pages => {
    const shown = selector => [...document.querySelectorAll(selector)].map(one => one.textContent);
    const wrong = [];
    for (const [path, title] of pages) {
        history.pushState(null, '', path);
        dispatchEvent(new PopStateEvent('popstate'));
        const ready = () => shown('h1')[0] === title && shown('h2').includes('Answers');
        const end = performance.now() + 60_000;
        while (!ready() && performance.now() < end) await new Promise(requestAnimationFrame);
        if (!ready()) wrong.push(path);
    }
    return wrong;
}"""
"""Opens pages one after the other, and returns those that do not show their operation."""


async def open_operation(walk: Walk, api: str, operation: str) -> None:
    await walk.open(f"/developers/reference/{api}/{operation}")
    await walk.page.get_by_role("heading", name="Answers", exact=True).wait_for()


async def send(walk: Walk) -> str:
    """Send the call, and return the answer as text. A former answer is not shown any more after the click."""
    await walk.page.get_by_role("button", name="Send").click()
    return await walk.page.get_by_role("region", name="Answer", exact=True).inner_text()


async def choose(walk: Walk, parameter: str, words: str) -> None:
    await walk.page.get_by_label(parameter, exact=True).select_option(label=words)


async def test_it_is_readable_without_a_login(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, width=320) as walk:
        await walk.open("/developers/reference")
        await walk.page.get_by_role("link", name="Home automation").wait_for()
        assert await walk.find_problems_everywhere("developers-reference") == []
        for words, operation in EVERYDAY_WORDS.items():
            await walk.page.get_by_label("Search all operations").fill(words)
            await expect(walk.page.get_by_role("link", name=operation).first).to_be_visible()
        await walk.page.get_by_label("Search all operations").fill("readLIGHT")
        await expect(walk.page.get_by_role("status")).to_have_text("1 operation")
        await walk.page.get_by_role("link", name="Get light status").click()
        await walk.page.get_by_role("heading", name="Answers", exact=True).wait_for()
        await expect(walk.page.get_by_role("button", name="Send")).to_have_count(0)
        await walk.page.locator(".fields summary", has_text="Light").first.click()
        await expect(walk.page.locator(".fields .field-name", has_text="colorHSV")).to_be_visible()
        assert await walk.find_problems_everywhere("developers-operation") == []
        await walk.page.get_by_role("link", name="Home automation").click()
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Home automation")
        assert await walk.find_problems_everywhere("developers-api") == []
        await open_operation(walk, "webhooks", "receiveEvent")
        assert await walk.shows("webhook-signature")
        assert "It needs" not in await walk.page.locator("main").inner_text()


async def test_every_operation_of_every_document_has_a_page(chromium: Browser, demo: Gateway) -> None:
    async with async_client(demo.base_url) as client:
        index = (await client.get("/openapi")).json()["documents"]
        documents = {api: (await client.get(url)).json() for api, url in index.items()}
    pages = [
        (f"/developers/reference/{api}/{operation['operationId']}", operation["summary"])
        for api, document in documents.items()
        for methods in (*document["paths"].values(), *document.get("webhooks", {}).values())
        for operation in methods.values()
    ]
    assert len(pages) > 100
    async with visit(chromium, demo, who=LUCIA) as walk:
        await walk.open("/developers/reference")
        assert await walk.page.evaluate(OPEN_ALL, pages) == []
        await walk.page.wait_for_load_state("networkidle")  # the lists for the parameters are loaded without errors


async def test_operations_are_tried_with_ids_from_lists(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=ANNA) as walk:
        await open_operation(walk, "homeauto", "readLight")
        await choose(walk, "plantid", HOUSE)
        await choose(walk, "moduleid", "Ceiling lamp · Kitchen · light")
        answer = await send(walk)
        assert answer.startswith("200")
        assert '"name": "Ceiling lamp"' in answer
        assert " ms" in answer
        await walk.page.get_by_text("Headers (").click()
        assert await walk.shows("x-request-id:")

        await open_operation(walk, "homectl", "switchPlugs")
        await choose(walk, "plantId", HOUSE)
        await choose(walk, "ambientId", "Ground floor · Kitchen")
        assert (await send(walk)).startswith("200"), "home control writes ids without dashes"

        await open_operation(walk, "home", "commandModule")
        await choose(walk, "homeId", HOUSE)
        await choose(walk, "moduleId", "Ceiling lamp · Kitchen · light")
        assert '"outcome": "confirmed"' in await send(walk)
        await choose(walk, "moduleId", "Dishwasher · Kitchen · plug")
        await choose(walk, "Form of the body", "SwitchPlug")
        assert '"do": "switch plug"' in await send(walk)

        await open_operation(walk, "doorentry-b", "openLock")
        await choose(walk, "plantId", HOUSE)
        assert '"ticket"' in await send(walk)

        await open_operation(walk, "events", "listen")
        answer = await send(walk)
        assert "event: ready" in answer
        assert "The stream goes on." in answer


async def test_only_operators_try_the_management_api(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await open_operation(walk, "management", "listUsers")
        assert await walk.shows("Only operators may call this operation.")
        await expect(walk.page.get_by_role("region", name="Parameters").locator(".field-name").first).to_have_text("limit")
        await expect(walk.page.get_by_role("button", name="Send")).to_have_count(0)
    async with visit(chromium, demo, who=LUCIA) as walk:
        await open_operation(walk, "management", "getUser")
        await choose(walk, "userId", "Anna Bianchi · anna@example.com")
        assert '"email": "anna@example.com"' in await send(walk)


async def test_an_answer_that_refuses_is_shown_whole(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await open_operation(walk, "homeauto", "readTopology")
        await choose(walk, "plantId", "Other …")
        await walk.page.get_by_label("plantId").fill("00000000-0000-4000-8000-000000000000")
        answer = await send(walk)
        assert answer.startswith("404")
        assert '"statusCode": 404' in answer
        await walk.page.get_by_role("link", name="What causes 404").click()
        await expect(walk.page.get_by_role("heading", name="NoSuchPlant")).to_be_visible()
        await expect(walk.page.get_by_role("heading", name="KeyRefused")).to_have_count(0)
        assert [complaint for complaint in walk.complaints if "404" not in complaint] == []
        walk.complaints.clear()  # A refused request is an error in the console of the browser.


async def test_a_gateway_that_fails_is_said(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.page.route("**/openapi", lambda route: route.fulfill(status=500))
        await walk.open("/developers/reference")
        assert await walk.shows("The gateway failed on this request.")
        await walk.page.unroute("**/openapi")
        await walk.page.get_by_role("button", name="Try again").click()
        await walk.page.get_by_role("link", name="Home automation").click()
        await walk.page.get_by_role("link", name="Get all plants").click()
        await walk.page.route("**/homeauto/v1.0/plants", lambda route: route.abort())
        await walk.page.get_by_role("button", name="Send").click()
        assert await walk.shows("The gateway cannot be reached.")
        walk.complaints.clear()  # Failed requests are errors in the console of the browser.
