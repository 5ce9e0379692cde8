"""A delivery setup with its own database and a sender that records."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.delivery_setup import DeliverySetup, RecordingSender, copied, open_delivery_setup
from support.tables import migrated


@pytest.fixture(scope="session")
def migrated_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return migrated(tmp_path_factory.mktemp("webhooks"))


@pytest.fixture
def database(migrated_database: Path, tmp_path: Path) -> Path:
    return copied(migrated_database, tmp_path)


@pytest.fixture
def sender() -> RecordingSender:
    return RecordingSender()


@pytest.fixture
async def setup(database: Path, sender: RecordingSender) -> AsyncIterator[DeliverySetup]:
    async with open_delivery_setup(database, sender) as one:
        yield one
