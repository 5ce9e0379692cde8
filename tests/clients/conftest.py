"""One gateway with its most detailed log for all clients. No secret may be in its files afterwards."""

import importlib
import warnings
from collections.abc import Callable, Iterator

import msgspec
import pytest

from domogate.app import Tools
from support.gateway import Gateway, running, start
from support.relying_party import FAREWELL, PersonBrowser, PlainApp, Secrets
from support.store_access import run_with_tools

# Authlib warns on import that it prefers another HTTP library.
with warnings.catch_warnings(record=True):
    importlib.import_module("authlib.integrations.httpx_client")

SETTINGS = {
    "DOMOGATE_LOG_LEVEL": "debug",
    "DOMOGATE_ACCESS_LOG": "true",
    "DOMOGATE_REFRESH_GRACE": "300",  # fifty at once may take long on a busy machine
}

MakeVisitor = Callable[[str], PersonBrowser]
MakeApp = Callable[[str], PlainApp]


@pytest.fixture(scope="session")
def secrets() -> Secrets:
    return Secrets()


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory, secrets: Secrets) -> Iterator[Gateway]:
    with running(start("demo", tmp_path_factory.mktemp("clients"), SETTINGS)) as started:
        yield started
        assert "Traceback" not in started.log
        assert secrets.find_at(started) == {}


@pytest.fixture(scope="session")
def farewell(gateway: Gateway) -> str:
    """The demo's client has no post-logout redirect URI; an operator registers one."""

    async def register(tools: Tools) -> None:
        client = await tools.store.find_client("demo-app")
        assert client is not None
        await tools.store.save_client(msgspec.structs.replace(client, post_logout_redirect_uris=(FAREWELL,)))

    run_with_tools(gateway, register)
    return FAREWELL


@pytest.fixture
def visit(gateway: Gateway, secrets: Secrets) -> Iterator[MakeVisitor]:
    """A new browser for the person with this e-mail."""
    visitors: list[PersonBrowser] = []

    def make(email: str) -> PersonBrowser:
        visitors.append(PersonBrowser(gateway, email, secrets))
        return visitors[-1]

    yield make
    for visitor in visitors:
        visitor.close()


@pytest.fixture
def app_of(gateway: Gateway, secrets: Secrets) -> Iterator[MakeApp]:
    """An application without a library, for the client with this id."""
    apps: list[PlainApp] = []

    def make(client_id: str) -> PlainApp:
        apps.append(PlainApp(gateway, secrets, client_id))
        return apps[-1]

    yield make
    for app in apps:
        app.close()
