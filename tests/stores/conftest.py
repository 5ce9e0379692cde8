"""Every test that asks for a `store` runs on SQLite and on PostgreSQL."""

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from domogate.stores import SqlStore, sqlite_url
from domogate.stores.engine import open_database
from domogate.stores.migrate import HEAD, migrate
from support.postgres import PostgresServer, postgres_server
from support.stores import SMALL, HandClock, OpenStore


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


ENGINES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that is as new and has its tables: making them takes longer than most tests."""
    path = tmp_path_factory.mktemp("migrated") / "domogate.db"
    database = open_database(sqlite_url(path))
    migrate(database)
    with database.writing.connect() as connection:
        connection.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[attr-defined]  # sqlite3's own
    database.close()
    return path


@pytest.fixture(params=ENGINES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path) -> str:
    """Of a database with empty tables."""
    if request.param == "sqlite":
        shutil.copy(migrated_file, tmp_path / "domogate.db")
        return sqlite_url(tmp_path / "domogate.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """Of a PostgreSQL database with empty tables."""
    url = postgres.empty_tables(HEAD)
    if url is None:
        url = postgres.empty_database()
        database = open_database(url)
        migrate(database)
        database.close()
    return url


@pytest.fixture(params=ENGINES)
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a database that has no tables yet."""
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
