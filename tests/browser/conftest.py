"""A real browser in front of the real pages, served over a real socket.

The browser is started once, in the event loop of the session. Every test has its own contexts, which share nothing.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from support.auth_setup import AuthSetup, open_auth_setup
from support.browser_tab import PATIENCE, BrowserTab, ServeAuthSetup, open_chromium
from support.edge_server import serving
from support.gateway import demo, workshop

__all__ = ["demo", "workshop"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    in_the_loop_of_the_browser = pytest.mark.asyncio(loop_scope="session")
    for item in items:
        if item.path.parent == HERE and pytest_asyncio.is_async_test(item):
            item.add_marker(in_the_loop_of_the_browser, append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    async with open_chromium() as browser:
        yield browser


class DelayedApp:
    """An app that is set after its port is known. It adds the request id of the edge."""

    def __init__(self) -> None:
        self.app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app({**scope, "domogate.request_id": "5f1c3a9e27d84b60"}, receive, send)


class ApplicationSite:
    """The application, at another origin."""

    async def __call__(self, scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": b"<!doctype html><title>app</title>back at the application"})


@pytest.fixture
def serve_auth_setup(tmp_path_factory: pytest.TempPathFactory) -> ServeAuthSetup:
    @asynccontextmanager
    async def opened(host: str = "127.0.0.1", **options: Any) -> AsyncIterator[AuthSetup]:
        later = DelayedApp()
        async with serving(later) as gateway, serving(ApplicationSite()) as application:
            base_url = f"http://{host}:{gateway.port}"
            redirect_uri = f"http://localhost:{application.port}/back"
            folder = tmp_path_factory.mktemp("house")
            async with open_auth_setup(folder, base_url, redirect_uri=redirect_uri, **options) as built:
                later.app = built.app()
                yield built

    return opened


@pytest_asyncio.fixture(loop_scope="session")
async def setup(serve_auth_setup: ServeAuthSetup) -> AsyncIterator[AuthSetup]:
    async with serve_auth_setup() as built:
        yield built


@pytest_asyncio.fixture(loop_scope="session")
async def tab(chromium: Browser, setup: AuthSetup) -> AsyncIterator[BrowserTab]:
    context = await chromium.new_context(base_url=setup.base_url, locale="en", viewport={"width": 390, "height": 844})
    context.set_default_timeout(PATIENCE)
    yield BrowserTab(await context.new_page(), setup)
    await context.close()
