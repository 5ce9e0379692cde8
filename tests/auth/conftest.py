"""Every test of the protocol has its own provider on a real store, and a browser."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.oauth import Browser, Provider, open_provider


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a provider with people and clients, which tests copy."""
    folder = tmp_path_factory.mktemp("provider")

    async def settle() -> None:
        async with open_provider(folder):
            pass

    asyncio.run(settle())
    return folder


@pytest.fixture
async def provider(tmp_path: Path, template: Path) -> AsyncIterator[Provider]:
    async with open_provider(tmp_path, template) as provider:
        yield provider


@pytest.fixture
async def browser(provider: Provider) -> AsyncIterator[Browser]:
    browser = provider.browser()
    async with browser.http:
        yield browser
