"""A depot on a database of its own, whose courier is a letterbox."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.deliveries import Depot, Letterbox, copied, depot, migrated


@pytest.fixture(scope="session")
def migrated_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return migrated(tmp_path_factory.mktemp("webhooks"))


@pytest.fixture
def database(migrated_database: Path, tmp_path: Path) -> Path:
    return copied(migrated_database, tmp_path)


@pytest.fixture
def letterbox() -> Letterbox:
    return Letterbox()


@pytest.fixture
async def house(database: Path, letterbox: Letterbox) -> AsyncIterator[Depot]:
    async with depot(database, letterbox) as one:
        yield one
