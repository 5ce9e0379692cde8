from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.home_setup import HomeApi, open_home_api


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[HomeApi]:
    async with open_home_api(tmp_path) as opened:
        yield opened
