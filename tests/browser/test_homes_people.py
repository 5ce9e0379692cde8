"""The pages about the people of a home, its applications and its emergency lighting, in a real browser."""

import pytest
from playwright.async_api import Browser, expect

from support.gateway import Gateway
from support.pages import Scheme, Walk, visit

pytestmark = pytest.mark.slow

ANNA, BRUNO, ELENA, FABIO = (f"{name}@example.com" for name in ("anna", "bruno", "elena", "fabio"))
HOUSE = "Casa Bianchi"


async def open_page(walk: Walk, name: str, home: str = HOUSE) -> None:
    """Open the home, and then its page with this name."""
    await walk.open("/homes")
    if await walk.page.get_by_role("navigation", name="Pages of this home").count() == 0:
        await walk.page.get_by_role("link", name=home).first.click()
    await walk.page.get_by_role("navigation", name="Pages of this home").get_by_role("link", name=name).click()
    await expect(walk.page.get_by_role("heading", level=1)).to_have_text(name)


async def test_the_page_about_people_looks_right(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA, width=320) as walk:
        await open_page(walk, "People")
        assert await walk.shows("Applications that you let in")
        assert await walk.find_problems_everywhere("people") == []
        await walk.page.get_by_role("button", name="Invite a person").click()
        await expect(walk.page.get_by_role("dialog")).to_be_visible()
        assert await walk.find_problems_everywhere("invite") == []


async def test_an_owner_invites_a_guest_changes_the_rooms_and_removes_the_guest(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as anna, visit(chromium, demo, who=FABIO) as fabio:
        await open_page(anna, "People")
        await anna.page.get_by_role("button", name="Invite a person").click()
        dialog = anna.page.get_by_role("dialog")
        await dialog.get_by_role("button", name="Invite a person").click()
        await expect(dialog).to_contain_text("Please enter an e-mail address.")
        await dialog.get_by_label("E-mail").fill(FABIO)
        await dialog.get_by_label("Kitchen", exact=True).check()
        await dialog.get_by_role("button", name="Invite a person").click()
        row = anna.page.get_by_role("listitem").filter(has=anna.page.get_by_role("button", name=f"Change access of {FABIO}"))
        await expect(row).to_contain_text("Kitchen")

        await fabio.open("/homes")
        await expect(fabio.page.get_by_role("heading", level=1)).to_have_text(HOUSE)
        await expect(fabio.page.get_by_role("heading", level=3)).to_have_count(1)
        await row.get_by_role("button", name="Change access").click()
        await dialog.get_by_label("Kitchen", exact=True).uncheck()
        await dialog.get_by_role("button", name="Save").click()
        await expect(row).to_contain_text("May use everything")

        await row.get_by_role("button", name="Remove access").click()
        await dialog.get_by_role("button", name="Remove").click()
        await expect(row).to_have_count(0)
        assert await fabio.shows("You have no access to this home any more.")
        fabio.complaints.clear()  # the browser reports the refused request


async def test_a_member_sees_no_other_people_and_may_leave(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=BRUNO) as walk:
        await open_page(walk, "People")
        assert await walk.shows("Only the owner sees the people of this home.")
        await walk.page.get_by_role("button", name="Leave this home").click()
        await expect(walk.page.get_by_role("dialog")).to_contain_text("until its owner invites you again")
        await walk.page.get_by_role("button", name="Cancel").click()
        await expect(walk.page.get_by_role("button", name="Invite a person")).to_have_count(0)


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1440, "dark")])
async def test_the_emergency_lighting_of_a_site_is_shown(chromium: Browser, demo: Gateway, width: int, scheme: Scheme) -> None:
    async with visit(chromium, demo, who=ELENA, width=width, scheme=scheme) as walk:
        await open_page(walk, "Emergency lighting", home="Ospedale San Luca")
        assert await walk.shows("Controller")
        assert await walk.find_problems("safety") == []
