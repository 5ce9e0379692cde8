"""The pages of residents in a real browser, against a running demo."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Browser, Locator, Route, expect

from support.gateway import Gateway
from support.pages import Walk, visit

pytestmark = pytest.mark.slow

ANNA, BRUNO, FABIO = "anna@example.com", "bruno@example.com", "fabio@example.com"
LUCIA = "lucia@example.com"
HOUSE = "Casa Bianchi"
DOUBTFUL = re.compile(r"/commands$")


async def open_house(walk: Walk) -> None:
    await walk.open("/homes")
    if await walk.page.get_by_role("heading", level=1).inner_text() != HOUSE:  # a single home is opened at once
        await walk.page.get_by_role("link", name=HOUSE).first.click()
    await walk.page.locator(".card").first.wait_for()


def card(walk: Walk, name: str) -> Locator:
    return walk.page.get_by_role("article", name=name, exact=True)


async def test_the_pages_look_right_and_have_no_barriers(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA, width=320) as walk:
        await walk.open("/homes")
        assert await walk.find_problems_everywhere("homes") == []
        await open_house(walk)
        assert await walk.find_problems_everywhere("home") == []
        await walk.page.get_by_role("link", name="Kitchen", exact=True).click()
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Kitchen")
        assert await walk.find_problems_everywhere("room") == []
        await walk.page.get_by_role("link", name="Ceiling lamp").click()
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Ceiling lamp")
        assert await walk.find_problems_everywhere("device") == []
        for above in ("Kitchen", HOUSE):  # a phone shows only the page above
            await walk.page.get_by_role("link", name=above, exact=True).click()
        await walk.page.get_by_role("link", name="Thermostat ground floor").click()
        await walk.page.get_by_role("slider").wait_for()
        assert await walk.find_problems_everywhere("thermostat") == []


async def test_a_person_without_a_home_is_told_what_to_do(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=FABIO) as walk:
        await walk.open("/homes")
        assert await walk.shows("You have no home yet")
        assert await walk.find_problems("no-home") == []


async def test_an_operator_without_a_home_is_told_how_to_add_one(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=LUCIA) as walk:
        await walk.open("/homes")
        assert await walk.shows("You operate this gateway.")
        await walk.page.get_by_role("main").get_by_role("link", name="Add a home").click()
        await expect(walk.page).to_have_url(re.compile("/console/start"))
        await walk.page.get_by_role("heading", level=1).wait_for()


async def test_the_list_of_homes_recovers_after_a_failure_and_counts_again(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.page.clock.install()
        unreachable, further = 0, 0

        async def answer(route: Route) -> None:
            listing = await (await route.fetch()).json()
            for home in listing["items"]:
                home["unreachable"] = unreachable
            first = listing["items"][0]
            listing["items"] += [{**first, "id": str(number), "name": f"Cabin {number}"} for number in range(further)]
            await route.fulfill(json=listing)

        await walk.page.route("**/home/v1/homes?*", lambda route: route.abort())
        await walk.page.goto(f"{demo.base_url}/homes")
        for _ in range(4):  # the page tries again after short pauses
            await walk.page.clock.run_for(3_000)
        main = walk.page.get_by_role("main")
        await expect(main.get_by_text("The gateway cannot be reached").first).to_be_visible()
        await walk.page.route("**/home/v1/homes?*", answer)
        await expect(main.get_by_role("link", name=HOUSE)).to_be_visible()
        await expect(main.get_by_text("The gateway cannot be reached")).to_have_count(0)
        await expect(main.get_by_text("not reachable")).to_have_count(0)
        unreachable = 7
        await walk.page.clock.fast_forward(30_000)
        await expect(main.get_by_text("7 not reachable").first).to_be_visible()
        search = main.get_by_role("searchbox", name="Search homes")
        await expect(search).to_have_count(0)  # a short list needs no search
        further = 8
        await walk.page.clock.fast_forward(30_000)
        await search.fill("cabin 5 ")
        await expect(main.get_by_role("listitem")).to_have_text(re.compile("^Cabin 5"))
        await search.fill("no such home")
        await expect(main.get_by_text("Nothing was found.")).to_be_visible()
        await search.clear()
        await expect(main.get_by_role("link", name=HOUSE)).to_be_visible()
        walk.complaints.clear()  # the browser reports the lost connection


async def test_the_end_of_a_boost_is_chosen_and_a_scene_says_that_it_started(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA, width=320) as walk:
        await walk.page.clock.install()
        await open_house(walk)
        await walk.page.get_by_role("link", name="Thermostat ground floor").click()
        mode, ends = walk.page.get_by_label("Mode"), walk.page.get_by_role("group", name="Duration from now")
        await mode.select_option("boost")
        await expect(walk.page.get_by_text("Boost until")).to_be_visible()
        assert await walk.find_problems("boost") == []
        results = await walk.keep_answers(DOUBTFUL)
        async with walk.page.expect_response(DOUBTFUL) as waiting:
            await ends.get_by_role("button", name="90 min").click()
        chosen = datetime.fromisoformat(json.loads((await waiting.value).request.post_data or "{}")["activationTime"])
        assert timedelta(minutes=80) < chosen - datetime.now(UTC) < timedelta(minutes=91)
        assert results[0]["outcome"] == "confirmed"
        async with walk.page.expect_response(DOUBTFUL):
            await walk.page.get_by_role("button", name="Thermostat ground floor: warmer").click()
        ended = [datetime.fromisoformat(result["module"]["state"]["activationTime"]) for result in results]
        assert ended == [chosen, chosen]
        await mode.select_option("automatic")
        await expect(ends).to_have_count(0)
        await walk.page.get_by_role("link", name=HOUSE, exact=True).click()
        scene = walk.page.get_by_role("article").filter(has_text="Scene").get_by_role("button").first
        await expect(scene).to_have_text("Start")
        await walk.page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=2))  # the words do not end before they are read
        await scene.click()
        await expect(scene).to_have_text("Started")
        await walk.page.clock.run_for(3_000)
        await expect(scene).to_have_text("Start")


async def test_a_lamp_that_is_off_shows_the_level_that_it_keeps(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await open_house(walk)
        lamp, level = card(walk, "Floor lamp"), card(walk, "Floor lamp").get_by_role("slider")
        if not await lamp.get_by_role("switch").is_checked():
            await lamp.get_by_role("switch").click()
            await expect(lamp).to_have_attribute("aria-busy", "false")
        await level.fill("39")
        await expect(level).to_have_attribute("aria-valuetext", "39%")
        await expect(lamp).to_have_attribute("aria-busy", "false")
        await lamp.get_by_role("switch").click()
        await expect(level).to_have_attribute("aria-valuetext", "Off, 39%")
        await expect(level).to_have_value("39")
        await expect(lamp).to_have_attribute("aria-busy", "false")


async def test_a_lamp_is_switched_and_others_see_it(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as anna, visit(chromium, demo, who=BRUNO) as bruno:
        for walk in (anna, bruno):
            await open_house(walk)
        before = await card(anna, "Reading lamp").get_by_role("switch").is_checked()
        await card(anna, "Reading lamp").get_by_role("switch").click()
        for walk in (anna, bruno):
            await expect(card(walk, "Reading lamp").get_by_role("switch")).to_be_checked(checked=not before)
        await expect(card(anna, "Reading lamp")).to_have_attribute("aria-busy", "false")
        await card(bruno, "Reading lamp").get_by_role("switch").click()
        await expect(card(anna, "Reading lamp").get_by_role("switch")).to_be_checked(checked=before)
        await expect(card(bruno, "Reading lamp")).to_have_attribute("aria-busy", "false")


async def test_a_command_without_an_answer_is_shown_as_failed(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await open_house(walk)

        async def without_answer(route: Route) -> None:
            answer = await route.fetch(url=route.request.url.removesuffix("/commands"), method="GET", post_data="")
            result = {
                "outcome": "unanswered",
                "detail": "",
                "beganAt": "2026-11-15T08:00:00Z",
                "endedAt": "2026-11-15T08:00:05Z",
                "module": json.loads(await answer.text()),
            }
            await route.fulfill(json=result)

        await walk.page.route(DOUBTFUL, without_answer)
        lamp = card(walk, "Hall lamp")
        before = await lamp.get_by_role("switch").is_checked()
        await lamp.get_by_role("switch").click()
        await expect(lamp.get_by_role("alert")).to_contain_text("It did not answer for 5 s. Last heard")
        await expect(lamp.get_by_role("switch")).to_be_checked(checked=before)


async def test_a_read_waits_as_long_as_the_gateway_says_and_a_command_without_an_answer_is_sent_again(
    chromium: Browser, demo: Gateway
) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        keys: list[str] = []

        async def busy(route: Route) -> None:
            await route.fulfill(status=503, headers={"retry-after": "1"}, json={"detail": "Busy."})

        async def lose_first(route: Route) -> None:
            keys.append(route.request.headers["idempotency-key"])
            await (route.abort() if len(keys) == 1 else route.continue_())

        await walk.page.route("**/home/v1/homes?*", busy, times=1)
        await walk.open("/homes")
        await expect(walk.page.get_by_role("main").get_by_role("link", name=HOUSE)).to_be_visible()
        await open_house(walk)
        await walk.page.route(DOUBTFUL, lose_first)
        lamp = card(walk, "Hall lamp")
        before = await lamp.get_by_role("switch").is_checked()
        async with walk.page.expect_response(DOUBTFUL):  # of the second attempt
            await lamp.get_by_role("switch").click()
        await expect(lamp.get_by_role("switch")).to_be_checked(checked=not before)
        assert len(keys) == 2
        assert len(set(keys)) == 1
        await expect(lamp.get_by_role("alert")).to_have_count(0)
        walk.complaints.clear()  # the browser reports the status 503 and the lost connection


async def test_a_door_opens_only_when_its_button_is_held_or_after_a_question(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.page.clock.install()
        await open_house(walk)
        await walk.page.clock.pause_at(
            datetime.now(UTC) + timedelta(minutes=2)
        )  # a click on a slow machine is as short as others
        sent: list[str] = []
        walk.page.on("request", lambda request: sent.append(request.url) if DOUBTFUL.search(request.url) else None)
        button, question = card(walk, "Front door lock").get_by_role("button"), walk.page.get_by_role("dialog")
        await button.click()
        await walk.page.clock.run_for(100)  # a dialog is shown with the next frame
        await expect(question).to_contain_text("Open Front door lock?")
        await walk.page.keyboard.press("Escape")
        for key in ("Enter", "Space"):
            await button.focus()
            await walk.page.keyboard.press(key)
            await walk.page.clock.run_for(100)
            await question.get_by_role("button", name="Cancel").click()
        await expect(question).to_have_count(0)
        assert sent == []
        await button.focus()
        await walk.page.keyboard.down("Enter")
        async with walk.page.expect_response(DOUBTFUL):
            await walk.page.clock.run_for(1_000)
        await walk.page.keyboard.up("Enter")
        await expect(button).to_be_enabled()
        await button.hover()
        await walk.page.mouse.down()
        async with walk.page.expect_response(DOUBTFUL):
            await walk.page.clock.run_for(1_000)
        await expect(button).to_be_enabled()
        await walk.page.mouse.up()
        await expect(question).to_have_count(0)
        assert len(sent) == 2
        await walk.page.clock.run_for(1_000)
        await button.dispatch_event("click")  # as from a screen reader: no pointer and no key is down
        await walk.page.clock.run_for(100)
        async with walk.page.expect_response(DOUBTFUL):
            await question.get_by_role("button", name="Open", exact=True).click()
        await expect(question).to_have_count(0)
        assert len(sent) == 3


async def test_the_page_says_since_when_it_is_not_live_and_recovers(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await open_house(walk)
        await walk.page.context.set_offline(True)
        assert await walk.shows("Not live since")
        await walk.page.context.set_offline(False)
        await expect(walk.page.get_by_text("Not live since")).to_be_hidden()
        walk.complaints.clear()  # the browser reports the lost connection


async def test_search_finds_rooms_and_devices(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        await open_house(walk)
        await walk.page.get_by_role("searchbox").fill("towel")
        await expect(walk.page.get_by_role("article")).to_have_count(1)
        await walk.page.get_by_role("searchbox").fill("kitchen")
        await expect(walk.page.get_by_role("article")).not_to_have_count(1)
        await walk.page.get_by_role("searchbox").fill("nothing like this")
        assert await walk.shows("Nothing was found.")
