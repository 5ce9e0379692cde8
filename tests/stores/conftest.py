"""Every test that asks for a `store` runs on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from domogate.stores import SqlStore, sqlite_url
from support.postgres import PostgresServer, postgres_server
from support.stores import SMALL, HandClock, OpenStore


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "domogate.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.empty_database()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def open_store(clock: HandClock) -> AsyncIterator[OpenStore]:
    """Opens stores that are stopped when the test ends."""
    async with AsyncExitStack() as stack:

        async def open_one(url: str, of: type[SqlStore] = SqlStore, **arguments: Any) -> SqlStore:
            store = of(url, clock=clock, **{"poll": 0.02, **arguments})
            await store.start()
            stack.push_async_callback(store.stop)
            return store

        yield open_one


@pytest.fixture
async def store(open_store: OpenStore, database_url: str) -> SqlStore:
    return await open_store(database_url)


@pytest.fixture
async def house(store: SqlStore) -> SqlStore:
    """The store with the small house in it."""
    await store.import_estate(SMALL, prune=False)
    return store
