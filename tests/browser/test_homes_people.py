"""The pages about the people of a home, its applications and its emergency lighting, in a real browser."""

import json

import pytest
from playwright.async_api import Browser, expect

from support.gateway import Gateway
from support.pages import Walk, visit

pytestmark = pytest.mark.slow

ANNA, BRUNO, ELENA, FABIO = (f"{name}@example.com" for name in ("anna", "bruno", "elena", "fabio"))
HOUSE = "Casa Bianchi"
HOUSE_ID = "ca5a0001-0000-4000-8000-000000000000"
NO_ROOM = "Please choose at least one room."


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
        dialog = walk.page.get_by_role("dialog")
        await dialog.get_by_label("Only these rooms").check()
        assert await walk.find_problems_everywhere("invite") == []
        await walk.page.set_viewport_size({"width": 320, "height": 480})
        await dialog.get_by_role("checkbox").last.scroll_into_view_if_needed()
        for always in (dialog.get_by_role("heading"), dialog.get_by_role("button", name="Invite a person")):
            await expect(always).to_be_in_viewport(ratio=1)
        await dialog.get_by_label("E-mail").fill(FABIO)
        await dialog.get_by_label("Until").scroll_into_view_if_needed()
        await dialog.get_by_role("button", name="Invite a person").click()
        await expect(dialog.get_by_text(NO_ROOM)).to_be_in_viewport(ratio=1)


async def test_a_click_beside_a_dialog_loses_neither_entries_nor_a_link(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await open_page(walk, "People")
        await walk.page.get_by_role("button", name="Invite by link").click()
        dialog, note = walk.page.get_by_role("dialog"), walk.page.get_by_label("Who is it for?")
        await note.fill("The friendly neighbour")
        place = await note.bounding_box()
        assert place is not None
        # The person selects the text with the mouse, and releases it to the left of the dialog.
        await walk.page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
        await walk.page.mouse.down()
        await walk.page.mouse.move(20, place["y"] + place["height"] / 2, steps=4)
        await walk.page.mouse.up()
        await expect(note).to_have_value("The friendly neighbour")
        await walk.page.mouse.click(20, 20)
        await expect(note).to_have_value("The friendly neighbour")
        await dialog.get_by_role("button", name="Make the link").click()
        link = dialog.locator(".secret")
        await expect(link).to_be_visible()
        await walk.page.mouse.click(20, 20)
        await expect(link).to_be_visible()
        await dialog.get_by_role("button", name="I have stored it").click()
        await walk.page.get_by_role("button", name="Remove the link: The friendly neighbour").click()
        assert await walk.shows("The link is removed.")


async def test_an_owner_invites_a_guest_changes_the_rooms_and_removes_the_guest(chromium: Browser, demo: Gateway) -> None:
    there = visit(chromium, demo, who=ANNA, time_zone="America/New_York")
    async with there as anna, visit(chromium, demo, who=FABIO) as fabio:
        await open_page(anna, "People")
        await anna.page.get_by_role("button", name="Invite a person").click()
        dialog = anna.page.get_by_role("dialog")
        await dialog.get_by_role("button", name="Invite a person").click()
        await expect(dialog).to_contain_text("Please enter an e-mail address.")
        await dialog.get_by_label("E-mail").fill(FABIO)
        await dialog.get_by_label("Only these rooms").check()
        await dialog.get_by_role("button", name="Invite a person").click()
        await expect(dialog.get_by_role("group", name="Rooms")).to_contain_text(NO_ROOM)
        await dialog.get_by_label("Kitchen", exact=True).check()
        await expect(dialog).to_contain_text("times are those of the home (Europe/Rome). This device uses America/New_York.")
        await dialog.get_by_label("Until").fill("2099-07-01T10:00")
        async with anna.page.expect_request("**/invitations") as sent:
            await dialog.get_by_role("button", name="Invite a person").click()
        invitation = json.loads((await sent.value).post_data or "")
        assert invitation["limits"]["validUntil"] == "2099-07-01T08:00:00.000Z"
        assert await anna.shows(f"{FABIO} may use this home now.")
        row = anna.page.get_by_role("listitem").filter(has=anna.page.get_by_role("button", name=f"Change access of {FABIO}"))
        await expect(row).to_contain_text("Kitchen · until Jul 1, 2099, 10:00")

        await fabio.open("/homes")
        await expect(fabio.page.get_by_role("heading", level=1)).to_have_text(HOUSE)
        await expect(fabio.page.get_by_role("heading", level=3)).to_have_count(1)
        assert await fabio.find_problems_everywhere("guest") == []
        await row.get_by_role("button", name="Change access").click()
        await expect(dialog.get_by_label("Until")).to_have_value("2099-07-01T10:00")
        await dialog.get_by_label("Kitchen", exact=True).uncheck()
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog.get_by_role("group", name="Rooms")).to_contain_text(NO_ROOM)
        await expect(row).to_contain_text("Kitchen")
        await dialog.get_by_label("All rooms").check()
        await dialog.get_by_role("button", name="Save").click()
        assert await anna.shows(f"The access of {FABIO} is changed.")
        await expect(row).to_contain_text("May use everything")

        await row.get_by_role("button", name="Remove access").click()
        await dialog.get_by_role("button", name="Remove").click()
        await expect(row).to_have_count(0)
        assert await anna.shows(f"{FABIO} has no access to this home any more.")
        assert await fabio.shows("You have no access to this home any more.")
        fabio.complaints.clear()  # the browser reports the refused request


async def test_a_refused_invitation_is_explained_inside_the_dialog(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await open_page(walk, "People")
        await walk.page.get_by_role("button", name="Invite a person").click()
        dialog = walk.page.get_by_role("dialog")
        await dialog.get_by_label("E-mail").fill(BRUNO)
        await dialog.get_by_label("Until").fill("2020-01-01T10:00")
        await dialog.get_by_role("button", name="Invite a person").click()
        await expect(dialog.get_by_label("Until")).to_have_accessible_description(
            "The end must be in the future and after the start."
        )
        await dialog.get_by_label("Until").fill("")
        await dialog.get_by_role("button", name="Invite a person").click()
        await expect(dialog.get_by_role("alert")).to_contain_text("has access or an invitation already")
        await expect(walk.page.get_by_role("region", name="Messages").locator(".toast")).to_have_count(0)
        walk.complaints.clear()  # the browser reports the refused request


async def test_refusals_are_said_in_the_language_of_the_person(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA, locale="it") as walk:
        await walk.open(f"/homes/{HOUSE_ID}/people")
        await walk.page.get_by_role("button", name="Invita una persona").click()
        dialog = walk.page.get_by_role("dialog")
        await dialog.get_by_label("E-mail").fill(BRUNO)
        await dialog.get_by_role("button", name="Invita una persona").click()
        await expect(dialog.get_by_role("alert")).to_have_text("Questa persona ha già un accesso o un invito.")
        problem = {"title": "Conflict", "status": 409, "detail": "Nobody has foreseen this."}
        await walk.page.route("**/invitations", lambda route: route.fulfill(status=409, json=problem))
        await dialog.get_by_role("button", name="Invita una persona").click()
        await expect(dialog.get_by_role("alert")).to_have_text(
            "Il gateway ha rifiutato. Dettagli tecnici in inglese: Nobody has foreseen this."
        )
        await walk.page.route("**/invitations", lambda route: route.fulfill(status=469, json={}))
        await dialog.get_by_role("button", name="Invita una persona").click()
        solution = dialog.get_by_role("alert").get_by_role("link", name="Scegli una nuova password")
        await expect(solution).to_have_attribute("href", "/auth/account/password")
        await dialog.get_by_role("button", name="Annulla").click()

        await walk.page.get_by_role("button", name="Invita con un link").click()
        await dialog.get_by_role("button", name="Crea il link").click()
        await dialog.get_by_role("button", name="L’ho conservato").click()
        await walk.page.route("**/invitation-links/*", lambda route: route.fulfill(status=470, json={}))
        await walk.page.get_by_role("button", name="Rimuovi il link").click()
        solution = walk.page.locator(".toast").get_by_role("link", name="Leggi e accetta le condizioni")
        await expect(solution).to_have_attribute("href", "/auth/account/terms")
        await walk.page.unroute("**/invitation-links/*")
        await walk.page.get_by_role("button", name="Rimuovi il link").click()
        await expect(walk.page.get_by_role("button", name="Rimuovi il link")).to_have_count(0)
        walk.complaints.clear()  # the browser reports the refused requests


async def test_a_room_and_a_device_that_a_person_may_not_see_are_explained(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await open_page(walk, "People")
        home = walk.page.url.removesuffix("/people")
        for kind, noun in (("rooms", "room"), ("devices", "device")):
            await walk.page.goto(f"{home}/{kind}/{'0' * 24}")
            assert await walk.shows(f"There is no such {noun} in this home, or you have no access to it.")
            await walk.page.get_by_role("main").get_by_role("link", name=HOUSE).click()
            await expect(walk.page.get_by_role("heading", level=1)).to_have_text(HOUSE)


async def test_a_list_without_homes_shows_a_new_home_by_itself(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=BRUNO) as walk:
        await walk.page.clock.install()
        await walk.page.route("**/home/v1/homes?*", lambda route: route.fulfill(json={"items": [], "next": None}), times=1)
        await walk.open("/homes")
        assert await walk.shows("You have no home yet")
        await walk.page.clock.fast_forward(15_000)
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text(HOUSE)


async def test_a_member_sees_no_other_people_and_may_leave(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=BRUNO) as walk:
        await open_page(walk, "People")
        assert await walk.shows("Only the owner sees the people of this home.")
        await walk.page.get_by_role("button", name="Leave this home").click()
        await expect(walk.page.get_by_role("dialog")).to_contain_text("until its owner invites you again")
        await walk.page.get_by_role("button", name="Cancel").click()
        await expect(walk.page.get_by_role("button", name="Invite a person")).to_have_count(0)


async def test_the_emergency_lighting_of_a_site_is_shown(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ELENA) as walk:
        await open_page(walk, "Emergency lighting", home="Ospedale San Luca")
        assert await walk.shows("Controller")
        assert await walk.find_problems_everywhere("safety") == []


async def test_the_focus_returns_from_a_dialog_to_its_button(chromium: Browser, demo: Gateway) -> None:
    """WCAG 2.2, 2.4.3."""
    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.open(f"/homes/{HOUSE_ID}/people")
        button, dialog = walk.page.get_by_role("button", name="Invite a person"), walk.page.get_by_role("dialog")
        for leave in ("Escape", "Enter"):  # Enter presses the button that closes the dialog
            await button.focus()
            await walk.page.keyboard.press("Enter")
            await dialog.get_by_role("button", name="Close").focus()
            await walk.page.keyboard.press(leave)
            await expect(dialog).to_have_count(0)
            await expect(button).to_be_focused()
