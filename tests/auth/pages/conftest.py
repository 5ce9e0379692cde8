"""The pages on a real store, and a browser without a screen."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.pages import House, PageBrowser, house


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as built:
        yield built


@pytest.fixture
async def browser(home: House) -> AsyncIterator[PageBrowser]:
    browser = PageBrowser(home.app(), home.base_url)
    async with browser.http:
        yield browser
