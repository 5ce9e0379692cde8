from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.developer_setup import DeveloperApi, open_developer_api


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[DeveloperApi]:
    async with open_developer_api(tmp_path) as opened:
        yield opened


@pytest.fixture
async def disabled(tmp_path: Path) -> AsyncIterator[DeveloperApi]:
    """The operator does not allow self-service."""
    async with open_developer_api(tmp_path, enabled=False) as opened:
        yield opened
