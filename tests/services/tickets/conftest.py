from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.entrance import Entrance
from support.entrance import entrance as open_entrance


@pytest.fixture
async def entrance(tmp_path: Path) -> AsyncIterator[Entrance]:
    async with open_entrance(tmp_path) as opened:
        yield opened
