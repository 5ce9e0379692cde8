"""`./dev screenshots`: makes the pictures of the documentation in docs/images, from a new demo."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import Browser, FloatRect

from support.browser_tab import open_chromium
from support.gateway import Gateway, running, start
from support.pages import Scheme, Walk, visit

ANNA, LUCIA = "anna@example.com", "lucia@example.com"
HOUSE = "/homes/ca5a0001-0000-4000-8000-000000000000"
PHONE, DESKTOP = (390, 800), (1280, 660)
LARGEST = 200_000
"""In bytes. Larger pictures make the repository slow to clone."""


async def _switch_some_lamps(walk: Walk) -> None:
    for name in ("Reading lamp", "Hall lamp"):
        await walk.page.get_by_role("article", name=name).get_by_role("switch").click()
    await walk.page.locator("[aria-busy=true]").first.wait_for(state="detached")


async def _wait_for_cards(walk: Walk) -> None:
    await walk.page.locator(".card").nth(20).wait_for(state="attached")


async def _wait_for_dial(walk: Walk) -> None:
    await walk.page.get_by_role("link", name="Thermostat ground floor").click()
    await walk.page.get_by_role("slider").wait_for()


async def _wait_for_people(walk: Walk) -> None:
    await walk.page.get_by_text("Bruno Conti").wait_for()


async def _wait_for_tiles(walk: Walk) -> None:
    await walk.page.locator(".tile").first.wait_for()
    await walk.page.get_by_text("All is well.").wait_for()  # soon after the start, some modules have not reported yet
    await walk.page.locator(".chart canvas").first.wait_for()


async def _wait_for_login(walk: Walk) -> None:
    await walk.page.locator(".menu summary").wait_for()


PICTURES: Sequence[tuple[str, str, str, tuple[int, int], Callable[[Walk], Awaitable[None]]]] = (
    ("home", HOUSE, ANNA, DESKTOP, _wait_for_cards),
    ("thermostat", HOUSE, ANNA, PHONE, _wait_for_dial),
    ("home-phone", HOUSE, ANNA, PHONE, _wait_for_cards),
    ("people-phone", f"{HOUSE}/people", ANNA, PHONE, _wait_for_people),
    ("console", "/console", LUCIA, DESKTOP, _wait_for_tiles),
    ("developers", "/developers", ANNA, DESKTOP, _wait_for_login),
)
SCHEMES: tuple[Scheme, ...] = ("light", "dark")


async def _take(browser: Browser, gateway: Gateway, folder: Path) -> None:
    async with visit(browser, gateway, who=ANNA) as walk:
        await walk.open(HOUSE)
        await _switch_some_lamps(walk)
    for name, path, who, (width, height), settle in PICTURES:
        for scheme in SCHEMES:
            async with visit(browser, gateway, who=who, width=width, scheme=scheme) as walk:
                await walk.open(path)
                await settle(walk)
                await asyncio.sleep(0.5)  # charts and slow parts of the page
                clip = FloatRect(x=0, y=0, width=width, height=height)
                picture = await walk.page.screenshot(path=folder / f"{name}-{scheme}.png", clip=clip)
                assert len(picture) < LARGEST, f"{name}-{scheme}.png has {len(picture)} bytes"


async def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as data, running(await asyncio.to_thread(start, "demo", Path(data))) as gateway:
        async with open_chromium() as browser:
            await _take(browser, gateway, folder)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
