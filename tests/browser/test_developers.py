"""The portal of developers in a real browser, against a running demo."""

import pytest
from playwright.async_api import Browser, expect

from support.gateway import Gateway
from support.pages import LOOKS, Scheme, visit

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
async def test_a_developer_reads_the_portal_and_logs_in(chromium: Browser, demo: Gateway, width: int, scheme: Scheme) -> None:
    async with visit(chromium, demo, width=width, scheme=scheme) as walk:
        await walk.open("/")
        await walk.page.get_by_role("link", name="Developers").click()
        await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Getting started")
        assert await walk.find_problems("developers-start") == []
        await walk.page.get_by_role("button", name="Log in as Anna Bianchi").click()
        assert await walk.shows("You are logged in as Anna Bianchi.")
        assert walk.page.url == f"{demo.base_url}/developers/start"
        await walk.page.reload()
        assert await walk.shows("You are logged in as Anna Bianchi.")
