"""Every test that asks for a `store` runs on SQLite and on PostgreSQL."""

import asyncio
import shutil
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, suppress
from math import inf
from pathlib import Path
from typing import Any

import pytest

from domogate.stores import SqlStore, sqlite_url, subject, writer
from domogate.stores.engine import Database
from domogate.stores.migrate import migrate
from domogate.stores.opening import find_sqlite_file, open_database
from domogate.stores.revisions import HEAD
from support.clocks import ManualClock
from support.postgres import PostgresServer, postgres_server
from support.stores import SMALL, OpenStore
from support.tables import migrated


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


ENGINES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new database with its tables. Creating them takes longer than most tests."""
    return migrated(tmp_path_factory.mktemp("migrated"))


class KeptDatabases:
    """Reuses closed databases, because they keep the SQL that SQLAlchemy has compiled."""

    def __init__(self) -> None:
        self._closed: dict[str, list[Database]] = defaultdict(list)
        self._patch = pytest.MonkeyPatch()

    def open(self, url: str) -> Database:
        with suppress(IndexError):
            return self._closed[url].pop()
        database = open_database(url)
        close = database.close

        def close_and_keep() -> None:
            close()
            self._closed[url].append(database)

        self._patch.setattr(database, "close", close_and_keep)  # A closed engine can connect again.
        return database


@pytest.fixture(scope="session")
def kept_databases() -> KeptDatabases:
    return KeptDatabases()


@pytest.fixture(params=ENGINES)
def database_url(
    request: pytest.FixtureRequest, migrated_file: Path, kept_databases: KeptDatabases, monkeypatch: pytest.MonkeyPatch
) -> str:
    """The URL of a database with empty tables; always the same one."""
    monkeypatch.setattr(subject, "open_database", kept_databases.open)
    if request.param == "sqlite":
        path = migrated_file.with_name("used.db")
        for leftover in path.parent.glob(f"{path.name}*"):
            leftover.unlink()
        shutil.copy(migrated_file, path)
        return sqlite_url(path)
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """The URL of a PostgreSQL database with empty tables."""
    url = postgres.empty_tables(HEAD)
    if url is None:
        url = postgres.empty_database()
        database = open_database(url)
        migrate(database)
        database.close()
    return url


@pytest.fixture(params=ENGINES)
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without tables."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "domogate.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.empty_database()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def open_store(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OpenStore]:
    """Opens stores that are stopped when the test ends. They send no heartbeats, so that commits can be counted."""
    monkeypatch.setattr(writer, "HEARTBEAT", inf)
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


@pytest.fixture(scope="session")
def filled_file(migrated_file: Path) -> Path:
    """A database with the small house, to be copied, because importing takes longer than most tests."""
    path = migrated_file.with_name("filled.db")
    shutil.copy(migrated_file, path)
    asyncio.run(_fill(sqlite_url(path)))
    return path


async def _fill(url: str) -> None:
    store = SqlStore(url, clock=ManualClock(), gateway=False)
    await store.start()
    await store.import_estate(SMALL, prune=False)
    await store.stop()


@pytest.fixture
async def filled_store(request: pytest.FixtureRequest, open_store: OpenStore, database_url: str, filled_file: Path) -> SqlStore:
    """A store with the small house in it."""
    file = find_sqlite_file(database_url)
    if file is not None:
        shutil.copy(filled_file, file)
        return await open_store(database_url)
    server: PostgresServer = request.getfixturevalue("postgres")
    if not server.put_kept_rows():
        await _fill(database_url)
        server.keep_rows()
    return await open_store(database_url)
