"""A gateway whose handlers raise an exception: the pages say so, and name the request that the log explains."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, expect

from support.gateway import eventually, running, start
from support.pages import visit

pytestmark = pytest.mark.slow

ANNA, LUCIA = "anna@example.com", "lucia@example.com"
SENTENCE = re.compile(r"The gateway failed on this request\..* this number: (\S+)")


async def read_number(message: Locator) -> str:
    """The number of the request in the message. The message may come late."""
    await expect(message).to_contain_text(SENTENCE)
    # A page can try again: then its message is away for a moment, or has another number.
    while (found := SENTENCE.search(" ".join((await message.inner_text()).split()))) is None:
        await asyncio.sleep(0.05)
    return found[1]


async def test_each_area_says_that_a_handler_failed(chromium: Browser, tmp_path: Path) -> None:
    with running(start("demo", tmp_path, module="support.broken_gateway")) as gateway:
        async with visit(chromium, gateway, who=ANNA) as walk:
            await walk.open("/homes/ca5a0001-0000-4000-8000-000000000000")
            lamp = walk.page.get_by_role("article", name="Hall lamp")
            await expect(lamp.get_by_role("switch")).not_to_be_checked()
            await lamp.get_by_role("switch").click()
            number = await read_number(lamp.get_by_role("alert"))
            line = f"operation=commandModule request_id={number} "  # the log counts repeated failures instead of writing them
            await asyncio.to_thread(eventually, lambda: line in gateway.log, f"the log has {line}")
            await expect(lamp.get_by_role("switch")).not_to_be_checked()
            await walk.open("/developers/applications")
            keys = walk.page.get_by_role("region", name="Keys")
            await read_number(keys.get_by_role("alert"))
            await expect(walk.page.get_by_role("region", name="Applications").get_by_role("alert")).to_have_count(0)
            assert walk.complaints
            assert all("500" in complaint for complaint in walk.complaints)
            walk.complaints.clear()
        async with visit(chromium, gateway, who=LUCIA) as walk:
            await walk.open("/console/applications")
            await read_number(walk.page.get_by_role("alert"))
            await walk.page.get_by_role("link", name="People", exact=True).click()
            await expect(walk.page.get_by_role("table", name="People")).to_contain_text(ANNA)
            assert all("500" in complaint for complaint in walk.complaints)
            walk.complaints.clear()
