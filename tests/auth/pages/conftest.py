"""The pages on a real store, and a browser without a screen."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.auth_setup import AuthSetup, PageBrowser, open_auth_setup


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[AuthSetup]:
    async with open_auth_setup(tmp_path) as built:
        yield built


@pytest.fixture
async def browser(setup: AuthSetup) -> AsyncIterator[PageBrowser]:
    browser = PageBrowser(setup.app(), setup.base_url)
    async with browser.http:
        yield browser
