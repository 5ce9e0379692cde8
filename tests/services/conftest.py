"""The village whose people these tests are about."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.people import Village
from support.people import village as open_village


@pytest.fixture
async def village(tmp_path: Path) -> AsyncIterator[Village]:
    async with open_village(tmp_path) as opened:
        yield opened
