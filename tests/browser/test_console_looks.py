"""How the pages of the console look: no barriers, and not wider than the window."""

import pytest
from playwright.async_api import Browser

from support.gateway import Gateway
from support.pages import visit

pytestmark = pytest.mark.slow

PAGES = {
    "orders": "Commands and their results.",
    "modules": "The modules of all plants.",
    "discovery": "Search for devices first.",
    "estate": "The text has no mistakes.",
    "events": "Live",
    "faults": "Faults on purpose",
    "settings": "state_max_age",
    "backup": "The file contains secrets",
    "logs": "The last lines of this gateway",
}
"""The pages that other tests do not look at, and words that are there when the page is complete."""


async def test_the_pages_look_right_and_have_no_barriers(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who="lucia@example.com", width=320) as walk:
        for name, words in PAGES.items():
            await walk.open(f"/console/{name}")
            assert await walk.shows(words)
            assert await walk.find_problems_everywhere(f"console-{name}") == []
