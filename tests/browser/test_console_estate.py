"""The editor of the estate file in the console, in a real browser against a running demo."""

import re

import pytest
from playwright.async_api import Browser, Dialog, FilePayload, expect

from support.gateway import Gateway
from support.pages import visit

pytestmark = pytest.mark.slow

LUCIA = "lucia@example.com"
ZOE = "users:\n  - {email: zoe@example.com, name: Zoe Zanetti}\n"


async def test_a_document_is_edited_compared_and_imported(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        page = walk.page
        editors: list[str] = []
        page.on("request", lambda request: editors.append(request.url) if "/assets/editor-" in request.url else None)
        await walk.open("/console/people")
        await page.get_by_role("table").wait_for()
        assert editors == []
        await page.get_by_role("navigation", name="Console").get_by_role("link", name="Estate file").click()
        assert await walk.shows("The text has no mistakes.")
        assert len(editors) == 1

        async def choose(text: str) -> None:
            file: FilePayload = {"name": "estate.yaml", "mimeType": "application/yaml", "buffer": text.encode()}
            await page.locator("input[type=file]").set_input_files(file)

        # Mistakes are shown while the person types, each with its line. The schema completes words.
        await choose("users:\n  - {email: zoe@example.com}\nplants:\n  - name: House\n    type: ")
        await expect(page.get_by_text("'id' is missing")).to_be_visible()
        await page.get_by_role("button", name="Line 5").first.click()
        await page.keyboard.press("End")
        await page.keyboard.type("hot")
        await page.get_by_role("option", name="hotel").click()
        await expect(page.get_by_text("type: hotel")).to_be_visible()
        await page.keyboard.press("Enter")
        await page.keyboard.type("zip")
        await expect(page.get_by_role("option", name="zipCode")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_text("a ':' is missing after a key")).to_be_visible()
        await expect(page.get_by_role("button", name="Show the difference")).to_be_disabled()

        # A correct document is compared, and then imported.
        await choose(ZOE)
        await expect(page.get_by_text("The text has no mistakes.")).to_be_visible()
        await page.get_by_role("button", name="Show the difference").click()
        difference = page.get_by_role("region", name="Difference")
        await expect(difference).to_contain_text("Added 1 · Changed 0 · Removed 0")
        await expect(difference.get_by_role("row").nth(1)).to_contain_text("zoe@example.com")
        assert await walk.find_problems_everywhere("console-difference") == []
        await difference.get_by_role("button", name="Import").click()
        question = page.get_by_role("dialog")
        await expect(question).to_contain_text("Added 1 (zoe@example.com) · Changed 0 · Removed 0")
        await question.get_by_role("button", name="Import").click()
        await expect(page.locator(".toast")).to_contain_text("Imported. Added 1")
        await expect(page.get_by_text("Bruno Conti")).to_be_visible()  # the editor has the whole estate again
        await expect(page.get_by_text("The text has no mistakes.")).to_be_visible()
        imported = page.get_by_role("table", name="Imports").get_by_role("row").nth(1)
        await expect(imported).to_contain_text(LUCIA)

        # An earlier document is opened, and the changes are undone. Each import asks first.
        await imported.get_by_role("button", name="Open in the editor").click()
        await expect(page.get_by_text("Bruno Conti")).to_have_count(0)
        await page.get_by_role("button", name="Undo all changes").click()
        await expect(page.get_by_text("Bruno Conti")).to_be_visible()
        async with page.expect_download() as waiting:
            await page.get_by_role("button", name="Download").click()
        text = (await (await waiting.value).path()).read_text()
        await choose(re.sub(r"(?m)^.*zoe@example.com.*\n", "", text))
        await page.get_by_role("switch", name="Also remove what is not in the text").click()
        await expect(page.get_by_text("The text has no mistakes.")).to_be_visible()
        await page.get_by_role("button", name="Show the difference").click()
        await expect(difference).to_contain_text("Added 0 · Changed 0 · Removed 1")
        await difference.get_by_role("button", name="Import").click()
        await expect(question).to_contain_text("Removed 1 (zoe@example.com). The import removes records.")
        await question.get_by_role("button", name="Import").click()
        await expect(page.locator(".toast").last).to_contain_text("Removed 1")


async def test_the_page_asks_before_changes_are_lost(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA) as walk:
        page = walk.page
        navigation, title = page.get_by_role("navigation", name="Console"), page.get_by_role("heading", level=1)
        await walk.open("/console/people")
        await navigation.get_by_role("link", name="Estate file").click()
        assert await walk.shows("The text has no mistakes.")
        await page.get_by_role("textbox").first.press("Control+Home")
        await page.keyboard.type("# My long work\n")
        asked: list[str] = []
        answers = iter([False, False, True])

        async def answer(dialog: Dialog) -> None:
            asked.append(dialog.message)
            await (dialog.accept() if next(answers) else dialog.dismiss())

        page.on("dialog", answer)
        await navigation.get_by_role("link", name="Drivers", exact=True).click()
        await expect(page).to_have_url(f"{demo.base_url}/console/estate")
        await page.evaluate("history.back()")
        await page.wait_for_function("history.state === null && location.pathname === '/console/estate'")
        await expect(page.get_by_text("# My long work")).to_be_visible()
        await expect(title).to_have_text("Estate file")
        await navigation.get_by_role("link", name="Drivers", exact=True).click()
        await expect(title).to_have_text("Drivers")
        assert asked == ["Your changes are not imported. Do you want to leave the page and lose them?"] * 3
        await navigation.get_by_role("link", name="Estate file").click()
        await expect(title).to_have_text("Estate file")


async def test_newer_changes_stay_when_the_estate_is_read_late_after_an_import(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        page = walk.page
        await walk.open("/console/estate")
        assert await walk.shows("The text has no mistakes.")
        await page.get_by_role("textbox").first.press("Control+Home")
        await page.keyboard.type("# First\n")
        await page.get_by_role("button", name="Show the difference").click()
        broken = {"title": "Internal error", "status": 500, "detail": "The estate cannot be read."}
        await page.route(re.compile("/estate$"), lambda route: route.fulfill(status=500, json=broken))
        await page.get_by_role("region", name="Difference").get_by_role("button", name="Import").click()
        await page.get_by_role("dialog").get_by_role("button", name="Import").click()
        await expect(page.get_by_role("alert")).to_contain_text("Shown as of")
        await page.unroute_all()
        await page.get_by_role("textbox").first.press("Control+Home")
        await page.keyboard.type("# Second\n")
        async with page.expect_response(re.compile("/estate$")):
            await page.get_by_role("button", name="Try again").click()
        await expect(page.get_by_role("alert")).to_have_count(0)
        await expect(page.get_by_text("# Second")).to_be_visible()
        walk.complaints.clear()  # the browser reports the status 500
        page.on("dialog", lambda dialog: dialog.accept())
        await page.get_by_role("navigation", name="Console").get_by_role("link", name="Drivers", exact=True).click()


async def test_the_page_says_why_a_document_cannot_be_checked(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA) as walk:
        problem = {"title": "Unavailable", "status": 503, "detail": "Too many documents are checked now."}
        await walk.page.route(re.compile("/estate/check$"), lambda route: route.fulfill(status=503, json=problem))
        await walk.open("/console/estate")
        await expect(walk.page.get_by_role("alert")).to_contain_text("Too many documents are checked now.")
        await expect(walk.page.get_by_role("button", name="Show the difference")).to_be_disabled()
        assert all("503" in complaint for complaint in walk.complaints)
        walk.complaints.clear()
