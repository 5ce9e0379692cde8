"""The look of the pages of the console: no barriers, no small controls, and not wider than the window."""

import pytest
from playwright.async_api import Browser, expect

from support.gateway import Gateway
from support.pages import visit

pytestmark = pytest.mark.slow

_HIDDEN = "nav => [nav.scrollHeight - nav.clientHeight, nav.scrollWidth - nav.clientWidth]"
PAGES = {
    "orders": "Commands and their results.",
    "modules?text=casa": "The modules of all plants.",  # axe-core needs ten seconds for all modules of the demo
    "discovery": "Search for devices first.",
    "estate": "The text has no mistakes.",
    "events": "Live",
    "faults": "Faults on purpose",
    "settings": "state_max_age",
    "backup": "The file contains secrets",
    "logs": "The last lines of this gateway",
}
"""The pages that other tests do not look at, and words that are there when the page is complete."""


@pytest.mark.first
async def test_the_pages_look_right_and_have_no_barriers(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who="lucia@example.com", width=320) as walk:
        for name, words in PAGES.items():
            await walk.open(f"/console/{name}")
            assert await walk.shows(words)
            assert await walk.find_problems_everywhere(f"console-{name.partition('?')[0]}") == []
        await walk.open("/console/start?step=home")
        await walk.page.get_by_role("link", name="Leave out this step").click()
        await expect(walk.page.get_by_role("region", name="Application")).to_be_visible()
        await expect(walk.page.get_by_role("heading", level=1)).to_be_in_viewport(ratio=1)  # each step begins at its top
        await walk.page.set_viewport_size({"width": 1280, "height": 850})
        navigation = walk.page.get_by_role("navigation", name="Console")
        await expect(navigation.get_by_role("link", name="Settings")).to_be_in_viewport(ratio=1)
        await walk.page.locator(".menu summary").click()
        for language in ("de", "fr", "it"):  # longer words than in English
            await walk.page.locator(".language select").select_option(language)
            await expect(walk.page.locator("html")).to_have_attribute("lang", language)
            hidden = await walk.page.locator(".side-nav").evaluate(_HIDDEN)
            assert hidden == [0, 0], f"the navigation needs scroll bars in {language}"
