"""People, applications and keys in the console, in a real browser against a running demo."""

import re

import pytest
from playwright.async_api import Browser, expect

from support.gateway import Gateway
from support.http import async_client
from support.pages import Walk, visit

pytestmark = pytest.mark.slow

ANNA, LUCIA = "anna@example.com", "lucia@example.com"
HOUSE_ID = "ca5a0001-0000-4000-8000-000000000000"
LISTS = {"people": "People", "applications": "Applications", "keys": "Keys"}


async def open_list(walk: Walk, name: str) -> None:
    await walk.open(f"/console/{name}")
    await walk.page.get_by_role("table").first.wait_for()


async def confirm(walk: Walk, button: str) -> None:
    """Press a button that asks first, and confirm."""
    await walk.page.get_by_role("button", name=button, exact=True).first.click()
    await walk.page.get_by_role("dialog").get_by_role("button", name=button, exact=True).click()


async def send_form(walk: Walk, button: str, entries: dict[str, str], *checked: str) -> None:
    """Open the form of a button, fill it in and send it. Its last button has the same name."""
    await walk.page.get_by_role("button", name=button).click()
    form = walk.page.get_by_role("dialog")
    for label, entry in entries.items():
        await form.get_by_label(label, exact=True).fill(entry)
    for label in checked:
        await form.get_by_label(label).check()
    await form.get_by_role("button", name=button).click()


async def take_secret(walk: Walk) -> str:
    """Read the secret that is shown once, and close its dialog."""
    secret = await walk.page.get_by_role("dialog").locator(".secret").inner_text()
    await walk.page.get_by_role("button", name="I have stored it").click()
    return secret


async def delete(walk: Walk, table: str, what: str) -> None:
    """Delete the entry that is shown. Then the list does not have it any more."""
    await confirm(walk, "Delete")
    await walk.page.get_by_role("table", name=table).wait_for()
    await expect(walk.page.get_by_text(what)).to_have_count(0)


async def test_the_pages_look_right_and_have_no_barriers(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA, width=320) as walk:
        await walk.open("/console")
        for name, title in LISTS.items():
            navigation = walk.page.get_by_role("navigation", name="Console")
            await navigation.get_by_role("button").click()
            await navigation.get_by_role("link", name=title, exact=True).click()
            await expect(walk.page.get_by_role("heading", level=1)).to_have_text(title)
            await walk.page.get_by_role("table").wait_for()
            assert await walk.find_problems_everywhere(f"console-{name}") == []
        await walk.page.get_by_role("button", name="Issue a key").click()
        assert await walk.find_problems_everywhere("console-key-form") == []
        await open_list(walk, "people")
        await walk.page.get_by_role("link", name="Anna Bianchi").click()
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Anna Bianchi")
        await expect(walk.page.get_by_role("table", name="Plants")).to_be_visible()
        grants = walk.page.get_by_role("table", name="Applications with access")
        await expect(grants.get_by_role("link", name="Demo app").first).to_be_visible()
        assert await walk.find_problems_everywhere("console-person") == []


async def test_only_operators_get_in(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        asked: list[str] = []
        walk.page.on("request", lambda request: asked.append(request.url) if "/manage/" in request.url else None)
        await walk.open("/homes")
        await expect(walk.page.get_by_role("navigation", name="Areas").get_by_role("link", name="Console")).to_have_count(0)
        await walk.page.goto(f"{demo.base_url}/console/people")
        assert await walk.shows("This area is for operators of the gateway.")
        assert asked == []
    async with async_client(demo.base_url, authorization=f"Bearer {demo.people[ANNA].access_token}") as client:
        assert (await client.get("/manage/v1/users")).status_code == 403


async def test_a_person_is_added_changed_and_deleted(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        await open_list(walk, "people")
        await send_form(walk, "Add a person", {"E-mail": "nora@example.com", "Name": "Nora Neri"}, "Show the link here")
        assert f"{workshop.auth_url}/" in await take_secret(walk)
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Nora Neri")
        assert await walk.shows("No password yet")

        await walk.page.get_by_role("button", name="Change", exact=True).click()
        await walk.page.get_by_role("dialog").get_by_label("Standing").select_option("terms expired")
        await walk.page.get_by_role("dialog").get_by_role("switch", name="Operator").click()
        await walk.page.get_by_role("dialog").get_by_role("button", name="Save").click()
        assert await walk.shows("Terms to accept")
        await expect(walk.page.locator(".page-head").get_by_text("Operator", exact=True)).to_be_visible()

        await confirm(walk, "New password link")
        assert f"{workshop.auth_url}/" in await take_secret(walk)
        await delete(walk, "People", "nora@example.com")


async def test_a_refusal_has_a_link_to_the_page_that_solves_it(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA) as walk:
        await open_list(walk, "people")
        await walk.page.get_by_role("link", name="Lucia Orsini").click()
        await walk.page.get_by_role("button", name="Change", exact=True).click()
        form = walk.page.get_by_role("dialog")
        await form.get_by_role("switch", name="Operator").click()
        await form.get_by_role("button", name="Save").click()
        await expect(form.get_by_role("alert")).to_contain_text("is the last operator")
        await form.get_by_role("link", name="Open the list of people").click()
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("People")
        await expect(walk.page.get_by_role("dialog")).to_have_count(0)

        refused = {"title": "Terms Acceptance Required", "status": 470, "detail": "There are new terms."}
        await walk.open("/console/plants?state=removed")
        await walk.page.get_by_role("table").get_by_role("link").first.click()
        await walk.page.route(
            re.compile("/manage/v1/plants/"),
            lambda route: route.fulfill(status=470, json=refused) if route.request.method == "PATCH" else route.continue_(),
        )
        await walk.page.get_by_role("button", name="Bring the plant back").click()
        toast = walk.page.locator(".toast")
        await expect(toast).to_contain_text("There are new terms.")
        assert await walk.find_problems_everywhere("console-toast") == []
        await toast.get_by_role("link", name="Read and accept the terms").click()
        await walk.page.wait_for_url("**/auth/account/terms")
        assert all(re.search("409|470", complaint) for complaint in walk.complaints)
        walk.complaints.clear()


async def test_a_refusal_is_shown_in_the_form_and_keeps_the_entries(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA) as walk:
        await open_list(walk, "people")
        await send_form(walk, "Add a person", {"E-mail": ANNA})
        form = walk.page.get_by_role("dialog")
        await expect(form.get_by_role("alert")).to_contain_text(ANNA)
        await expect(form.get_by_label("E-mail")).to_have_value(ANNA)
        assert all("409" in complaint for complaint in walk.complaints)
        walk.complaints.clear()


async def test_the_sessions_of_a_person_are_ended(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk, visit(chromium, workshop, who=ANNA):
        await open_list(walk, "people")
        await walk.page.get_by_role("link", name="Anna Bianchi").click()
        await expect(walk.page.get_by_role("table", name="Logged in")).to_contain_text("Chrome on Linux")
        await confirm(walk, "Log out everywhere")
        assert await walk.shows("Not logged in in any browser.")


async def test_search_and_filter_find_a_person(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA) as walk:
        await open_list(walk, "people")
        rows = walk.page.get_by_role("table").get_by_role("row")
        await walk.page.get_by_role("searchbox").fill("anna@")
        await expect(rows).to_have_count(2)  # with the row of headings
        await walk.page.get_by_role("searchbox").fill("")
        await walk.page.get_by_label("Standing").select_option("password expired")
        await expect(walk.page.get_by_role("link", name="Gina")).to_be_visible()
        await expect(walk.page.get_by_role("link", name="Anna Bianchi")).to_have_count(0)
        await walk.page.get_by_role("searchbox").fill("nobody like this")
        assert await walk.shows("Nothing was found.")


async def test_an_application_is_registered_with_a_secret_that_is_shown_once(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        await open_list(walk, "applications")
        redirects = "https://desk.example.com/back\nhttps://desk.example.com/two"
        entries = {"Client id": "hotel/desk", "Name": "Hotel desk", "Redirect URIs": redirects}
        await send_form(walk, "Register an application", entries, "light.read")
        first = await take_secret(walk)
        assert len(first) > 20
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Hotel desk")
        assert await walk.shows("https://desk.example.com/two")
        await expect(walk.page.get_by_text(first)).to_have_count(0)
        assert await walk.find_problems_everywhere("console-application") == []

        await confirm(walk, "New secret")
        assert await take_secret(walk) != first

        await walk.page.get_by_role("button", name="Change", exact=True).click()
        await walk.page.get_by_role("dialog").get_by_label("plug.read").check()
        await walk.page.get_by_role("dialog").get_by_role("button", name="Save").click()
        assert await walk.shows("plug.read")
        await delete(walk, "Applications", "hotel/desk")


async def test_a_key_is_issued_and_revoked(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=LUCIA) as walk:
        await open_list(walk, "keys")
        await send_form(walk, "Issue a key", {"Name": "Console test", "Rate": "10/second", "Requests per day": "1000"})
        key = await take_secret(walk)
        await expect(walk.page.get_by_text(key)).to_have_count(0)
        row = walk.page.get_by_role("row").filter(has_text="Console test").filter(has_text=re.compile("Active"))
        await expect(row).to_contain_text("1,000")
        await expect(row.get_by_role("meter")).to_have_count(1)
        without_quota = walk.page.get_by_role("row").filter(has_text="Active").filter(has_not=walk.page.get_by_role("meter"))
        await expect(without_quota.first).to_be_visible()
        await row.get_by_role("button", name="Revoke").click()
        await walk.page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        await expect(row).to_have_count(0)


async def test_an_application_that_does_not_exist_is_named(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA) as walk:
        await walk.page.goto(f"{demo.base_url}/console/applications/nothing-like-this")
        await expect(walk.page.get_by_role("alert")).to_contain_text("nothing-like-this")  # the detail of the API
        assert all("404" in complaint for complaint in walk.complaints)
        walk.complaints.clear()


async def test_an_operator_sees_and_withdraws_the_invitation_link_of_an_owner(chromium: Browser, workshop: Gateway) -> None:
    async with visit(chromium, workshop, who=ANNA) as anna:
        await anna.open(f"/homes/{HOUSE_ID}/people")
        await anna.page.get_by_role("button", name="Invite by link").click()
        dialog = anna.page.get_by_role("dialog")
        await dialog.get_by_label("Who is it for?").fill("Emil")
        await dialog.get_by_role("button", name="Make the link").click()
        await dialog.get_by_role("button", name="I have stored it").click()
    async with visit(chromium, workshop, who=LUCIA) as walk:
        await walk.open(f"/console/plants/{HOUSE_ID}")
        links = walk.page.get_by_role("region", name="Open invitation links")
        row = links.get_by_role("row").filter(has_text="Emil")
        await expect(row).to_contain_text(ANNA)
        assert await walk.find_problems_everywhere("console-invitation-links") == []
        await row.get_by_role("button", name="Withdraw").click()
        question = walk.page.get_by_role("dialog")
        await expect(question).to_contain_text("Nobody can join with the link “Emil” any more.")
        await question.get_by_role("button", name="Withdraw").click()
        await expect(row).to_have_count(0)
